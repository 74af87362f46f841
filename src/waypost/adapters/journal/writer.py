"""The journal of a living worker."""

import fcntl
import mmap
import os
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Final
from uuid import UUID

from waypost.adapters.journal.layout import (
    ANSWER,
    ANSWER_AT,
    HARD_BOUNCE,
    HEADER,
    HEADER_BYTES,
    HELD,
    LONGEST_WISH,
    MAGIC,
    NO_CODE,
    REASON_NUMBERS,
    SLOT_BYTES,
    STATE_AT,
    SlotState,
    boot_id,
)
from waypost.channels.model import Outcome
from waypost.delivery.model import Held

SUFFIX: Final = ".journal"
# Plain numbers: a mark is made twice for every message.
_FREE, _HELD, _GOING, _ANSWERED = (int(state) for state in SlotState)


class JournalFile:
    """Implements `delivery.ports.Journal`. The file's lock is held as long as the process lives."""

    def __init__(self, folder: Path, worker_id: UUID, slots: int) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / f"{worker_id}{SUFFIX}"
        # Made aside and locked before it gets its name: whoever finds it under that name unlocked knows us dead.
        aside = folder / f".{worker_id}.new"
        self._file = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        size = HEADER_BYTES + slots * SLOT_BYTES
        os.ftruncate(self._file, size)
        self._memory = mmap.mmap(self._file, size)
        HEADER.pack_into(self._memory, 0, MAGIC, worker_id.bytes, boot_id().bytes)
        self._free = [HEADER_BYTES + number * SLOT_BYTES for number in range(slots)]
        aside.rename(self._path)

    def open_page(self, held: Sequence[Held]) -> "Page":
        if len(self._free) < len(held):
            self._grow(len(held))
        taken = [self._free.pop() for _ in held]
        for slot, one in zip(taken, held, strict=True):
            HELD.pack_into(self._memory, slot, one.id.bytes, one.n, _HELD)
        return Page(self._memory, taken, self._free)

    def close(self, *, discard: bool = True) -> None:
        """Where everything is settled nothing is left to tell; otherwise the notes stay for the next worker."""
        if discard and len(self._free) * SLOT_BYTES == len(self._memory) - HEADER_BYTES:
            self._path.unlink(missing_ok=True)
        self._memory.close()
        os.close(self._file)

    def _grow(self, least: int) -> None:
        size = len(self._memory)
        more = max(least, (size - HEADER_BYTES) // SLOT_BYTES)
        self._memory.resize(size + more * SLOT_BYTES)
        self._free += [size + number * SLOT_BYTES for number in range(more)]


class Page:
    """The slots of one batch. Implements `delivery.ports.JournalPage`."""

    __slots__ = ("_free", "_memory", "_slots")

    def __init__(self, memory: mmap.mmap, slots: list[int], free: list[int]) -> None:
        self._memory = memory
        self._slots = slots
        self._free = free

    def going(self, index: int) -> None:
        self._memory[self._slots[index] + STATE_AT] = _GOING

    def answered(self, index: int, outcome: Outcome) -> None:
        slot, code = self._slots[index], outcome.code
        if code is None or not 0 <= code < NO_CODE:
            code = NO_CODE if code is None else min(max(code, 0), NO_CODE)
        reason = REASON_NUMBERS[outcome.reason] | (HARD_BOUNCE if outcome.hard_bounce else 0)
        wish = 0 if outcome.retry_after is None else ceil(min(max(outcome.retry_after, 0.0), LONGEST_WISH))
        ANSWER.pack_into(self._memory, slot + ANSWER_AT, outcome.kind, reason, code, outcome.latency_ms, wish)
        self._memory[slot + STATE_AT] = _ANSWERED

    def close(self) -> None:
        for slot in self._slots:
            self._memory[slot + STATE_AT] = _FREE
        self._free += self._slots
        self._slots = []
