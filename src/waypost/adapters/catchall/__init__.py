"""The SMTP server of the catch-all mailbox: small, bounded, and deaf to everyone but Waypost itself."""
