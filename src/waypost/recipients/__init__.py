"""People: who is reached, and by which addresses."""
