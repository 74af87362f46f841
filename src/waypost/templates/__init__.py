"""Content: templates, their versions, and the inline content of a call."""
