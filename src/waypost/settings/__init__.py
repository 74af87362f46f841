"""Everything an operator may choose, in one frozen object, checked at start.

A setting has one name: `port` in `waypost.toml`, `WAYPOST_PORT` in the environment, `--port` on the command line.
The command line wins over the environment, the environment over the file. `table()` lists them all, for the docs.
"""

from waypost.settings.load import load
from waypost.settings.readers import Secret
from waypost.settings.rows import Setting
from waypost.settings.tree import Settings, table

__all__ = ["Secret", "Setting", "Settings", "load", "table"]
