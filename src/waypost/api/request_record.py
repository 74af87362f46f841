"""What is known of a request while it passes through: written by the layers that learn it, read by the log."""

from dataclasses import dataclass
from typing import Final, cast

from litestar.types import Scope as AsgiScope

_PLACE: Final = "waypost_request"


@dataclass(kw_only=True, slots=True)
class RequestRecord:
    request_id: str
    tenant: str | None = None
    key_id: str | None = None
    code: str | None = None
    """The problem's code, where the answer is one."""


def attach(scope: AsgiScope, record: RequestRecord) -> None:
    # ASGI lets a server leave `state` out.
    cast("dict[str, dict[str, object]]", scope).setdefault("state", {})[_PLACE] = record


def record_of(scope: AsgiScope) -> RequestRecord:
    return scope["state"][_PLACE]
