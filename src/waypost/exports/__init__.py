"""People and suppressions as a file: in the clear, so with a scope of its own, and gone after a day."""
