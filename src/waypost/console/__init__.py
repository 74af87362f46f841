"""The console: pages for people, rendered on the server over the same use cases as the API."""
