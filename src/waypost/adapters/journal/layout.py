"""The bytes of a journal: a header, then slots of 32 bytes, one for each message in a worker's hands.

A slot's state byte is written last, so a worker killed in the middle of a note leaves the note before it.
"""

import mmap
import struct
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from waypost.channels.model import Outcome, OutcomeKind, OutcomeReason

MAGIC: Final = b"WAYPOSTJ"
HEADER: Final = struct.Struct("<8s16s16s")
HEADER_BYTES: Final = 64
SLOT_BYTES: Final = 32
HELD: Final = struct.Struct("<16sH")
ANSWER: Final = struct.Struct("<BBiI")
ANSWER_AT: Final = 20
STATE_AT: Final = 18
_REASONS: Final = tuple(OutcomeReason)
_NO_CODE: Final = -1


class SlotState(IntEnum):
    FREE = 0
    HELD = 1
    GOING = 2
    ANSWERED = 3


@dataclass(frozen=True, slots=True)
class SlotMark:
    """What a slot says. Implements `delivery.ports.Mark`."""

    state: SlotState
    outcome: Outcome | None

    @property
    def going(self) -> bool:
        return self.state is SlotState.GOING


def write_answer(memory: mmap.mmap, slot: int, outcome: Outcome) -> None:
    reason = 0 if outcome.reason is None else _REASONS.index(outcome.reason) + 1
    code = _NO_CODE if outcome.code is None else outcome.code
    ANSWER.pack_into(memory, slot + ANSWER_AT, outcome.kind, reason, code, outcome.latency_ms)


def read_slot(memory: bytes, slot: int) -> tuple[UUID, int, SlotMark] | None:
    state = SlotState(memory[slot + STATE_AT])
    if state is SlotState.FREE:
        return None
    raw, n = HELD.unpack_from(memory, slot)
    outcome = _read_answer(memory, slot) if state is SlotState.ANSWERED else None
    return UUID(bytes=raw), n, SlotMark(state, outcome)


def _read_answer(memory: bytes, slot: int) -> Outcome:
    answer: tuple[int, int, int, int] = ANSWER.unpack_from(memory, slot + ANSWER_AT)
    kind, reason, code, latency = answer
    return Outcome(
        kind=OutcomeKind(kind),
        reason=None if reason == 0 else _REASONS[reason - 1],
        code=None if code == _NO_CODE else code,
        latency_ms=latency,
    )


def boot_id() -> UUID:
    """Which run of which host this is. Where the host does not say, every process is a host of its own."""
    try:
        return UUID(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    except (OSError, ValueError):
        return uuid4()
