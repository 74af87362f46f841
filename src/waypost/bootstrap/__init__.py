"""Where concrete classes are named and joined: nobody else in the house knows what technology stands behind a port."""

from waypost.bootstrap.app import App

__all__ = ["App"]
