"""The commands that announce a message, and what this server cannot take."""

import re
from dataclasses import dataclass
from typing import Final

from waypost.adapters.vendors.smtp.outcomes import unsendable
from waypost.channels.model import Outcome, OutcomeReason, OutgoingEmail

_SENDABLE: Final = re.compile(r"[^\x00-\x20<>\x7f-\x9f\u2028\u2029\ud800-\udfff]{1,320}\Z")


@dataclass(slots=True)
class Features:
    """What the server offered in its last answer to EHLO."""

    pipelining: bool = False
    eight_bit: bool = False
    utf8: bool = False
    size: bool = False
    largest: int = 0
    """In bytes; 0 where the server names no limit."""
    start_tls: bool = False
    authentication: frozenset[str] = frozenset()


def features_of(lines: list[str]) -> Features:
    """From the lines of an answer to EHLO, the first of which is only a greeting."""
    features = Features()
    for line in lines[1:]:
        keyword, *parameters = line.upper().replace("AUTH=", "AUTH ").split() or [""]
        match keyword:
            case "PIPELINING":
                features.pipelining = True
            case "8BITMIME":
                features.eight_bit = True
            case "SMTPUTF8":
                features.utf8 = True
            case "STARTTLS":
                features.start_tls = True
            case "SIZE":
                features.size = True
                limit = parameters[0] if parameters else ""
                features.largest = int(limit) if limit.isascii() and limit.isdigit() and len(limit) < 20 else 0
            case "AUTH":
                features.authentication |= frozenset(parameters)
            case _:
                pass
    return features


def fault_of(email: OutgoingEmail, features: Features) -> Outcome | None:
    """Why there is no use in offering this message to this server."""
    if not email.envelope_to or not all(_SENDABLE.match(each) and "@" in each for each in email.envelope_to):
        return unsendable(OutcomeReason.ADDRESS_INVALID, "not sent: a recipient's address cannot be written in SMTP")
    if email.envelope_from and not _SENDABLE.match(email.envelope_from):
        return unsendable(OutcomeReason.POLICY, "not sent: the return path cannot be written in SMTP")
    if features.largest and len(email.data) > features.largest:
        return unsendable(
            OutcomeReason.MESSAGE_TOO_LARGE, f"not sent: the server takes at most {features.largest} bytes"
        )
    if not features.utf8 and not _is_ascii(email):
        return unsendable(OutcomeReason.ADDRESS_INVALID, "not sent: the server takes only addresses in ASCII")
    if not features.eight_bit and not email.data.isascii():
        return unsendable(OutcomeReason.CONTENT_REFUSED, "not sent: the server takes only messages of 7-bit characters")
    return None


def commands_of(email: OutgoingEmail, features: Features) -> tuple[bytes, list[bytes]]:
    """MAIL, and RCPT for each recipient."""
    mail = f"MAIL FROM:<{email.envelope_from}>"
    if features.size:
        mail += f" SIZE={len(email.data)}"
    if features.eight_bit and not email.data.isascii():
        mail += " BODY=8BITMIME"
    if features.utf8 and not _is_ascii(email):
        mail += " SMTPUTF8"
    return f"{mail}\r\n".encode(), [f"RCPT TO:<{each}>\r\n".encode() for each in email.envelope_to]


def _is_ascii(email: OutgoingEmail) -> bool:
    return email.envelope_from.isascii() and all(each.isascii() for each in email.envelope_to)
