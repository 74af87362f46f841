"""Sender accounts: from where a tenant's mail leaves, under which limit and at which pace."""
