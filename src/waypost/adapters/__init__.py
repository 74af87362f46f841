"""Technology, behind the ports that slices declare. Adapters do not know each other."""
