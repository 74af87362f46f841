"""The in-app feed: inboxes, posts, what each person did with them, and how many are unread."""
