"""The outbox: what happened, noted in the transaction in which it happened, for those who want to be told."""
