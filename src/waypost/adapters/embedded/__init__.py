"""The PostgreSQL that comes with Waypost, so that nothing needs installing."""
