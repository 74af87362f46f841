"""The one way out: every connection to a place that a tenant may choose passes the guard in here."""
