"""An account stops or goes on: its new status, with an event, an audit row and a word to whoever watches."""

from collections.abc import Mapping
from typing import Final, Protocol
from uuid import UUID

from waypost.kernel.clock import Clock
from waypost.kernel.ids import mint, show
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.work import Transaction
from waypost.senders.model import Account, AccountStatus, Day, StatusReason
from waypost.senders.ports import AccountNews, AccountStore
from waypost.tenants.model import AuditEntry
from waypost.tenants.ports import AuditStore

_ACTOR: Final = "worker"


class AccountEvents(Protocol):
    """News for the world outside, in the transaction of the change."""

    async def tell(self, tx: Transaction, account_id: UUID, status: AccountStatus) -> None: ...


class Stopping:
    def __init__(
        self, *, store: AccountStore, events: AccountEvents, audit: AuditStore, news: AccountNews, clock: Clock
    ) -> None:
        self._store = store
        self._events = events
        self._audit = audit
        self._news = news
        self._clock = clock

    async def stop(
        self, tx: Transaction, account: Account, status: AccountStatus, reason: StatusReason, today: Day
    ) -> bool:
        """By a worker that found a threshold crossed. False where somebody was faster."""
        detail: dict[str, JsonValue] = {
            "reason": reason.value,
            "sent": today.sent,
            "bounced": today.bounced,
            "errors": today.errors,
        }
        if not await self._set(tx, account, status, reason, detail):
            return False
        entry = AuditEntry(
            id=mint(self._clock),
            actor=_ACTOR,
            acting_as=None,
            action=f"sender_account.{status.value}",
            subject=show("acc", account.id),
            detail=detail,
            request_id=_ACTOR,
        )
        await self._audit.add(tx, tx.tenant_id, entry)
        return True

    async def by_hand(self, tx: Transaction, account: Account, status: AccountStatus) -> bool:
        """The caller writes the audit row. False where it was so before."""
        reason = None if status is AccountStatus.ACTIVE else StatusReason.BY_HAND
        return await self._set(tx, account, status, reason, {"reason": "by_hand"})

    async def _set(
        self,
        tx: Transaction,
        account: Account,
        status: AccountStatus,
        reason: StatusReason | None,
        facts: Mapping[str, JsonValue],
    ) -> bool:
        if not await self._store.set_status(tx, account.id, status, reason, self._clock.now()):
            return False
        await self._events.tell(tx, account.id, status)
        if status is AccountStatus.ACTIVE or status is AccountStatus.ARCHIVED:
            await self._news.running(tx, account.id)
        elif reason is not StatusReason.BY_HAND:
            await self._news.stopped(tx, account.id, status, {"name": account.name, **facts})
        return True
