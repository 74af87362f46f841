"""What browsers on other sites are told. Whether a site may really call is decided with the call itself, when the
tenant is known; recipients carry tokens and never cookies, so telling gives nothing away."""

from typing import Final

from litestar import Request
from litestar.datastructures import State

AnyRequest = Request[None, None, State]
_TAKEN: Final = "authorization, content-type, last-event-id"
_SHOWN: Final = "waypost-request-id, retry-after"
_REMEMBERED_SECONDS: Final = "600"


def shared_with(request: AnyRequest) -> dict[str, str]:
    """With the site that asks, so that its script can read the answer, refusals too."""
    origin = request.headers.get("origin")
    if origin is None or not origin.isprintable():
        return {"vary": "origin"}
    return {
        "access-control-allow-origin": origin,
        "access-control-expose-headers": _SHOWN,
        "vary": "origin",
    }


def preflight(request: AnyRequest, methods: str) -> dict[str, str]:
    if request.headers.get("origin") is None:
        return {}
    return {
        **shared_with(request),
        "access-control-allow-methods": methods,
        "access-control-allow-headers": _TAKEN,
        "access-control-max-age": _REMEMBERED_SECONDS,
    }
