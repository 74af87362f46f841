"""What a refusal of ours is in the words of SMTP (RFC 3463)."""

from typing import Final

from waypost.kernel.errors import (
    Conflict,
    Forbidden,
    NotFound,
    RateLimited,
    Refused,
    TooLarge,
    Unauthenticated,
    Unavailable,
    WaypostError,
)

LATER: Final = "451 4.3.0 It could not be taken at the moment; try again"
_LONGEST: Final = 480
_STATUS_OF: Final = {"too_large": "552 5.3.4", "domain_not_verified": "550 5.7.1"}
"""Of what is wrong with a mail, the kinds that senders' software knows."""


def reply_to(refusal: WaypostError) -> str:
    """4xx where the same mail may be accepted later, 5xx with the problem's words where it never will be."""
    match refusal:
        case TooLarge():
            status = "552 5.3.4"
        case Refused():
            status = _STATUS_OF.get(refusal.code, "554 5.6.0")
        case Unauthenticated():
            status = "535 5.7.8"
        case Forbidden():
            status = "550 5.7.1"
        case NotFound():
            status = "550 5.1.1"
        case RateLimited():
            status = "451 4.7.1"
        case Conflict() | Unavailable():
            status = "451 4.3.0"
        case _:
            return LATER
    return f"{status} {_said(refusal)} ({refusal.code})"


def _said(refusal: WaypostError) -> str:
    words = [refusal.detail]
    if isinstance(refusal, Refused):
        words += [f"{error.pointer}: {error.message}" for error in refusal.errors if error.message != refusal.detail]
    text = " ".join(words)
    return "".join(character if " " <= character <= "~" else " " for character in text)[:_LONGEST].strip()
