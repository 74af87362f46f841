"""How processes tell one another who has news, where the database need not carry it."""
