"""Many rows at once: people are found, made and changed as by calls of their own, in a handful of statements."""

from collections.abc import Sequence
from uuid import UUID

from waypost.imports.agreements import Agreements
from waypost.imports.model import ImportedConsent, Layout, RowFault, Spec, Tally
from waypost.imports.rows import Row, column_of
from waypost.kernel.clock import Clock
from waypost.kernel.errors import FieldError
from waypost.kernel.work import Transaction
from waypost.recipients.lists import ListKeys
from waypost.recipients.party import Party
from waypost.recipients.ports import ListStore, TagStore
from waypost.recipients.resolve import Plan, Resolver
from waypost.recipients.rules import MOST_TAGS, check_tags


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

    async def __call__(self, tx: Transaction, rows: Sequence[Row], spec: Spec, tally: Tally) -> Sequence[RowFault]:
        """Good rows are kept, and the faults of the others answered."""
        faults: list[RowFault] = []
        sound = [row for row in rows if not (found := _tag_faults(row, spec.layout)) or faults.extend(found)]
        parties = [Party(targets=(row.target,), channels=(), is_list=False, pointer="") for row in sound]
        plan = await self._resolver.look(tx, parties)
        for number, refusal in sorted(plan.refusals.items()):
            errors = refusal.errors or (FieldError(pointer="", code=refusal.code, message=refusal.detail),)
            faults += [_fault(sound[number].line, error, spec.layout) for error in errors]
        _count(plan, len(sound), tally)
        tally.rejected += len(rows) - len(sound) + len(plan.refusals)
        if not spec.options.dry_run:
            await self._resolver.bring_in(tx, plan)
            await self._attach(tx, sound, plan, spec)
        return sorted(faults, key=lambda fault: fault.line)

    async def _attach(self, tx: Transaction, rows: Sequence[Row], plan: Plan, spec: Spec) -> None:
        """Tags, the list and consents, for whoever came in."""
        common = spec.options.tags
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


def _tag_faults(row: Row, layout: Layout) -> list[RowFault]:
    if not row.tags:
        return []
    _, errors = check_tags(row.tags, "/tags")
    return [_fault(row.line, error, layout) for error in errors[:MOST_TAGS]]


def _fault(line: int, error: FieldError, layout: Layout) -> RowFault:
    return RowFault(line=line, column=column_of(error.pointer, layout), code=error.code, message=error.message)
