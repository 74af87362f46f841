"""The catch-all: what sandbox tenants send arrives here and nowhere else."""
