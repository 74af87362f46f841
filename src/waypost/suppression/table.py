"""Suppressions as a CSV table: taken in row by row, and given out so that no spreadsheet runs what is in it."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from waypost.kernel.errors import FieldError, Refused, refuse
from waypost.kernel.ids import show
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import CHANNELS
from waypost.kernel.work import Transaction
from waypost.suppression.desk import Order, SuppressionDesk
from waypost.suppression.model import Suppression, SuppressionReason
from waypost.suppression.suppress import Suppressions
from waypost.tenants.audit import Audit

MOST_ROWS: Final = 10_000
MOST_EXPORTED: Final = 100_000
MOST_FAULTS: Final = 100
COLUMNS: Final = ("address", "channel", "reason", "topic", "expires_at", "notes")
_EXPORTED: Final = ("id", "channel", "address", "reason", "topic", "source", "created_at", "expires_at", "notes")
_REASONS: Final = {reason.value: reason for reason in SuppressionReason}
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, kw_only=True, slots=True)
class RowFault:
    row: int
    """Counted from 1, without the head."""
    code: str
    message: str


@dataclass(kw_only=True, slots=True)
class TakenIn:
    taken: int = 0
    refused: int = 0
    faults: list[RowFault] = field(default_factory=list[RowFault])
    """The first hundred."""
    ignored: tuple[str, ...] = ()
    """Columns that mean nothing here."""


class SuppressionTable:
    def __init__(self, *, desk: SuppressionDesk, suppressions: Suppressions, audit: Audit) -> None:
        self._desk = desk
        self._suppressions = suppressions
        self._audit = audit

    async def take_in(self, tx: Transaction, scope: Scope, text: str) -> TakenIn:
        """Good rows are kept, bad ones reported. Nothing is ever released this way."""
        scope.demand(Permission.SUPPRESSIONS_WRITE)
        columns, rows = _read(text)
        answer = TakenIn(ignored=tuple(sorted(set(columns) - set(COLUMNS))))
        for number, row in enumerate(rows, start=1):
            try:
                await self._desk.put(tx, scope, _order(row))
                answer.taken += 1
            except Refused as refusal:
                answer.refused += 1
                if len(answer.faults) < MOST_FAULTS:
                    answer.faults.append(RowFault(row=number, code=refusal.code, message=refusal.detail))
        detail = {"taken": answer.taken, "refused": answer.refused}
        await self._audit.record(tx, scope, "suppression.imported", tx.tenant_id, dict(detail))
        return answer

    async def give_out(self, tx: Transaction, scope: Scope) -> str:
        """What is in force, newest first. Addresses are masked: only their hashes are kept."""
        scope.demand(Permission.SUPPRESSIONS_READ)
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\r\n")
        writer.writerow(_EXPORTED)
        cursor: str | None = None
        for _ in range(MOST_EXPORTED // 100):
            page = await self._suppressions.page(tx, cursor, 100)
            writer.writerows([_safe(cell) for cell in _cells(one)] for one in page.items)
            if (cursor := page.next) is None:
                break
        return written.getvalue()


def _read(text: str) -> tuple[Sequence[str], Iterable[Mapping[str, str]]]:
    try:
        reader = csv.reader(io.StringIO(text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}"), newline=""), strict=True)
        lines = [line for _, line in zip(range(MOST_ROWS + 2), reader, strict=False) if any(line)]
    except csv.Error:
        raise refuse("/csv", "invalid_csv", "This cannot be read as CSV: a quote is not closed.") from None
    if not lines:
        raise refuse("/csv", "required", "The first line names the columns; one of them is `address`.")
    columns = [name.strip().lower() for name in lines[0]]
    if "address" not in columns:
        raise refuse("/csv", "missing_column", "The first line names the columns; one of them is `address`.")
    if len(lines) > MOST_ROWS + 1:
        raise refuse("/csv", "too_many", f"At most {MOST_ROWS} rows at a time.")
    return columns, _rows(columns, lines[1:])


def _rows(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterator[Mapping[str, str]]:
    for line in lines:
        yield {name: cell.strip() for name, cell in zip(columns, line, strict=False) if cell.strip()}


def _order(row: Mapping[str, str]) -> Order:
    channel = CHANNELS.get(row.get("channel", "email"))
    reason = _REASONS.get(row.get("reason", "manual"))
    if channel is None:
        raise refuse("/channel", "unknown_value", f"A channel is one of {', '.join(CHANNELS)}.")
    if reason is None:
        raise refuse("/reason", "unknown_value", f"A reason is one of {', '.join(_REASONS)}.")
    return Order(
        channel=channel,
        address=row.get("address", ""),
        reason=reason,
        expires_at=_moment(row.get("expires_at")),
        notes=row.get("notes"),
        topic=row.get("topic"),
    )


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        message = "Write a time as 2026-01-15T12:00:00Z."
        error = FieldError(pointer="/expires_at", code="invalid_time", message=message)
        raise Refused(message, code="invalid_time", errors=[error]) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _cells(one: Suppression) -> Iterator[str]:
    yield show("sup", one.id)
    yield one.channel.word
    yield one.masked
    yield one.reason.value
    yield one.topic
    yield one.source
    yield one.created_at.isoformat()
    yield one.expires_at.isoformat() if one.expires_at else ""
    yield one.notes or ""


def _safe(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
