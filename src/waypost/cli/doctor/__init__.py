"""`waypost doctor`: looks at everything an installation stands on and names the remedy of what is wrong."""
