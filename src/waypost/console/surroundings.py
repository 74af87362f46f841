"""What the console is told by the process that serves it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from litestar.types import HTTPScope
from litestar.types import Scope as AsgiScope


class RequestRecord(Protocol):
    """What the log will say about a request."""

    request_id: str
    tenant: str | None
    key_id: str | None
    code: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    record_of: Callable[[AsgiScope], RequestRecord]
    address_of: Callable[[HTTPScope], str]
    """Whose request it is, for limits."""
    log_unexpected: Callable[[Exception, AsgiScope], None]
