"""Mail that existing software submits over SMTP, and what becomes of it: a notification to each of its recipients."""
