"""What becomes of a message when a mail server or Google says no: made from the tables that decide it."""

from datetime import timedelta

from waypost.adapters.vendors.gmail.outcomes import TABLE as GMAIL
from waypost.adapters.vendors.smtp.outcomes import kind_of
from waypost.adapters.vendors.smtp.reply_table import TABLE, By, Row
from waypost.channels.model import ABOUT_US, OutcomeKind, OutcomeReason
from waypost.delivery.rules import COUNTED
from waypost.kernel.backoff import DELIVERY_STEPS

_HEAD = """\
# Retries

What a mail server says decides whether a message is tried again, fails, and what that means for the address. Its own
words are kept with the attempt, sealed, and shown by `GET /v1/notifications/{id}/timeline`.

- **4xx**: later. The waits grow, so that failures do not return together: each is anything up to
  {steps}, the last for ever after. A server that asks for a pause (`try again in 60 seconds`, `Retry-After`) gets it.
  Nothing is tried after its `expires_at`: then it ends as `expired`, with the last reason.
- **5xx**: never; it ends as `failed` with the reason. Where only the way in is refused (a login, encryption), the
  message waits for that to be mended, as for a 4xx.
- **421** ends the session, not the message. When a server ends three sessions in a row over their first message, what
  waits for it is put off.
- **No answer after the final dot**: in doubt. Marketing ends as `unconfirmed`; everything else goes again under the
  same Message-ID ([why](reliability.md)).
- **5.7.x and whatever is said to MAIL FROM** is about the sender, never about the recipient: no address is suppressed,
  and the sender account's breaker counts it. **4.7.x and 421** slow down mail to that provider.

## What a refusal means

The first row that fits counts, from above. `x` stands for every number that has no row of its own.
"""
_ADDRESS = """
## What it means for the address

| | |
| --- | --- |
| **suppressed** | at once, as `hard_bounce`, until somebody [releases it](suppressions.md) |
"""
_GMAIL = """
## Gmail's API

| status | Google's `reason` | reason | the message |
| --- | --- | --- | --- |
"""
_GMAIL_END = """
No answer after the upload was begun is doubt; before that, the message is tried again. A token that is refused is
replaced once.
"""
_BECOMES = {
    OutcomeKind.DEFERRED: "is tried again",
    OutcomeKind.UNREACHABLE: "waits for the way in",
    OutcomeKind.REJECTED: "fails",
    OutcomeKind.IN_DOUBT: "is in doubt",
}
_ORDINALS = {2: "second", 3: "third"}


def retries_page() -> str:
    parts = [_HEAD.replace("{steps}", ", ".join(_span(step) for step in DELIVERY_STEPS))]
    for by in By:
        parts.append(f"\nBy {by.value}:\n\n| the server says | reason | the message | the address |\n")
        parts.append("| --- | --- | --- | --- |\n")
        parts.extend(_line(row) for row in TABLE if row.by is by)
    parts.append("\nAnything else is `other`: 4xx is tried again, 5xx fails.\n")
    parts.append(_ADDRESS)
    for reason, consequence in COUNTED.items():
        until = "until it is released" if consequence.lasts is None else f"for {_span(consequence.lasts)}"
        parts.append(
            f"| **counted** (`{reason.value}`) | at the {_ORDINALS[consequence.times]} message that ends so within "
            f"{consequence.within.days} days it is suppressed as `{consequence.suppression.value}`, {until} |\n"
        )
    parts.append(_GMAIL)
    parts.extend(
        f"| {row.status} | {f'`{row.said}`' if row.said else 'any other'} | `{row.reason.value}` |"
        f" {_BECOMES[row.kind]}{'' if row.pause is None else f', not before {_span(timedelta(seconds=row.pause))}'} |\n"
        for row in GMAIL
    )
    parts.append(_GMAIL_END)
    return "".join(parts)


def _line(row: Row) -> str:
    said = f"`{row.said}`" if row.by is not By.WORDS else f"words as in `{row.example}`"
    example = "" if row.by is By.WORDS else f", as in `{row.example}`"
    becomes = _BECOMES[kind_of(int(row.example[:3]), row.meaning.reason)]
    return f"| {said}{example} | `{row.meaning.reason.value}` | {becomes} | {_about(row)} |\n"


def _about(row: Row) -> str:
    if row.meaning.hard_bounce:
        return "suppressed"
    if row.meaning.reason in COUNTED:
        return "counted"
    if row.meaning.reason in ABOUT_US:
        return "the sender's fault"
    return "slower, to that provider" if row.meaning.reason is OutcomeReason.SLOW_DOWN else ""


def _span(span: timedelta) -> str:
    seconds = round(span.total_seconds())
    for unit, word in ((3600, "hour"), (60, "minute"), (1, "second")):
        if seconds % unit == 0:
            count = seconds // unit
            return f"{count} {word}{'' if count == 1 else 's'}"
    return f"{seconds} seconds"
