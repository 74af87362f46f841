"""`python -m waypost.workers`: what `waypost worker` becomes."""

from waypost.bootstrap.process import run
from waypost.workers.process import work

if __name__ == "__main__":
    run("worker", work)
