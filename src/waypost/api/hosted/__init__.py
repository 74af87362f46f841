"""Pages for recipients, who have a link and nothing else: in their own language, with no cookie and no script."""
