"""What a dispatcher works with, and what it carries."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from waypost.delivery.gatekeeper import Gatekeeper
from waypost.delivery.lease import Lease
from waypost.delivery.model import Claimed
from waypost.delivery.pause_book import PauseBook
from waypost.delivery.ports import Capacity, Composer, DispatchStore, Ear, Journal, Senders, Telemetry
from waypost.delivery.settle import Settler
from waypost.kernel.clock import Clock


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    id: UUID
    claimed: Sequence[Claimed]
    term: int
    """The lease's term in which it was claimed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DispatchParts:
    """What a dispatcher works with."""

    store: DispatchStore
    gatekeeper: Gatekeeper
    composer: Composer
    senders: Senders
    journal: Journal
    ear: Ear
    telemetry: Telemetry
    lease: Lease
    settler: Settler
    clock: Clock
    capacity: Capacity | None = None
    """None: no tenant has sender accounts."""
    pauses: PauseBook | None = None
    """None: nothing is ever paused."""
