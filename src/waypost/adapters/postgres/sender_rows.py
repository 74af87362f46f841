"""Sender accounts as rows, and back."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final

import msgspec

from waypost.adapters.postgres.connection import Record
from waypost.kernel.vocabulary import Category
from waypost.senders.connection import AccountConnection
from waypost.senders.model import (
    Account,
    AccountState,
    AccountStatus,
    Day,
    Pace,
    Stage,
    StatusReason,
    WarmUp,
)

_connection: Final = msgspec.json.Decoder(AccountConnection)
_schedule: Final = msgspec.json.Decoder(tuple[Stage, ...])
_limits: Final = msgspec.json.Decoder(dict[str, int])
_CATEGORIES: Final = {int(one): one for one in Category}


def connection_json(connection: AccountConnection) -> str:
    """Without the secret, which lies sealed in a column of its own."""
    said = msgspec.to_builtins(connection)
    said.pop("secret", None)
    return msgspec.json.encode(said).decode()


def schedule_json(schedule: Sequence[Stage]) -> str:
    return msgspec.json.encode(schedule).decode()


def limits_json(limits: Mapping[str, int]) -> str:
    return msgspec.json.encode(dict(limits)).decode()


def account_of(row: Record) -> Account:
    return Account(
        id=row["id"],
        name=row["name"],
        display_name=row["display_name"],
        from_address=row["from_address"],
        categories=None if row["categories"] is None else frozenset(_CATEGORIES[one] for one in row["categories"]),
        daily_limit=row["daily_limit"],
        batch_size=row["batch_size"],
        delay_ms=row["delay_ms"],
        provider_limits=_limits.decode(row["provider_limits"]),
        adaptive=row["adaptive"],
        connection=_connection.decode(row["connection"]),
        secret=row["secret"],
        secret_is_reference=row["secret_is_reference"],
        status=AccountStatus(row["status"]),
        status_reason=None if row["status_reason"] is None else StatusReason(row["status_reason"]),
        status_at=row["status_at"],
        warmup=_warmup_of(row),
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _warmup_of(row: Record) -> WarmUp | None:
    if row["warmup_schedule"] is None:
        return None
    return WarmUp(
        schedule=_schedule.decode(row["warmup_schedule"]),
        stage=row["warmup_stage"],
        started_on=tuple(row["warmup_started_on"]),
        finished_on=row["warmup_finished_on"],
    )


def state_of(row: Record) -> AccountState:
    return AccountState(
        next_at=row["next_at"],
        plan_at=row["plan_at"],
        plan_day=row["plan_day"],
        planned=row["planned"],
        consecutive_errors=row["consecutive_errors"],
    )


def day_of(row: Record, day: date) -> Day:
    return Day(
        day=day,
        reserved=row["reserved"],
        sent=row["sent"],
        bounced=row["bounced"],
        errors=row["errors"],
        deferred=row["deferred"],
    )


def pace_of(row: Record) -> Pace:
    return Pace(
        provider=row["provider"],
        hour=row["hour"],
        taken=row["taken"],
        taken_before=row["taken_before"],
        rate=row["rate"],
        ceiling=row["ceiling"],
        next_at=row["next_at"],
        plan_at=row["plan_at"],
        slowed_at=row["slowed_at"],
    )
