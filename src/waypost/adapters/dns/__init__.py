"""Questions to name servers, bounded in time and size."""
