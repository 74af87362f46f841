"""Looking whether something is wrong that nobody else would notice: work that nobody does, and troubles that grow.

Done by every worker and by every API process, because the worst case is that no worker is there.
"""

from collections.abc import Mapping
from typing import Final

from waypost.alerts.alarms import Alarms
from waypost.alerts.model import KIND_OF_TROUBLE, AlertKind, Trouble
from waypost.alerts.ports import AlertBoard, AlertStore
from waypost.alerts.rules import Limits
from waypost.kernel.clock import Clock
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.tenancy import PLATFORM
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Work

_Facts = Mapping[str, JsonValue]
_Found = dict[str, dict[tuple[AlertKind, str], _Facts]]
_WATCHED: Final = (AlertKind.QUEUE_STALLED, *KIND_OF_TROUBLE.values())
_QUEUE: Final = "the queue"
_ALL: Final = "all messages"


class Watch:
    """A chore. What is found is opened, what is not found any more is closed."""

    def __init__(
        self, *, work: Work, board: AlertBoard, store: AlertStore, alarms: Alarms, limits: Limits, clock: Clock
    ) -> None:
        self._work = work
        self._board = board
        self._store = store
        self._alarms = alarms
        self._limits = limits
        self._clock = clock

    async def __call__(self) -> None:
        found: _Found = {}
        await self._find_stalled(found)
        await self._find_troubles(found)
        for tenant_id in sorted({*found, *await self._board.tenants_with_open(_WATCHED)}):
            await self._put_right(tenant_id, found.get(tenant_id, {}))

    async def _find_stalled(self, found: _Found) -> None:
        now = self._clock.now()
        stalled = await self._board.stalled(now - self._limits.stalled_after)
        if not stalled:
            return
        alive = await self._board.workers_alive()
        for lane in stalled:
            facts: _Facts = {
                "oldest_seconds": round((now - lane.oldest_due).total_seconds()),
                "workers_alive": alive,
            }
            found.setdefault(lane.tenant_id, {})[AlertKind.QUEUE_STALLED, Channel(lane.channel).word] = facts
        oldest = min(lane.oldest_due for lane in stalled)
        found.setdefault(PLATFORM, {})[AlertKind.QUEUE_STALLED, _QUEUE] = {
            "oldest_seconds": round((now - oldest).total_seconds()),
            "workers_alive": alive,
            "tenants": len({lane.tenant_id for lane in stalled}),
        }

    async def _find_troubles(self, found: _Found) -> None:
        most = {Trouble.IN_DOUBT: self._limits.in_doubt, Trouble.DEAD_LETTER: self._limits.dead_letters}
        minutes = round(self._limits.window.total_seconds() / 60)
        sums = dict.fromkeys(Trouble, 0)
        for one in await self._board.troubles(self._clock.now() - self._limits.window):
            sums[one.trouble] += one.count
            if one.count >= most[one.trouble]:
                facts: _Facts = {"count": one.count, "minutes": minutes}
                found.setdefault(one.tenant_id, {})[KIND_OF_TROUBLE[one.trouble], _ALL] = facts
        for trouble, count in sums.items():
            if count >= most[trouble]:
                facts = {"count": count, "minutes": minutes}
                found.setdefault(PLATFORM, {})[KIND_OF_TROUBLE[trouble], _ALL] = facts

    async def _put_right(self, tenant_id: str, found: Mapping[tuple[AlertKind, str], _Facts]) -> None:
        async with self._work.begin(tenant_id) as tx:
            for (kind, subject), facts in sorted(found.items(), key=lambda item: item[0]):
                await self._alarms.open(tx, kind, subject, facts)
            for kind in _WATCHED:
                for subject in sorted(await self._store.open_subjects(tx, kind)):
                    if (kind, subject) not in found:
                        await self._alarms.close(tx, kind, subject)
