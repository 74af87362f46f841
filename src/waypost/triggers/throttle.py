"""At most so many messages of one trigger to one person within a sliding window, exactly, whoever sends at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from waypost.delivery.gate import Skip, SkipReason
from waypost.kernel.work import Transaction
from waypost.triggers.model import Throttle
from waypost.triggers.ports import ThrottleStore, Window


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """May this message go?"""

    trigger_id: UUID
    recipient_id: UUID
    slot: str
    throttle: Throttle

    @property
    def window(self) -> Window:
        return Window(trigger_id=self.trigger_id, recipient_id=self.recipient_id, slot=self.slot)


def skip_of(throttle: Throttle) -> Skip:
    fact = {"max": throttle.max, "per": str(throttle.per)}
    return Skip(reason=SkipReason.THROTTLED, rule="throttle", fact=dict(fact))


async def grant(store: ThrottleStore, tx: Transaction, asked: Sequence[Asked], now: datetime) -> Sequence[bool]:
    """An answer to each, in order; those that may go are counted."""
    if not asked:
        return []
    wanted = sorted({one.window for one in asked}, key=lambda one: (one.trigger_id, one.recipient_id, one.slot))
    held = await store.hold(tx, wanted, now)
    times: dict[Window, list[datetime]] = {}
    answers: list[bool] = []
    for one in asked:
        since = now - one.throttle.per.elapsed
        used = times.setdefault(one.window, [moment for moment in held.get(one.window, ()) if moment > since])
        answers.append(len(used) < one.throttle.max)
        if answers[-1]:
            used.append(now)
    granted: Mapping[Window, Sequence[datetime]] = times
    await store.put(tx, granted, now)
    return answers
