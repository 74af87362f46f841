"""What browsers on other sites are told. Whether a site may really call is decided with the call itself, when the
tenant is known; recipients carry tokens and never cookies, so telling gives nothing away."""

from typing import Final

_TAKEN: Final = "authorization, content-type, last-event-id"
_SHOWN: Final = "waypost-request-id, retry-after"
_REMEMBERED_SECONDS: Final = "600"


def shared_with(origin: str | None) -> dict[str, str]:
    """With the site that asks, so that its script can read the answer, refusals too."""
    if origin is None or not origin.isprintable():
        return {"vary": "origin"}
    return {
        "access-control-allow-origin": origin,
        "access-control-expose-headers": _SHOWN,
        "vary": "origin",
    }


def preflight(origin: str | None, methods: str) -> dict[str, str]:
    if origin is None:
        return {}
    return {
        **shared_with(origin),
        "access-control-allow-methods": methods,
        "access-control-allow-headers": _TAKEN,
        "access-control-max-age": _REMEMBERED_SECONDS,
    }
