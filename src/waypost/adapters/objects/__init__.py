"""Objects that attachments refer to."""
