"""One folder for each vendor: sender, outcomes, options and a page about it. Vendors do not know each other."""
