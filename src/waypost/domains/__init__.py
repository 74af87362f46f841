"""Domains that a tenant has proved to own: what it may send from, be tracked on, and get returns at."""
