"""Operations, joined for the surfaces: pauses, the queue, dead letters."""

from dataclasses import dataclass

from waypost.adapters.postgres.dead_letters import PgDeadLetters
from waypost.adapters.postgres.jobs import PgJobStore
from waypost.adapters.postgres.notify import Bell
from waypost.adapters.postgres.pauses import PgPauses
from waypost.adapters.postgres.queue import PgQueue
from waypost.delivery.dead_letters import DeadLetters
from waypost.delivery.pauses import Pauses
from waypost.delivery.queue_view import QueueDesk
from waypost.kernel.clock import Clock
from waypost.kernel.vault import Keyring
from waypost.tenants.audit import Audit


@dataclass(frozen=True, kw_only=True, slots=True)
class Operations:
    pauses: Pauses
    queue: QueueDesk
    dead_letters: DeadLetters


def operations_of(*, bell: Bell, keyring: Keyring, audit: Audit, clock: Clock) -> Operations:
    return Operations(
        pauses=Pauses(store=PgPauses(ring=bell.ring), audit=audit, clock=clock),
        queue=QueueDesk(store=PgQueue(), clock=clock),
        dead_letters=DeadLetters(
            store=PgDeadLetters(clock=clock, ring=bell.ring),
            jobs=PgJobStore(),
            keyring=keyring,
            audit=audit,
            clock=clock,
        ),
    )
