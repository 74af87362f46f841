"""Who changed what: written in the transaction of the change, never altered afterwards."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from waypost.kernel.clock import Clock
from waypost.kernel.ids import mint, show
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.paging import Page, decode_id_cursor, encode_id_cursor, page_of, read_limit
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.work import Transaction
from waypost.tenants.model import AuditEntry
from waypost.tenants.ports import AuditStore

OPERATOR: Final = UUID(int=0)
"""The key id of whoever works on the server itself and needs no key."""
_LISTING: Final = "audit"


class Audit:
    def __init__(self, store: AuditStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def record(
        self,
        tx: Transaction,
        scope: Scope,
        action: str,
        subject: str,
        detail: Mapping[str, JsonValue] | None = None,
        *,
        about: str | None = None,
    ) -> None:
        """`subject` is an id and `detail` holds no secret and no address: entries outlive the people they are about.

        What the platform changes in another tenant (`about`) is written in both their logs.
        """
        for tenant_id in dict.fromkeys((tx.tenant_id, about or tx.tenant_id)):
            entry = AuditEntry(
                id=mint(self._clock),
                actor=show("key", scope.key_id) if scope.key_id != OPERATOR else "operator",
                acting_as=tenant_id if tenant_id != scope.key_tenant else None,
                action=action,
                subject=subject,
                detail=detail or {},
                request_id=scope.request_id,
            )
            await self._store.add(tx, tenant_id, entry)

    async def page(self, tx: Transaction, scope: Scope, cursor: str | None, limit: int | None) -> Page[AuditEntry]:
        """Newest first."""
        scope.demand(Permission.AUDIT_READ)
        size = read_limit(limit)
        found = await self._store.page(tx, decode_id_cursor(_LISTING, cursor), size + 1)
        return page_of(found, size, lambda entry: encode_id_cursor(_LISTING, entry.id))
