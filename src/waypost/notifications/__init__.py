"""Notifications: accepted, composed, read, cancelled. The product's front door."""
