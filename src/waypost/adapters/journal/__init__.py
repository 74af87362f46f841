"""A worker's journal in a memory-mapped file: it outlives the process, so a killed worker's doubts are few."""
