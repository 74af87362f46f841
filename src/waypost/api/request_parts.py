"""What the headers and the query of a request say."""

import re
from typing import Final
from urllib.parse import parse_qsl

from waypost.api.incoming import HeaderLines
from waypost.kernel.errors import FieldError, MalformedRequest, PreconditionFailed, Unauthenticated

_BEARER: Final = re.compile(r"[Bb]earer +(?P<secret>[\x21-\x7e]{1,512})\Z")
_ETAG: Final = re.compile(r'"(?P<version>[0-9]{1,9})"\Z')
_MOST_PARAMETERS: Final = 50
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff\ufffd]")


def bearer_of(headers: HeaderLines) -> str:
    """The API key."""
    found = _bearer(headers)
    if found is None:
        raise Unauthenticated("Send your API key as `Authorization: Bearer wp_…`.", code="missing_key")
    return found


def token_of(headers: HeaderLines) -> str:
    """What a recipient's own page was given by its server."""
    found = _bearer(headers)
    if found is None:
        message = "Send the recipient's token, which your server asks for, as `Authorization: Bearer wpr_…`."
        raise Unauthenticated(message, code="invalid_token")
    return found


def _bearer(headers: HeaderLines) -> str | None:
    given = headers.every("authorization")
    match = _BEARER.match(given[0]) if len(given) == 1 else None
    return None if match is None else match["secret"]


def tenant_of(headers: HeaderLines) -> str | None:
    return _single(headers, "Waypost-Tenant")


def idempotency_key_of(headers: HeaderLines) -> str | None:
    return _single(headers, "Idempotency-Key")


def expected_version_of(headers: HeaderLines) -> int | None:
    """The version in If-Match. What is none of our ETags cannot match anything."""
    given = _single(headers, "If-Match")
    if given is None or given.strip() == "*":
        return None
    match = _ETAG.match(given.strip())
    if match is None:
        raise PreconditionFailed('If-Match takes one ETag as it was given, such as "3".', code="precondition_failed")
    return int(match["version"])


def query_of(query_string: bytes) -> dict[str, str]:
    if not query_string:
        return {}
    try:
        pairs = parse_qsl(
            query_string.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=_MOST_PARAMETERS,
        )
    except ValueError:
        raise MalformedRequest("The query cannot be read.", code="invalid_query") from None
    found = dict(pairs)
    if len(found) != len(pairs):
        raise MalformedRequest("A query parameter is given twice.", code="duplicate_parameter")
    for name, value in pairs:
        if _UNSTORABLE.search(name + value):
            message = "Holds a character that cannot be stored."
            error = FieldError(pointer="", code="unstorable_character", message=message)
            raise MalformedRequest(message, code="unstorable_character", errors=[error])
    return found


def _single(headers: HeaderLines, name: str) -> str | None:
    given = headers.every(name.lower())
    if len(given) > 1:
        raise MalformedRequest(f"The header {name} is given twice.", code="duplicate_header")
    return given[0] if given else None
