"""Many rows at once: people are found, made and changed as by calls of their own, in a handful of statements."""

import asyncio
from collections.abc import Callable, Sequence
from uuid import UUID

from waypost.imports.agreements import Agreements
from waypost.imports.model import ImportedConsent, RowFault, Spec, Tally
from waypost.imports.prepare import Prepared, fault_at
from waypost.imports.rows import Row
from waypost.kernel.clock import Clock
from waypost.kernel.errors import FieldError
from waypost.kernel.work import Transaction
from waypost.recipients.lists import ListKeys
from waypost.recipients.ports import ListStore, TagStore
from waypost.recipients.resolve import Plan, Resolver


class TakeIn:
    def __init__(
        self,
        *,
        resolver: Resolver,
        tags: TagStore,
        lists: ListStore,
        list_keys: ListKeys,
        agreements: Agreements,
        clock: Clock,
    ) -> None:
        self._resolver = resolver
        self._tags = tags
        self._lists = lists
        self._list_keys = list_keys
        self._agreements = agreements
        self._clock = clock

    async def __call__(
        self, tx: Transaction, prepared: Prepared, spec: Spec, tally: Tally, meanwhile: Callable[[], None]
    ) -> Sequence[RowFault]:
        """Good rows are kept, the faults of others answered. `meanwhile` is called while the database writes."""
        rows = prepared.rows
        plan = await self._resolver.look(tx, prepared.parties, prepared.ahead)
        faults: list[RowFault] = []
        for number, refusal in sorted(plan.refusals.items()):
            errors = refusal.errors or (FieldError(pointer="", code=refusal.code, message=refusal.detail),)
            faults += [fault_at(rows[number].line, error, spec.layout) for error in errors]
        _count(plan, len(rows), tally)
        tally.rejected += len(plan.refusals)
        if not spec.options.dry_run:
            writing = asyncio.create_task(self._resolver.bring_in(tx, plan))
            # Lets the statement go out before anything else is done.
            await asyncio.sleep(0)
            try:
                meanwhile()
            finally:
                await writing
            await self._attach(tx, rows, plan, spec)
        return faults

    async def _attach(self, tx: Transaction, rows: Sequence[Row], plan: Plan, spec: Spec) -> None:
        """Tags, the list and consents, for whoever came in."""
        common = spec.options.tags
        if not common and spec.options.list_key is None and not any(row.tags or row.consents for row in rows):
            return
        tags: dict[tuple[UUID, str], None] = {}
        consents: list[tuple[UUID, ImportedConsent]] = []
        people: dict[UUID, None] = {}
        for number, row in enumerate(rows):
            for name in plan.members[number]:
                person = plan.people[name].row.id
                people[person] = None
                tags |= {(person, tag): None for tag in (*row.tags, *common)}
                consents += [(person, consent) for consent in row.consents]
        if tags:
            await self._tags.add(tx, sorted(tags))
        if spec.options.list_key is not None and people:
            list_id = await self._list_keys.id_of(tx, spec.options.list_key, "/options/list")
            await self._lists.add_members(tx, list_id, sorted(people), self._clock.now())
        if consents:
            await self._agreements.record(tx, consents)


def _count(plan: Plan, rows: int, tally: Tally) -> None:
    """Rows about one and the same person count as one that made or changed them, and others that changed nothing."""
    created = sum(one.known is None for one in plan.planned if one.merge)
    changed = sum(one.known is not None and one.merge.changed for one in plan.planned if one.merge)
    tally.created += created
    tally.changed += changed
    tally.unchanged += rows - len(plan.refusals) - created - changed
