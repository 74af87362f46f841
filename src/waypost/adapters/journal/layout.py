"""The bytes of a journal: a header, then slots of 32 bytes, one for each message in a worker's hands.

A slot's state byte is written last, so a worker killed in the middle of a note leaves the note before it.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from waypost.channels.model import Outcome, OutcomeKind, OutcomeReason

MAGIC: Final = b"WAYPOST2"
"""Of this layout: the notes of a worker with another are not understood."""
HEADER: Final = struct.Struct("<8s16s16s")
HEADER_BYTES: Final = 64
SLOT_BYTES: Final = 32
HELD: Final = struct.Struct("<16sHB")
STATE_AT: Final = 18
ANSWER: Final = struct.Struct("<BBHII")
"""Kind, reason, code, milliseconds, and the seconds that the vendor asked to be left alone for."""
ANSWER_AT: Final = 20
NO_CODE: Final = 0xFFFF
HARD_BOUNCE: Final = 0x80
"""Beside the reason's number: the address itself is dead."""
LONGEST_WISH: Final = 0xFFFFFFFF
_REASONS: Final = tuple(OutcomeReason)
REASON_NUMBERS: Final = {None: 0} | {reason: number for number, reason in enumerate(_REASONS, start=1)}


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


def read_slot(memory: bytes, slot: int) -> tuple[UUID, int, SlotMark] | None:
    state = SlotState(memory[slot + STATE_AT])
    if state is SlotState.FREE:
        return None
    held: tuple[bytes, int, int] = HELD.unpack_from(memory, slot)
    raw, n, _ = held
    outcome = _read_answer(memory, slot) if state is SlotState.ANSWERED else None
    return UUID(bytes=raw), n, SlotMark(state, outcome)


def _read_answer(memory: bytes, slot: int) -> Outcome:
    answer: tuple[int, int, int, int, int] = ANSWER.unpack_from(memory, slot + ANSWER_AT)
    kind, marked, code, latency, wish = answer
    reason = marked & ~HARD_BOUNCE
    return Outcome(
        kind=OutcomeKind(kind),
        reason=None if reason == 0 else _REASONS[reason - 1],
        code=None if code == NO_CODE else code,
        latency_ms=latency,
        hard_bounce=marked & HARD_BOUNCE != 0,
        retry_after=float(wish) if wish else None,
    )


def boot_id() -> UUID:
    """Which run of which host this is. Where the host does not say, every process is a host of its own."""
    try:
        return UUID(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    except (OSError, ValueError):
        return uuid4()
