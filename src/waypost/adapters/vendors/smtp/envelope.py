"""The commands that announce a message, and what this server cannot take."""

import re
from dataclasses import dataclass
from typing import Final

from waypost.adapters.vendors.smtp.outcomes import unsendable
from waypost.channels.model import Outcome, OutcomeReason, OutgoingEmail

_SENDABLE: Final = re.compile(r"[^\x00-\x20<>\x7f-\x9f\u2028\u2029\ud800-\udfff]{1,320}\Z").match


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


def announce(email: OutgoingEmail, features: Features) -> list[bytes] | Outcome:
    """MAIL and one RCPT for each recipient, or why there is no use in offering this message to this server."""
    sender, recipients, data = email.envelope_from, email.envelope_to, email.data
    in_ascii = not email.utf8
    mail = f"MAIL FROM:<{sender}>"
    if features.size:
        mail += f" SIZE={email.size}"
        if features.largest and email.size > features.largest:
            words = f"not sent: the server takes at most {features.largest} bytes"
            return unsendable(OutcomeReason.MESSAGE_TOO_LARGE, words)
    if not (email.is_ascii or data.isascii()):
        if not features.eight_bit:
            words = "not sent: the server takes only messages of 7-bit characters"
            return unsendable(OutcomeReason.CONTENT_REFUSED, words)
        mail += " BODY=8BITMIME"
        # Beyond ASCII in a header is for servers that also take it in addresses (RFC 6532).
        in_ascii = in_ascii and data.partition(b"\r\n\r\n")[0].isascii()
    if sender and not _SENDABLE(sender):
        return unsendable(OutcomeReason.POLICY, "not sent: the return path cannot be written in SMTP")
    if not recipients:
        return unsendable(OutcomeReason.ADDRESS_INVALID, "not sent: there is no recipient")
    for recipient in recipients:
        if not _SENDABLE(recipient) or "@" not in recipient:
            words = "not sent: a recipient's address cannot be written in SMTP"
            return unsendable(OutcomeReason.ADDRESS_INVALID, words)
        in_ascii = in_ascii and recipient.isascii()
    if not (in_ascii and sender.isascii()):
        if not features.utf8:
            words = "not sent: the server takes only addresses in ASCII"
            return unsendable(OutcomeReason.ADDRESS_INVALID, words)
        mail += " SMTPUTF8"
    return [f"{mail}\r\n".encode(), *[f"RCPT TO:<{recipient}>\r\n".encode() for recipient in recipients]]
