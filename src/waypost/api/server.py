"""Granian with the settings that our limits count on.

HTTP/1.1 only: in its `auto` mode a connection that never sends a byte stays for ever; in this mode the header deadline
covers it, and kept-alive ones too. Back-pressure counts open connections, idle ones included, so it lies far above
what `limits.py` lets work at a time.
"""

import resource
from typing import Final

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.embed import Server
from litestar.types import ASGIApp

HEADER_SECONDS: Final = 10
MOST_CONNECTIONS: Final = 16_384
_FILES_FOR_THE_REST: Final = 256
_BACKLOG: Final = 1_024


def server_of(
    app: ASGIApp, host: str, port: int, *, header_seconds: float = HEADER_SECONDS, websockets: bool = False
) -> Server:
    """A server for the running event loop: `await server.serve()`; `server.stop()` lets what is in flight end."""
    return Server(
        app,
        address=host,
        port=port,
        interface=Interfaces.ASGINL,
        http=HTTPModes.http1,
        websockets=websockets,
        backlog=_BACKLOG,
        backpressure=_room_for_connections(),
        http1_settings=HTTP1Settings(header_read_timeout=int(header_seconds * 1000), max_buffer_size=65_536),
        log_enabled=False,
        log_level=LogLevels.error,
    )


def _room_for_connections() -> int:
    """As many as the process may open files for; the soft limit is raised to the hard one first."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    ceiling = MOST_CONNECTIONS + _FILES_FOR_THE_REST if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (ceiling, hard))
    return max(128, min(MOST_CONNECTIONS, ceiling - _FILES_FOR_THE_REST))
