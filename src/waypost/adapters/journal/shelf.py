"""Finding the journals that dead workers left in the folder."""

import fcntl
import os
from collections.abc import Sequence, Set
from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import UUID

from waypost.adapters.journal.layout import (
    HEADER,
    HEADER_BYTES,
    MAGIC,
    SLOT_BYTES,
    SlotMark,
    boot_id,
    read_slot,
)
from waypost.adapters.journal.writer import SUFFIX
from waypost.delivery.model import Held

_DEAD: Final = f".dead{SUFFIX}"


class LeftJournal:
    """Implements `delivery.ports.AbandonedJournal`. Holds the file's lock until it is discarded or left."""

    def __init__(self, path: Path, file: int, worker_id: UUID, marks: dict[tuple[UUID, int], SlotMark] | None) -> None:
        self._path = path
        self._file = file
        self._marks = marks
        self.worker_id = worker_id

    @property
    def can_be_trusted(self) -> bool:
        return self._marks is not None

    def mark_of(self, held: Held) -> SlotMark | None:
        return None if self._marks is None else self._marks.get((held.id, held.n))

    def discard(self) -> None:
        self._path.unlink(missing_ok=True)
        os.close(self._file)

    def leave(self) -> None:
        os.close(self._file)


class Shelf:
    """Implements `delivery.ports.JournalShelf`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def abandoned(self) -> Sequence[LeftJournal]:
        found = [self._take(path) for path in sorted(self._folder.glob(f"*{SUFFIX}"))]
        return [journal for journal in found if journal is not None]

    def dead(self) -> Set[UUID]:
        return {UUID(path.name.removesuffix(_DEAD)) for path in self._folder.glob(f"*{_DEAD}")}

    def _take(self, path: Path) -> LeftJournal | None:
        try:
            worker_id = UUID(path.name.partition(".")[0])
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except (ValueError, OSError):
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Another rescuer may have removed it between our opening and locking it.
            if os.fstat(file).st_nlink > 0:
                marks = _read(file, worker_id)
                return LeftJournal(path if marks is None else _mark_dead(path, worker_id), file, worker_id, marks)
        except OSError:
            pass
        with suppress(OSError):
            os.close(file)
        return None


def _mark_dead(path: Path, worker_id: UUID) -> Path:
    """So that nobody judges the worker by its lease while this is read, which knows better."""
    marked = path.with_name(f"{worker_id}{_DEAD}")
    if path != marked:
        path.rename(marked)
    return marked


def _read(file: int, worker_id: UUID) -> dict[tuple[UUID, int], SlotMark] | None:
    """None where the file was written by another boot or host, or is not whole."""
    content = os.pread(file, os.fstat(file).st_size, 0)
    if len(content) < HEADER_BYTES:
        return None
    if HEADER.unpack_from(content) != (MAGIC, worker_id.bytes, boot_id().bytes):
        return None
    marks: dict[tuple[UUID, int], SlotMark] = {}
    try:
        for slot in range(HEADER_BYTES, len(content) - SLOT_BYTES + 1, SLOT_BYTES):
            if (read := read_slot(content, slot)) is not None:
                notification_id, n, mark = read
                # A row given back and claimed again may stand in two slots for a moment: the one further on is true.
                known = marks.get((notification_id, n))
                if known is None or known.state < mark.state:
                    marks[notification_id, n] = mark
    except (ValueError, IndexError):
        return None
    return marks
