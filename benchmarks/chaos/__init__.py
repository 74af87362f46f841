"""Faults on purpose: a whole Waypost in real processes, a mail server that keeps count, and hands that pull plugs.

`make chaos` runs a random matrix of faults over it; the journeys in `tests/faults` use it one fault at a time.
"""
