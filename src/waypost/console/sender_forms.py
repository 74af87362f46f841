"""The form of a sender account: what it shows, and what was written into it."""

from collections.abc import Mapping
from typing import Final

from waypost.console.visit import View, Visit
from waypost.kernel.vocabulary import CATEGORIES
from waypost.senders.connection import AccountKind, AuthMode, TlsMode
from waypost.senders.fields import AccountChanges, AccountFields
from waypost.senders.model import Stage
from waypost.senders.warmup import DEFAULT_SCHEDULE

_NUMBERS: Final = ("port", "daily_limit", "batch_size", "delay_ms", "max_connections", "messages_per_connection")
_TEXTS: Final = ("name", "from_address", "display_name", "host", "username", "subject")
_NO_NUMBER: Final = "Write a whole number."


def read_account(visit: Visit, before: AccountFields) -> tuple[AccountChanges, dict[str, str]]:
    """What the form says, and which of its numbers are none."""
    trouble: dict[str, str] = {}
    changes = AccountChanges()
    for name in _TEXTS:
        changes[name] = visit.given(name)
    for name in _NUMBERS:
        text = visit.given(name)
        number = _number(text)
        if number is not None:
            changes[name] = number
        elif not text and name == "daily_limit":
            changes[name] = None
        elif text:
            trouble[name] = _NO_NUMBER
    changes["tls"] = TlsMode(visit.given("tls")) if visit.given("tls") in set(TlsMode) else before.tls
    changes["auth"] = AuthMode(visit.given("auth")) if visit.given("auth") in set(AuthMode) else before.auth
    chosen = frozenset(CATEGORIES[word] for word in visit.form.get("categories", ()) if word in CATEGORIES)
    changes["categories"] = chosen or None
    changes["adaptive"] = bool(visit.given("adaptive"))
    limits = _provider_limits(visit.given("provider_limits"))
    if limits is None:
        trouble["provider_limits"] = "Write a provider and a number on each line, such as `gmail 200`."
    else:
        changes["provider_limits"] = limits
    changes["warmup"] = None
    if visit.given("warmup"):
        stages = _stages(visit.given("stages"))
        if stages is None:
            trouble["warmup"] = "Write four numbers on each line, such as `50 7 10 60000`."
        else:
            changes["warmup"] = stages or DEFAULT_SCHEDULE
    if before.kind is AccountKind.GMAIL:
        changes |= {"host": "", "username": "", "port": 0, "auth": AuthMode.NONE}
    return changes, trouble


def account_form(
    fields: AccountFields,
    trouble: Mapping[str, str],
    *,
    account_id: str | None,
    visit: Visit | None = None,
) -> View:
    """With a visit, what it wrote stays as it was written."""
    limits = "\n".join(f"{provider} {limit}" for provider, limit in fields.provider_limits.items())
    stages = "\n".join(
        f"{one.limit} {one.days} {one.batch_size} {one.delay_ms}" for one in fields.warmup or DEFAULT_SCHEDULE
    )
    shows = {
        "fields": fields,
        "account_id": account_id or "",
        "kinds": [("smtp", "An SMTP server"), ("gmail", "Gmail's API, by a service account")],
        "tls_modes": [(mode.value, mode.value) for mode in TlsMode],
        "auth_modes": [(mode.value, mode.value) for mode in AuthMode],
        "offered": list(CATEGORIES),
        "chosen": [one.word for one in fields.categories or ()],
        "provider_limits": visit.given("provider_limits") if visit else limits,
        "warms_up": bool(visit.given("warmup")) if visit else fields.warmup is not None,
        "stages": visit.given("stages") if visit else stages,
        "trouble": dict(trouble),
    }
    return View(template="sender_form.html", shows=shows, status=422 if trouble else 200)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _provider_limits(text: str) -> dict[str, int] | None:
    """One on each line: the provider, and messages an hour. None where a line says something else."""
    limits: dict[str, int] = {}
    for line in text.splitlines():
        match line.split():
            case []:
                continue
            case [provider, amount] if (number := _number(amount)) is not None:
                limits[provider.lower()] = number
            case _:
                return None
    return limits


def _stages(text: str) -> tuple[Stage, ...] | None:
    """One on each line: messages a day, days, batch size, delay in milliseconds. None where a line says else."""
    stages: list[Stage] = []
    for line in text.splitlines():
        numbers = [_number(word) for word in line.split()]
        match numbers:
            case []:
                continue
            case [int(limit), int(days), int(batch_size), int(delay_ms)]:
                stages.append(Stage(limit=limit, days=days, batch_size=batch_size, delay_ms=delay_ms))
            case _:
                return None
    return tuple(stages)
