"""A broadcast tried out: mailbox providers as they are, on a clock that can be moved, and nobody gets any mail."""
