"""Streams: what is new in an inbox, at once, on a listener of their own."""
