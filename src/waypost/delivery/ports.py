"""What the delivery engine asks of others: the system of record, the composer, senders, the journal, the bell."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from uuid import UUID

import msgspec

from waypost.channels.model import Outcome, OutgoingEmail
from waypost.channels.ports import EmailSender
from waypost.delivery.gate import Defer, GateFacts, MessageKind
from waypost.delivery.limits import Ledger, Limits
from waypost.delivery.model import (
    AttemptView,
    Claimed,
    Held,
    InboxCopy,
    QueueRow,
    Settlement,
    Standing,
    State,
    StateView,
    TimelineEntry,
    Way,
)
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.vault import DataKey
from waypost.kernel.vocabulary import Category, Channel
from waypost.kernel.work import Transaction


class DeliveryStore(Protocol):
    """Inside one tenant's transaction."""

    async def enqueue(self, tx: Transaction, rows: Sequence[QueueRow]) -> None:
        """Workers are woken once the transaction has been committed."""
        ...

    def wake_workers(self, tx: Transaction) -> None:
        """Once the transaction has been committed."""
        ...

    async def gate_facts(
        self,
        tx: Transaction,
        channel: Channel,
        people: Sequence[tuple[UUID, UUID | None]],
        kinds: Sequence[MessageKind],
    ) -> Sequence[GateFacts]:
        """The facts about each (recipient, address) and the message for them, in the order asked."""
        ...

    async def current_address(self, tx: Transaction, recipient_id: UUID, channel: Channel) -> UUID | None:
        """The address that a message to this person would go to; `channel` is the one it is kept under."""
        ...

    async def waiting_for(
        self,
        tx: Transaction,
        recipient_id: UUID,
        channel: Channel,
        categories: Sequence[Category],
        topic: str | None,
    ) -> Sequence[UUID]:
        """What is queued for a person, of these categories and, where one is named, of this topic."""
        ...

    async def cancel(self, tx: Transaction, ids: Sequence[UUID]) -> Set[UUID]:
        """Takes back what still waits in the queue, and says which that was."""
        ...

    async def states(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, StateView]: ...

    async def timeline(self, tx: Transaction, notification_id: UUID) -> Sequence[TimelineEntry]:
        """Everything that happened, attempts included, oldest first."""
        ...

    async def attempts(self, tx: Transaction, notification_id: UUID) -> Sequence[AttemptView]: ...


class LimitStore(Protocol):
    """What a tenant allows itself, and how much of it is used. Inside one tenant's transaction."""

    async def limits(self, tx: Transaction) -> Limits | None:
        """None where there are none."""
        ...

    async def put(self, tx: Transaction, limits: Limits, at: datetime) -> None: ...

    async def hold(self, tx: Transaction) -> None:
        """Until the transaction ends nobody else counts for this tenant."""
        ...

    async def read(self, tx: Transaction, limits: Limits, recipients: Sequence[UUID], now: datetime) -> Ledger:
        """The counts that concern these recipients. Only who holds them may save them."""
        ...

    async def save(self, tx: Transaction, ledger: Ledger) -> None: ...


class LeaseLost(Exception):
    """The worker's lease has run out: it must renew it before it claims again."""


class SettleRefused(Exception):
    """The store cannot take one of the settlements as it is. Nothing was written."""


class DispatchStore(Protocol):
    """What a worker asks across tenants. Raises `Unavailable` while the database is away."""

    async def claim(self, worker_id: UUID, batch_id: UUID, at_most: int) -> Sequence[Claimed]:
        """Raises `LeaseLost` for a worker that is not known to be alive."""
        ...

    async def claim_suspect(self, worker_id: UUID, batch_id: UUID) -> Claimed | None:
        """One row that has been claimed without a word before."""
        ...

    async def settle(
        self, worker_id: UUID, batch_id: UUID, settlements: Sequence[Settlement], *, whole: bool
    ) -> Set[UUID]:
        """Writes them all, fenced, in one transaction; may be repeated. Says which were not the worker's any more.

        `whole`: these are all settlements of the batch. Raises `SettleRefused` when one of them cannot be written."""
        ...

    async def has_suspects(self) -> bool:
        """Whether rows are due that were claimed without a word before."""
        ...

    async def next_due(self) -> datetime | None:
        """When the next lane falls due; None when nothing is planned."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Hold:
    """A claimed batch of one lane, as found with a lost worker."""

    tenant_id: str
    batch_id: UUID


class WorkerStore(Protocol):
    """Leases, and what lost workers left behind. The database's clock judges."""

    async def renew(self, worker_id: UUID, lease_seconds: float) -> datetime:
        """Registers or renews; answers with the database's time."""
        ...

    async def sign_off(self, worker_id: UUID) -> bool:
        """Only where the worker holds nothing any more: says whether that was so."""
        ...

    async def lost(self, lease_seconds: float) -> Sequence[UUID]:
        """Whose lease has run out; nobody within one lease of the database's start."""
        ...

    async def forget(self, worker_id: UUID) -> None:
        """A lost worker of which nothing is left to take over."""
        ...

    async def is_known(self, worker_id: UUID) -> bool: ...

    async def holds(self, worker_id: UUID) -> Sequence[Hold]: ...

    async def open_attempts(self, worker_id: UUID, hold: Hold) -> Sequence[Held]: ...

    async def let_go(self, worker_id: UUID, hold: Hold) -> None:
        """Drops a hold of which nothing is open any more, putting back what has neither attempt nor end."""
        ...


class Composed(msgspec.Struct, frozen=True, kw_only=True):
    """A finished message, and the open key under which the vendor's words about it are sealed."""

    claimed: Claimed
    email: OutgoingEmail
    key: DataKey


class ComposedForInbox(msgspec.Struct, frozen=True, kw_only=True):
    """A finished message that needs no vendor: settling it delivers it."""

    claimed: Claimed
    copy: InboxCopy


@dataclass(frozen=True, kw_only=True, slots=True)
class Withheld:
    """It ends without a call."""

    state: State
    reason: str
    detail: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


class Postponed(msgspec.Struct, frozen=True):
    """It does not fit beside the others of its batch: it goes back, to be due at once."""


ComposeAnswer = Composed | ComposedForInbox | Withheld | Postponed


class Composer(Protocol):
    async def compose(self, claimed: Sequence[Claimed]) -> Sequence[ComposeAnswer]:
        """One answer for each, in order. Raises `Unavailable` while what it needs is away."""
        ...


class Senders(Protocol):
    async def email(self, tenant_id: str) -> EmailSender:
        """The installation's way out for this tenant; the same object for tenants that share one."""
        ...

    async def by_account(self, tenant_id: str, way: Way) -> EmailSender:
        """The way out of one sender account, for one batch: an account that is changed gets a new one. Where it cannot
        be opened, one whose every answer says why."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Reserved:
    """What came of asking for room. A message that is in none of these leaves the installation's own way."""

    ways: dict[UUID, Way]
    deferred: dict[UUID, Defer]
    given_back: dict[UUID, bool]
    """Nobody could be asked about these; and whether that may be their own fault."""


class Capacity(Protocol):
    """What sender accounts may send: handed out before a message is composed, counted when it is settled."""

    async def reserve(self, batch_id: UUID, rows: Sequence[Claimed]) -> Reserved | None:
        """None: none of it is any account's concern. Nothing is reserved if it raises."""
        ...

    async def settled(self, settlements: Sequence[Settlement]) -> None:
        """Told after a batch is written down, of all of it. Never raises: what it misses, the next batch shows."""
        ...


class Addressees(Protocol):
    """To whom messages went, for one who finds only what became of them."""

    async def masked(self, tenant_id: str, ids: Sequence[UUID]) -> Mapping[UUID, tuple[UUID, str]]:
        """The address of each, and the mask under which it is shown. Whoever was erased meanwhile is not there."""
        ...


class JournalPage(Protocol):
    """Where a batch is noted, so that a killed worker leaves in doubt only what was on the wire."""

    def going(self, index: int) -> None: ...

    def answered(self, index: int, outcome: Outcome) -> None: ...

    def close(self) -> None:
        """The batch is settled: its place may be used again."""
        ...


class Journal(Protocol):
    def open_page(self, held: Sequence[Held]) -> JournalPage: ...


class Mark(Protocol):
    """What a journal says about one open attempt."""

    @property
    def going(self) -> bool: ...

    @property
    def outcome(self) -> Outcome | None: ...


class AbandonedJournal(Protocol):
    """The journal of a worker that does not hold its lock any more."""

    @property
    def worker_id(self) -> UUID: ...

    @property
    def can_be_trusted(self) -> bool:
        """Written on this host since it was booted: it says what happened, and the worker is dead for certain."""
        ...

    def mark_of(self, held: Held) -> Mark | None:
        """None: the worker never came to it."""
        ...

    def discard(self) -> None: ...

    def leave(self) -> None:
        """Puts it back for later."""
        ...


class JournalShelf(Protocol):
    def abandoned(self) -> Sequence[AbandonedJournal]:
        """Takes the lock of each, so that two rescuers never work on one."""
        ...

    def dead(self) -> Set[UUID]:
        """Workers whose journals have been taken up and not been finished with: they are judged by these alone."""
        ...


class Telemetry(Protocol):
    """Told what the engine does, in numbers."""

    def claimed(self, rows: int, seconds: float) -> None: ...

    def settled(self, settlements: Sequence[Settlement], seconds: float) -> None: ...

    def composed(self, answers: Sequence[ComposeAnswer], seconds: float) -> None: ...

    def rescued(self, settlements: Sequence[Settlement]) -> None: ...

    def stands(self, standing: Standing) -> None: ...


class Ear(Protocol):
    """Hears the bell that rings after a submit."""

    async def wait(self, seconds: float) -> bool: ...
