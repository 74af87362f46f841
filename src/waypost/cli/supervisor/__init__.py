"""The process behind `waypost up`: it owns database and mailbox and keeps API and worker alive.

It stays light on purpose: no web framework, no HTTP client, no command-line library is loaded here.
"""
