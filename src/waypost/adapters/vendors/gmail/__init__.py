"""Email through Gmail's API: a service account that acts for a mailbox uploads finished messages (RFC 5322)."""
