"""The road from queue to vendor: claim, gate again, compose, attempt, settle, rescue."""
