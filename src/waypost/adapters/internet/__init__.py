"""A fake Internet for rehearsals: one SMTP server on loopback that answers for every mailbox provider there is."""
