"""One message to many: dispatch batches, on which broadcasts build."""
