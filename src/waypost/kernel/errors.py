"""Every way in which Waypost says no.

    WaypostError
    ├── Refused                 422  what was asked is not acceptable; names each field by JSON pointer
    │   ├── MalformedRequest    400  the body or a parameter cannot be read at all
    │   └── TooLarge            413
    ├── Unauthenticated         401
    ├── Forbidden               403
    ├── NotFound                404  also for what belongs to another tenant
    ├── Conflict                409
    │   └── PreconditionFailed  412
    ├── RateLimited             429  carries retry_after
    ├── Unavailable             503  try again; with the same Idempotency-Key where `retry_same_key`
    └── Misconfigured           –    the operator must change something; one line, exit code 78

What can go wrong with the world (a vendor's refusal, a bounce) is a value, never one of these.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldError:
    """One thing to mend. `message` names the remedy and never repeats the value: it may be someone's address."""

    pointer: str
    code: str
    message: str


class WaypostError(Exception):
    status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1
    title: ClassVar[str] = "Internal error"
    default_code: ClassVar[str] = "internal_error"

    def __init__(self, detail: str, *, code: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code or self.default_code


class Refused(WaypostError):
    status = 422
    exit_code = 65
    title = "Request refused"
    default_code = "invalid"

    def __init__(self, detail: str, *, code: str | None = None, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(detail, code=code)
        self.errors = tuple(errors)


class MalformedRequest(Refused):
    status = 400
    title = "Request cannot be read"
    default_code = "malformed"


class TooLarge(Refused):
    status = 413
    title = "Request too large"
    default_code = "too_large"


class Unauthenticated(WaypostError):
    status = 401
    exit_code = 77
    title = "Not authenticated"
    default_code = "unauthenticated"


class Forbidden(WaypostError):
    status = 403
    exit_code = 77
    title = "Not allowed"
    default_code = "forbidden"


class NotFound(WaypostError):
    status = 404
    exit_code = 66
    title = "Not found"
    default_code = "not_found"


class Conflict(WaypostError):
    status = 409
    exit_code = 75
    title = "Conflict"
    default_code = "conflict"


class PreconditionFailed(Conflict):
    status = 412
    title = "Changed meanwhile"
    default_code = "precondition_failed"


class RateLimited(WaypostError):
    status = 429
    exit_code = 75
    title = "Too many requests"
    default_code = "rate_limited"

    def __init__(self, detail: str, *, retry_after: int, code: str | None = None) -> None:
        super().__init__(detail, code=code)
        self.retry_after = retry_after


class Unavailable(WaypostError):
    status = 503
    exit_code = 75
    title = "Temporarily unavailable"
    default_code = "unavailable"


class Misconfigured(WaypostError):
    exit_code = 78
    title = "Misconfigured"
    default_code = "misconfigured"


def refuse(pointer: str, code: str, message: str) -> Refused:
    """A refusal of one field; its code is the problem's code too."""
    return Refused(message, code=code, errors=[FieldError(pointer=pointer, code=code, message=message)])
