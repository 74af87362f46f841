"""Worker processes: thin loops around the use cases of delivery."""
