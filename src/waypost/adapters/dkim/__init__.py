"""Signing mail as RFC 6376 and RFC 8463 have it, and the keys for it."""
