"""SMTP for software that knows nothing else: a mail submitted here becomes a notification to each recipient."""
