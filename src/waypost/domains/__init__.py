"""Domains that a tenant has proved to be its own, and the keys that sign for them."""
