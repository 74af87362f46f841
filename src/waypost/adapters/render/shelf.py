"""Which contents a child has compiled, kept by the pool, so that a content travels once and is then named by a slot."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from waypost.adapters.render.wire import Lesson, Parts
from waypost.templates.model import Content
from waypost.templates.ports import Instrument, RenderJob

VersionKey = tuple[str, UUID]
_Place = tuple[str, UUID, Instrument | None]
"""The same content, tracked in another way, is compiled once more."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a child must forget and learn before a batch, and the slot of each of its jobs."""

    forget: list[int]
    learn: list[Lesson]
    slots: list[int]
    used: dict[_Place, tuple[int, int]]


class Shelf:
    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._held: OrderedDict[_Place, tuple[int, int]] = OrderedDict()
        self._bytes = 0
        self._next_slot = 0

    def plan(self, jobs: Sequence[RenderJob]) -> Plan:
        """Changes nothing: the plan counts only once its request went out (`commit`)."""
        learn, slots, next_slot = list[Lesson](), list[int](), self._next_slot
        used: dict[_Place, tuple[int, int]] = {}
        last = None
        for job in jobs:
            if (
                last is not None
                and job.version_id is last.version_id
                and job.instrument is last.instrument
                and job.tenant_id == last.tenant_id
            ):
                slots.append(slots[-1])
                continue
            last = job
            key = (job.tenant_id, job.version_id, job.instrument)
            place = used.get(key)
            if place is None:
                place = self._held.get(key)
                if place is None:
                    place = (next_slot, _size(job.content))
                    next_slot += 1
                    learn.append(Lesson(place[0], Parts.of(job.content), job.instrument))
                used[key] = place
            slots.append(place[0])
        return Plan(self._oldest_without(used), learn, slots, used)

    def commit(self, plan: Plan) -> None:
        gone = set(plan.forget)
        for key in [key for key, (slot, _) in self._held.items() if slot in gone]:
            self._bytes -= self._held.pop(key)[1]
        for key, place in plan.used.items():
            if key not in self._held:
                self._bytes += place[1]
                self._next_slot = max(self._next_slot, place[0] + 1)
            self._held[key] = place
            self._held.move_to_end(key)

    def _oldest_without(self, used: dict[_Place, tuple[int, int]]) -> list[int]:
        total = self._bytes + sum(size for key, (_, size) in used.items() if key not in self._held)
        forget: list[int] = []
        for key, (slot, size) in self._held.items():
            if total <= self._most_bytes:
                break
            if key not in used:
                forget.append(slot)
                total -= size
        return forget


def _size(content: Content) -> int:
    parts = (content.subject, content.html, content.text, content.json, content.preheader)
    return sum(len(part or "") for part in parts) + 1024
