"""`python -m benchmarks`: each measures Waypost beside a reference, in the same minutes, on this machine."""
