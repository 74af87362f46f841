"""Waypost: the messaging backend for products."""

__version__ = "0.1.0"
