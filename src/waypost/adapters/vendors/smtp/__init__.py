"""Email over SMTP: a pool of pipelining connections to one server (RFC 5321, 2920, 3207, 4954)."""
