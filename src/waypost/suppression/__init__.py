"""Why not to write to an address: who said so, how grave it is, and how it ends."""
