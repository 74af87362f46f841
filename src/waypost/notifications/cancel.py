"""Taking back what has not gone out yet."""

from collections.abc import Sequence
from uuid import UUID

from waypost.delivery.ports import DeliveryStore
from waypost.kernel.errors import Conflict, NotFound
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.work import Transaction
from waypost.notifications.model import Summary
from waypost.notifications.ports import NotificationStore
from waypost.notifications.read import Reader


class Cancel:
    def __init__(self, *, store: NotificationStore, delivery: DeliveryStore, reader: Reader) -> None:
        self._store = store
        self._delivery = delivery
        self._reader = reader

    async def one(self, tx: Transaction, scope: Scope, notification_id: UUID) -> Summary:
        """Cancelling twice is as good as once; what a worker already holds, or what has ended, is refused."""
        scope.demand(Permission.NOTIFICATIONS_SEND)
        if notification_id not in await self._store.by_ids(tx, [notification_id]):
            raise NotFound("There is no such notification.")
        cancelled = await self._delivery.cancel(tx, [notification_id])
        [summary] = await self._reader.summaries(tx, [notification_id])
        if notification_id not in cancelled and summary.status.word != "cancelled":
            raise Conflict(f"It is {summary.status.word} and cannot be cancelled any more.", code="not_cancellable")
        return summary

    async def request(self, tx: Transaction, scope: Scope, request_id: UUID) -> Sequence[Summary]:
        """Cancels what can be of a whole call, and shows how each of its notifications stands."""
        scope.demand(Permission.NOTIFICATIONS_SEND)
        ids = await self._store.request(tx, request_id)
        if ids is None:
            raise NotFound("There is no such request.")
        await self._delivery.cancel(tx, ids)
        return await self._reader.summaries(tx, ids)
