"""Keys and sealing with a master key that lies in a file of the data directory."""
