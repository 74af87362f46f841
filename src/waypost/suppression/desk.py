"""Suppressions by hand: someone with a key names an address, and the audit log remembers who."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.kernel.address import mask, read_address
from waypost.kernel.errors import refuse
from waypost.kernel.ids import show
from waypost.kernel.paging import Page
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import Keyring
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.suppression.everywhere import Everywhere, hash_word
from waypost.suppression.model import NewSuppression, Releaser, Suppression, SuppressionFilter, SuppressionReason
from waypost.suppression.ports import TopicBook
from waypost.suppression.rules import ENDS_BY_ITSELF
from waypost.suppression.suppress import Suppressions
from waypost.tenants.audit import Audit

LONGEST_NOTES: Final = 1_000
_SOURCE: Final = "api"
_NO_TOPIC: Final = (
    "There is no topic of this key. Make it first, by PUT /v1/topics/{key}, or leave it out for all marketing."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """What someone asks to be suppressed."""

    channel: Channel
    address: str
    reason: SuppressionReason
    expires_at: datetime | None = None
    notes: str | None = None
    topic: str | None = None
    """Of an opt-out; None for all marketing."""

    def __repr__(self) -> str:
        return f"Order({self.channel.word}, …, {self.reason.value})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """Which of them someone asks for."""

    channel: Channel | None = None
    """Of an address: email, where none is named."""
    reason: SuppressionReason | None = None
    address: str | None = None

    def __repr__(self) -> str:
        return "Wanted(…)"


ANY: Final = Wanted()


class SuppressionDesk:
    """A platform key that names no tenant suppresses for all of them."""

    def __init__(
        self,
        *,
        suppressions: Suppressions,
        topics: TopicBook,
        everywhere: Everywhere,
        keyring: Keyring,
        audit: Audit,
    ) -> None:
        self._suppressions = suppressions
        self._topics = topics
        self._everywhere = everywhere
        self._keyring = keyring
        self._audit = audit

    async def suppress(self, tx: Transaction, scope: Scope, order: Order) -> Suppression:
        """The answer is what is in force now: it may be graver than what was asked for."""
        scope.demand(Permission.SUPPRESSIONS_WRITE)
        standing = await self.put(tx, scope, order)
        detail = {"channel": order.channel.word, "asked": order.reason.value, "reason": standing.reason.value}
        await self._audit.record(tx, scope, "suppression.added", show("sup", standing.id), dict(detail))
        return standing

    async def put(self, tx: Transaction, scope: Scope, order: Order) -> Suppression:
        """Without a word in the audit log: for those who write one about many."""
        scope.demand(Permission.SUPPRESSIONS_WRITE)
        _check(order, is_platform=scope.is_platform)
        if order.topic is not None and await self._topics.find(tx, order.topic) is None:
            raise refuse("/topic", "unknown_topic", _NO_TOPIC)
        read = read_address(order.channel, order.address, "/address")
        if scope.is_platform:
            await self._everywhere.hold(tx)
        hashed = (await self._keyring.of(tx)).hash_address(hash_word(order.channel), read.text)
        new = NewSuppression(
            channel=order.channel,
            hash=hashed,
            masked=mask(order.channel, read.text),
            reason=order.reason,
            source=f"{_SOURCE}:{show('key', scope.key_id)}",
            expires_at=order.expires_at,
            topic=order.topic or "",
            notes=order.notes,
            sealed=await self._everywhere.seal(tx, hashed, read.text) if scope.is_platform else None,
        )
        standing = await self._suppressions.suppress(tx, new)
        if scope.is_platform:
            await self._everywhere.spread(tx, standing, read.text)
        return standing

    async def release(self, tx: Transaction, scope: Scope, suppression_id: UUID) -> None:
        """Releasing twice is as good as once."""
        scope.demand(Permission.SUPPRESSIONS_WRITE)
        if scope.is_platform:
            await self._everywhere.hold(tx)
        by = show("key", scope.key_id)
        released = await self._suppressions.release(tx, suppression_id, releaser=Releaser.OPERATOR, by=by)
        if scope.is_platform:
            await self._everywhere.take_back(tx, suppression_id)
        detail = {"channel": released.channel.word, "reason": released.reason.value}
        await self._audit.record(tx, scope, "suppression.released", show("sup", suppression_id), dict(detail))

    async def get(self, tx: Transaction, scope: Scope, suppression_id: UUID) -> Suppression:
        """Released ones too: they are the record of who took them back."""
        scope.demand(Permission.SUPPRESSIONS_READ)
        return await self._suppressions.get(tx, suppression_id)

    async def page(
        self, tx: Transaction, scope: Scope, cursor: str | None, limit: int | None, wanted: Wanted = ANY
    ) -> Page[Suppression]:
        """Those in force, newest first."""
        scope.demand(Permission.SUPPRESSIONS_READ)
        channel, hashed = wanted.channel, None
        if wanted.address is not None:
            channel = channel or Channel.EMAIL
            read = read_address(channel, wanted.address, "/address")
            hashed = (await self._keyring.of(tx)).hash_address(hash_word(channel), read.text)
        chosen = SuppressionFilter(channel=channel, reason=wanted.reason, hash=hashed)
        return await self._suppressions.page(tx, cursor, limit, chosen)

    async def of_recipient(self, tx: Transaction, scope: Scope, external_id: str) -> Sequence[Suppression]:
        """What is in force against one person's addresses, newest first."""
        scope.demand(Permission.SUPPRESSIONS_READ)
        return await self._suppressions.of_recipient(tx, external_id)


def _check(order: Order, *, is_platform: bool) -> None:
    if order.reason in ENDS_BY_ITSELF and order.expires_at is None:
        raise refuse("/expires_at", "required", "This reason ends by itself; say when.")
    if order.topic is not None and order.reason is not SuppressionReason.OPT_OUT:
        raise refuse("/topic", "not_an_opt_out", "Only an opt-out is about a topic.")
    if is_platform and order.reason is SuppressionReason.OPT_OUT:
        raise refuse("/reason", "unknown_value", "An opt-out is a recipient's word to one tenant.")
    notes = order.notes
    if notes is not None and not (1 <= len(notes) <= LONGEST_NOTES and notes.strip()):
        raise refuse("/notes", "out_of_range", f"Notes have 1 to {LONGEST_NOTES} characters.")
