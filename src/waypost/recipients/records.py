"""Putting, patching and reading recipients."""

from dataclasses import dataclass

from msgspec.structs import replace

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, PreconditionFailed
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.work import Transaction
from waypost.recipients.lookup import Lookup, not_found, record
from waypost.recipients.model import AddressView, Recipient, RecipientFields
from waypost.recipients.people import Mention, People, refuse_all
from waypost.recipients.ports import RecipientStore
from waypost.recipients.rules import check_external_id, check_fields, is_minted
from waypost.recipients.tags import Tags
from waypost.recipients.views import Views
from waypost.tenants.audit import Audit


@dataclass(frozen=True, kw_only=True, slots=True)
class Put:
    recipient: Recipient
    created: bool


class Recipients:
    def __init__(
        self,
        *,
        people: People,
        recipients: RecipientStore,
        lookup: Lookup,
        views: Views,
        tags: Tags,
        audit: Audit,
        clock: Clock,
    ) -> None:
        self._people = people
        self._recipients = recipients
        self._lookup = lookup
        self._views = views
        self._tags = tags
        self._audit = audit
        self._clock = clock

    async def put(
        self, tx: Transaction, scope: Scope, external_id: str, fields: RecipientFields, *, version: int | None = None
    ) -> Put:
        """Makes the recipient or merges into it. `version` is what the caller has seen (If-Match)."""
        scope.demand(Permission.RECIPIENTS_WRITE)
        return await self._write(tx, scope, external_id, fields, version, must_exist=is_minted(external_id))

    async def patch(
        self, tx: Transaction, scope: Scope, external_id: str, fields: RecipientFields, *, version: int | None = None
    ) -> Recipient:
        scope.demand(Permission.RECIPIENTS_WRITE)
        return (await self._write(tx, scope, external_id, fields, version, must_exist=True)).recipient

    async def get(self, tx: Transaction, scope: Scope, external_id: str) -> Recipient:
        scope.demand(Permission.RECIPIENTS_READ)
        return (await self._views.of_rows(tx, [await self._lookup.find(tx, external_id)]))[0]

    async def addresses(self, tx: Transaction, scope: Scope, external_id: str) -> tuple[AddressView, ...]:
        return (await self.get(tx, scope, external_id)).addresses

    async def _write(
        self,
        tx: Transaction,
        scope: Scope,
        external_id: str,
        fields: RecipientFields,
        version: int | None,
        *,
        must_exist: bool,
    ) -> Put:
        said, errors = check_fields(fields, "")
        refuse_all([*errors, *([] if must_exist else check_external_id(external_id, "/id"))])
        before = await self._lookup.maybe(tx, external_id)
        if before is None and must_exist:
            raise not_found()
        if before is None and await self._lookup.was_erased(tx, external_id):
            raise Conflict("This recipient has been erased, for good. Use another id.", code="recipient_erased")
        if version is not None and (before is None or (await self._lookup.lock(tx, external_id)).version != version):
            raise PreconditionFailed("The recipient was changed meanwhile. Read it again.")
        mention = Mention(external_id, 0, "", must_exist, sayings=[said])
        found = (await self._people.bring_in(tx, [mention]))[0]
        person, row = found.person, found.person.row
        retagged = said.tags is not None and await self._tags.replace(tx, row.id, said.tags)
        if retagged and not found.created and before is not None and row.version == before.version:
            row = replace(row, version=row.version + 1, updated_at=self._clock.now())
            await self._recipients.change(tx, [row])
            person = replace(person, row=row)
        if found.created:
            await record(self._audit, tx, scope, "recipient.created", row, {})
        elif before is None or row.version != before.version:
            await record(self._audit, tx, scope, "recipient.changed", row, {"version": row.version})
        return Put(recipient=(await self._views.of_people(tx, [person]))[0], created=found.created)
