"""Rendering of untrusted content in a process of its own: pool, wire format, limits, and the engine inside."""
