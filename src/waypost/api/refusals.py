"""Which refusals an endpoint can give: those of the layers it passes, and its own."""

from typing import Final

from waypost.api.endpoint import Endpoint
from waypost.tenants.rules import READING

_EVERYWHERE: Final[dict[int, tuple[str, ...]]] = {
    400: (
        "malformed",
        "duplicate_header",
        "duplicate_parameter",
        "incomplete_body",
        "invalid_content_length",
        "invalid_query",
        "unstorable_character",
    ),
    401: ("missing_key", "unauthenticated"),
    403: ("missing_scope", "other_tenant", "tenant_deleting", "tenant_required"),
    404: ("unknown_tenant",),
    408: ("body_too_slow",),
    413: ("body_too_large",),
    415: ("unsupported_content_encoding", "unsupported_media_type"),
    422: (
        "invalid",
        "invalid_format",
        "invalid_time",
        "out_of_range",
        "required",
        "unknown_field",
        "unknown_value",
        "wrong_type",
    ),
    429: ("too_many_from_address", "too_many_with_key"),
    500: ("internal_error",),
    503: ("deadline_exceeded", "overloaded", "retry_same_key", "unavailable"),
}
_BODY: Final = (
    "duplicate_key",
    "invalid_json",
    "not_an_object",
    "not_finite",
    "not_utf8",
    "number_too_large",
    "too_deep",
)


def refusals_of(endpoint: Endpoint) -> dict[int, tuple[str, ...]]:
    found = {status: set(codes) for status, codes in _EVERYWHERE.items()}

    def add(status: int, *codes: str) -> None:
        found.setdefault(status, set()).update(codes)

    add(400, *_BODY)
    if endpoint.caller != "key":
        add(401, "invalid_token", "token_expired")
        add(403, "origin_not_allowed")
    if endpoint.is_bulk:
        add(400, "not_an_array")
        add(413, "too_many")
    if "{" in endpoint.path:
        add(404, "not_found")
    if endpoint.permission not in READING:
        add(403, "tenant_suspended")
    if endpoint.method == "POST":
        add(400, "invalid_idempotency_key")
        add(409, "in_progress")
        add(422, "idempotency_key_reused")
    if endpoint.versioned and endpoint.method != "GET":
        add(412, "precondition_failed")
    for status, codes in endpoint.refusals.items():
        add(status, *codes)
    return {status: tuple(sorted(codes)) for status, codes in sorted(found.items())}
