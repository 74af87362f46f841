"""Tags of recipients."""

from collections.abc import Callable, Sequence
from uuid import UUID

from msgspec.structs import replace

from waypost.kernel.clock import Clock
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.work import Transaction
from waypost.recipients.lookup import Lookup, record
from waypost.recipients.people import refuse_all
from waypost.recipients.ports import RecipientStore, TagStore
from waypost.recipients.rules import check_tags
from waypost.tenants.audit import Audit


class Tags:
    def __init__(
        self, *, recipients: RecipientStore, tags: TagStore, lookup: Lookup, audit: Audit, clock: Clock
    ) -> None:
        self._recipients = recipients
        self._tags = tags
        self._lookup = lookup
        self._audit = audit
        self._clock = clock

    async def get(self, tx: Transaction, scope: Scope, external_id: str) -> tuple[str, ...]:
        scope.demand(Permission.RECIPIENTS_READ)
        row = await self._lookup.find(tx, external_id)
        return await self._of(tx, row.id)

    async def set(self, tx: Transaction, scope: Scope, external_id: str, tags: Sequence[str]) -> tuple[str, ...]:
        """These and no others."""
        return await self._change(tx, scope, external_id, lambda _: tags)

    async def add(self, tx: Transaction, scope: Scope, external_id: str, tags: Sequence[str]) -> tuple[str, ...]:
        return await self._change(tx, scope, external_id, lambda current: [*current, *tags])

    async def remove(self, tx: Transaction, scope: Scope, external_id: str, tag: str) -> tuple[str, ...]:
        """Taking away what is not there is as good as taking it away."""
        return await self._change(tx, scope, external_id, lambda current: [one for one in current if one != tag])

    async def replace(self, tx: Transaction, recipient_id: UUID, tags: Sequence[str]) -> bool:
        """Inside another change of a recipient that the transaction holds. Answers whether anything changed."""
        current, wanted = set(await self._of(tx, recipient_id)), set(tags)
        if gone := sorted(current - wanted):
            await self._tags.remove(tx, [(recipient_id, tag) for tag in gone])
        if new := sorted(wanted - current):
            await self._tags.add(tx, [(recipient_id, tag) for tag in new])
        return current != wanted

    async def _change(
        self, tx: Transaction, scope: Scope, external_id: str, choose: Callable[[tuple[str, ...]], Sequence[str]]
    ) -> tuple[str, ...]:
        scope.demand(Permission.RECIPIENTS_WRITE)
        row = await self._lookup.lock(tx, external_id)
        wanted, errors = check_tags(choose(await self._of(tx, row.id)), "/tags")
        refuse_all(errors)
        if await self.replace(tx, row.id, wanted):
            await self._recipients.change(tx, [replace(row, version=row.version + 1, updated_at=self._clock.now())])
            await record(self._audit, tx, scope, "recipient.tagged", row, {"tags": len(wanted)})
        return wanted

    async def _of(self, tx: Transaction, recipient_id: UUID) -> tuple[str, ...]:
        return (await self._tags.of_recipients(tx, [recipient_id])).get(recipient_id, ())
