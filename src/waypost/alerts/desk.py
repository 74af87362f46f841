"""Alerts as their owner sees them."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from waypost.alerts.model import Alert, AlertKind
from waypost.alerts.ports import AlertStore
from waypost.alerts.targets import Targets
from waypost.kernel.errors import NotFound
from waypost.kernel.paging import Page, decode_id_cursor, encode_id_cursor, page_of, read_limit
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.work import Transaction

_LISTING: Final = "alerts"


class AlertReader:
    def __init__(self, store: AlertStore) -> None:
        self._store = store

    async def page(
        self,
        tx: Transaction,
        scope: Scope,
        cursor: str | None,
        limit: int | None,
        *,
        is_open: bool | None = None,
        kind: AlertKind | None = None,
    ) -> Page[Alert]:
        """Newest first."""
        scope.demand(Permission.OPERATIONS_READ)
        size = read_limit(limit)
        before = decode_id_cursor(_LISTING, cursor)
        found = await self._store.page(tx, is_open=is_open, kind=kind, before=before, limit=size + 1)
        return page_of(found, size, lambda alert: encode_id_cursor(_LISTING, alert.id))

    async def get(self, tx: Transaction, scope: Scope, alert_id: UUID) -> Alert:
        scope.demand(Permission.OPERATIONS_READ)
        found = await self._store.find(tx, alert_id)
        if found is None:
            raise NotFound("There is no such alert.")
        return found


@dataclass(frozen=True, kw_only=True, slots=True)
class AlertDesk:
    alerts: AlertReader
    targets: Targets
