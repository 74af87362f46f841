"""Customer accounts, the keys that speak for them, who changed what, and answers kept for repeated calls."""
