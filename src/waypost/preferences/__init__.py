"""What people want to be told: topics, choices, quiet hours, and the history of their consent."""
