"""Pure decisions about alerts: what they may say, in which words, when again."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from waypost.alerts.model import Alert, AlertKind, TellingKind
from waypost.kernel.jsontypes import JsonValue

_LONGEST: Final = 300
_HIDDEN: Final = "(hidden)"


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """From when on a person should look."""

    stalled_after: timedelta = timedelta(minutes=10)
    window: timedelta = timedelta(minutes=15)
    in_doubt: int = 20
    dead_letters: int = 100
    repeat: timedelta = timedelta(hours=4)


def harmless(facts: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Numbers and short words. Whatever could hold an address is hidden, whoever wrote it in."""
    return {name[:60]: _harmless(value) for name, value in list(facts.items())[:20]}


def _harmless(value: JsonValue) -> JsonValue:
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else str(value)
    if "@" in text:
        return _HIDDEN
    return "".join(letter if letter.isprintable() else " " for letter in text[:_LONGEST])


_WORDS: Final = {
    AlertKind.ACCOUNT_PAUSED: "Sender account {subject} was paused: too much of what it sends fails.",
    AlertKind.ACCOUNT_SUSPENDED: "Sender account {subject} was suspended: its server refuses to let it in.",
    AlertKind.DOMAIN_LOST: "Domain {subject} is not verified any more: its DNS records have changed.",
    AlertKind.QUEUE_STALLED: "Messages wait on {subject}: the oldest has been due for too long.",
    AlertKind.IN_DOUBT_GROWING: "More and more messages are in doubt: nobody knows whether they went out.",
    AlertKind.DEAD_LETTERS_GROWING: "More and more messages end as dead letters.",
}


def summary(alert: Alert) -> str:
    """One sentence for people."""
    return _WORDS[alert.kind].format(subject=alert.subject)


def headline(alert: Alert, telling: TellingKind) -> str:
    word = {TellingKind.CLOSED: "Resolved", TellingKind.REPEATED: "Still open"}.get(telling, "Alert")
    return f"{word}: {alert.kind.value.replace('_', ' ')} ({alert.subject})"
