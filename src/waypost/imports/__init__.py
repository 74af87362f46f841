"""People from a file: a million rows, in steps, with a report of what could not be taken."""
