"""How a message leaves: channels, vendors, and what their answers mean."""
