"""The addresses of one recipient: giving, verifying, putting in front, taking away."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from msgspec.structs import replace

from waypost.kernel.address import read_address
from waypost.kernel.clock import Clock
from waypost.kernel.errors import NotFound, refuse
from waypost.kernel.ids import mint, show
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import Keyring, place
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.recipients.lookup import Lookup, record
from waypost.recipients.model import (
    PHONE,
    AddressStatus,
    AddressView,
    NewAddress,
    Person,
    StoredAddress,
    StoredRecipient,
)
from waypost.recipients.people import People
from waypost.recipients.ports import AddressStore, RecipientStore
from waypost.recipients.rules import MOST_ADDRESSES
from waypost.recipients.views import Views
from waypost.tenants.audit import Audit

_KEPT_UNDER: Final = {Channel.EMAIL: Channel.EMAIL, Channel.SMS: PHONE, Channel.WHATSAPP: PHONE, Channel.VOICE: PHONE}
_INSTANT: Final = timedelta(microseconds=1)


class AddressBook:
    def __init__(
        self,
        *,
        people: People,
        recipients: RecipientStore,
        addresses: AddressStore,
        lookup: Lookup,
        views: Views,
        keyring: Keyring,
        audit: Audit,
        clock: Clock,
    ) -> None:
        self._people = people
        self._recipients = recipients
        self._addresses = addresses
        self._lookup = lookup
        self._views = views
        self._keyring = keyring
        self._audit = audit
        self._clock = clock

    async def add(self, tx: Transaction, scope: Scope, external_id: str, given: NewAddress) -> AddressView:
        """Giving what is there already changes only what is said about it."""
        scope.demand(Permission.RECIPIENTS_WRITE)
        channel = _KEPT_UNDER.get(given.channel)
        if channel is None:
            raise refuse("/channel", "invalid_channel", "Addresses are given for email, sms, whatsapp and voice.")
        address = read_address(channel, given.text, "/address")
        person = await self._hold(tx, external_id)
        hashed = (await self._keyring.of(tx)).hash_address(channel.word, address.text)
        others = [known for known in person.addresses if known.channel is channel]
        known = next((one for one in others if one.hash == hashed), None)
        if known is not None:
            verified = given.verified or known.verified
            return await self._say(tx, scope, person, known, verified=verified, current=given.current)
        if len(others) >= MOST_ADDRESSES:
            raise refuse("/address", "too_many", f"A recipient has at most {MOST_ADDRESSES} addresses on a channel.")
        now, address_id = self._clock.now(), mint(self._clock)
        new = StoredAddress(
            id=address_id,
            recipient_id=person.row.id,
            channel=channel,
            hash=hashed,
            ciphertext=person.key.seal(address.text.encode(), place("address", tx.tenant_id, address_id)),
            verified=given.verified,
            status=AddressStatus.ACTIVE,
            given_at=_in_front(others, now) if given.current or not others else others[-1].given_at - _INSTANT,
            created_at=now,
            updated_at=now,
        )
        await self._addresses.add(tx, [new])
        await self._touch(tx, person.row)
        detail: dict[str, JsonValue] = {"address_id": show("adr", address_id), "channel": channel.word}
        await record(self._audit, tx, scope, "recipient.address_added", person.row, detail)
        return await self._view(tx, person.row, address_id)

    async def change(
        self,
        tx: Transaction,
        scope: Scope,
        external_id: str,
        address_id: UUID,
        *,
        verified: bool | None = None,
        current: bool = False,
    ) -> AddressView:
        scope.demand(Permission.RECIPIENTS_WRITE)
        person = await self._hold(tx, external_id)
        known = _own(person, address_id)
        said = known.verified if verified is None else verified
        return await self._say(tx, scope, person, known, verified=said, current=current)

    async def revoke(self, tx: Transaction, scope: Scope, external_id: str, address_id: UUID) -> None:
        scope.demand(Permission.RECIPIENTS_WRITE)
        person = await self._hold(tx, external_id)
        known = _own(person, address_id)
        await self._addresses.revoke(tx, [known.id], self._clock.now())
        await self._touch(tx, person.row)
        detail: dict[str, JsonValue] = {"address_id": show("adr", address_id)}
        await record(self._audit, tx, scope, "recipient.address_revoked", person.row, detail)

    async def _say(
        self, tx: Transaction, scope: Scope, person: Person, known: StoredAddress, *, verified: bool, current: bool
    ) -> AddressView:
        others = [one for one in person.addresses if one.channel is known.channel]
        now = self._clock.now()
        moves = current and others[0].id != known.id
        if known.verified != verified:
            await self._addresses.verify(tx, known.id, now, verified=verified)
        if moves:
            await self._addresses.put_in_front(tx, {known.id: _in_front(others, now)})
        if moves or known.verified != verified:
            await self._touch(tx, person.row)
            detail: dict[str, JsonValue] = {"address_id": show("adr", known.id), "verified": verified}
            await record(self._audit, tx, scope, "recipient.address_changed", person.row, detail)
        return await self._view(tx, person.row, known.id)

    async def _hold(self, tx: Transaction, external_id: str) -> Person:
        row = await self._lookup.lock(tx, external_id)
        return (await self._people.read(tx, [row]))[0]

    async def _touch(self, tx: Transaction, row: StoredRecipient) -> None:
        now = self._clock.now()
        await self._recipients.change(tx, [replace(row, version=row.version + 1, updated_at=now)])
        await self._recipients.note_gate_changes(tx, [row.id], now)

    async def _view(self, tx: Transaction, row: StoredRecipient, address_id: UUID) -> AddressView:
        [shown] = await self._views.of_rows(tx, [row])
        return next(one for one in shown.addresses if one.id == address_id)


def _own(person: Person, address_id: UUID) -> StoredAddress:
    found = next((address for address in person.addresses if address.id == address_id), None)
    if found is None:
        raise NotFound("This recipient has no address of this id.")
    return found


def _in_front(others: Sequence[StoredAddress], now: datetime) -> datetime:
    """Strictly after the one in front, so that the newest given is one and the same for everybody."""
    return max(now, others[0].given_at + _INSTANT) if others else now
