"""The journal: what a killed worker's file tells, and when it is not to be believed."""

import fcntl
import os
import signal
import subprocess
import sys
import textwrap
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.journal import layout
from waypost.adapters.journal.shelf import Shelf
from waypost.adapters.journal.writer import JournalFile
from waypost.channels.model import Outcome, OutcomeKind, OutcomeReason
from waypost.delivery.model import Held
from waypost.kernel.vocabulary import Category, Channel, Priority, Retention


def abandon(journal: JournalFile) -> None:
    """As if the process had died: the lock is free, the file stays as it is."""
    journal._memory.close()
    os.close(journal._file)


def held(notification_id: UUID | None = None, n: int = 1) -> Held:
    return Held(
        tenant_id="acme",
        id=notification_id or uuid4(),
        retention=Retention.STANDARD,
        n=n,
        claims=0,
        channel=Channel.EMAIL,
        category=Category.TRANSACTIONAL,
        priority=Priority.NORMAL,
        expires_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def test_each_note_is_read_back(tmp_path: Path) -> None:
    journal = JournalFile(tmp_path, uuid4(), slots=8)
    rows = [held(n=number) for number in (1, 2, 300)]
    page = journal.open_page(rows)
    outcome = Outcome(kind=OutcomeKind.REJECTED, reason=OutcomeReason.POLICY, code=550, latency_ms=81)
    page.going(1)
    page.going(2)
    page.answered(2, outcome)
    abandon(journal)
    [left] = Shelf(tmp_path).abandoned()
    marks = [left.mark_of(row) for row in rows]
    assert left.can_be_trusted
    assert [(mark.going, mark.outcome) for mark in marks if mark] == [(False, None), (True, None), (False, outcome)]
    assert left.mark_of(held()) is None
    assert left.mark_of(held(rows[0].id, n=2)) is None
    left.discard()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ({"retry_after": 0.2}, {"retry_after": 1.0}),
        ({"retry_after": 1e12}, {"retry_after": float(2**32 - 1)}),
        ({"retry_after": -4.0}, {"retry_after": None}),
        ({"code": 2**40}, {"code": None}),
        ({"code": -7}, {"code": 0}),
    ],
)
def test_what_does_not_fit_is_cut_and_stops_nobody(tmp_path: Path, said: Any, kept: Any) -> None:
    journal, row = JournalFile(tmp_path, uuid4(), slots=1), held()
    plain = {"kind": OutcomeKind.DEFERRED, "reason": OutcomeReason.SLOW_DOWN}
    journal.open_page([row]).answered(0, Outcome(**plain, **said))
    abandon(journal)
    [left] = Shelf(tmp_path).abandoned()
    mark = left.mark_of(row)
    assert mark is not None
    assert mark.outcome == Outcome(**plain, **kept)
    left.discard()


@given(
    kind=st.sampled_from(OutcomeKind),
    reason=st.none() | st.sampled_from(OutcomeReason),
    code=st.none() | st.integers(0, 999),
    latency=st.integers(0, 2**32 - 1),
    hard_bounce=st.booleans(),
    retry_after=st.none() | st.integers(1, 2**32 - 1).map(float),
)
def test_every_outcome_survives(
    tmp_path_factory: pytest.TempPathFactory,
    kind: OutcomeKind,
    reason: OutcomeReason | None,
    code: int | None,
    latency: int,
    hard_bounce: bool,
    retry_after: float | None,
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    journal, row = JournalFile(folder, uuid4(), slots=1), held()
    outcome = Outcome(
        kind=kind, reason=reason, code=code, latency_ms=latency, hard_bounce=hard_bounce, retry_after=retry_after
    )
    journal.open_page([row]).answered(0, outcome)
    abandon(journal)
    [left] = Shelf(folder).abandoned()
    mark = left.mark_of(row)
    left.discard()
    assert mark is not None
    assert mark.outcome == outcome


def test_a_settled_page_says_nothing_and_its_place_is_used_again(tmp_path: Path) -> None:
    journal = JournalFile(tmp_path, uuid4(), slots=2)
    for _ in range(50):
        rows = [held(), held()]
        page = journal.open_page(rows)
        page.going(0)
        page.close()
    abandon(journal)
    [left] = Shelf(tmp_path).abandoned()
    assert left.mark_of(rows[0]) is None
    left.leave()


def test_it_grows_rather_than_forget(tmp_path: Path) -> None:
    journal = JournalFile(tmp_path, uuid4(), slots=2)
    first, rest = held(), [held() for _ in range(40)]
    early = journal.open_page([first])
    late = journal.open_page(rest)
    early.going(0)
    late.going(39)
    abandon(journal)
    [left] = Shelf(tmp_path).abandoned()
    for row in (first, rest[39]):
        mark = left.mark_of(row)
        assert mark is not None
        assert mark.going
    left.leave()


def test_a_row_in_two_slots_counts_with_the_one_further_on(tmp_path: Path) -> None:
    journal, row = JournalFile(tmp_path, uuid4(), slots=4), held()
    journal.open_page([row]).going(0)
    journal.open_page([row])
    abandon(journal)
    [left] = Shelf(tmp_path).abandoned()
    mark = left.mark_of(row)
    assert mark is not None
    assert mark.going
    left.leave()


def test_the_living_are_not_robbed(tmp_path: Path) -> None:
    journal = JournalFile(tmp_path, uuid4(), slots=1)
    assert Shelf(tmp_path).abandoned() == []
    abandon(journal)
    assert Shelf(tmp_path).dead() == set()
    [taken] = Shelf(tmp_path).abandoned()
    assert Shelf(tmp_path).abandoned() == []
    assert Shelf(tmp_path).dead() == {taken.worker_id}
    taken.leave()
    [again] = Shelf(tmp_path).abandoned()
    assert again.worker_id == taken.worker_id
    assert Shelf(tmp_path).dead() == {taken.worker_id}
    again.discard()
    assert Shelf(tmp_path).dead() == set()
    assert Shelf(tmp_path).abandoned() == []


def test_another_boot_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal, row = JournalFile(tmp_path, uuid4(), slots=1), held()
    journal.open_page([row])
    abandon(journal)
    monkeypatch.setattr("waypost.adapters.journal.shelf.boot_id", uuid4)
    [left] = Shelf(tmp_path).abandoned()
    assert not left.can_be_trusted
    left.leave()


@pytest.mark.parametrize("damage", [b"", b"WAYPOSTJ", bytes(200), b"\xff" * 200])
def test_a_damaged_file_is_not_believed(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / f"{uuid4()}.journal").write_bytes(damage)
    [left] = Shelf(tmp_path).abandoned()
    assert not left.can_be_trusted
    left.discard()


def test_closing_leaves_only_what_could_not_be_settled(tmp_path: Path) -> None:
    settled, unsettled = JournalFile(tmp_path, uuid4(), slots=2), JournalFile(tmp_path, uuid4(), slots=2)
    settled.open_page([held()]).close()
    unsettled.open_page([held()])
    settled.close()
    unsettled.close()
    assert len(list(tmp_path.iterdir())) == 1


def test_strange_files_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "notes.journal").write_text("mine")
    (tmp_path / "other").write_text("mine")
    assert Shelf(tmp_path).abandoned() == []
    assert Shelf(tmp_path / "nowhere").abandoned() == []


def test_it_is_readable_by_nobody_else(tmp_path: Path) -> None:
    folder = tmp_path / "journals"
    journal = JournalFile(folder, uuid4(), slots=1)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert next(folder.iterdir()).stat().st_mode & 0o777 == 0o600
    journal.close()


def test_kill_nine_leaves_the_notes_and_frees_the_lock(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from uuid import UUID
        from waypost.adapters.journal.writer import JournalFile
        from types import SimpleNamespace
        journal = JournalFile(Path(sys.argv[1]), UUID(int=7), slots=16)
        page = journal.open_page([SimpleNamespace(id=UUID(int=number), n=1) for number in range(1, 4)])
        page.going(0)
        page.going(1)
        print("ready", flush=True)
        sys.stdin.read()
        """
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdin is not None
    assert child.stdout.readline() == "ready\n"
    assert Shelf(tmp_path).abandoned() == []
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    child.stdin.close()
    [left] = Shelf(tmp_path).abandoned()
    marks = [left.mark_of(held(UUID(int=number))) for number in range(1, 4)]
    assert [mark.going for mark in marks if mark] == [True, True, False]
    left.discard()


def test_a_host_without_a_boot_id_believes_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout.Path, "read_text", lambda _: (_ for _ in ()).throw(FileNotFoundError()))
    assert layout.boot_id() != layout.boot_id()


def test_a_file_removed_between_opening_and_locking_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = JournalFile(tmp_path, uuid4(), slots=1)
    abandon(journal)
    real = fcntl.flock

    def remove_then_lock(file: int, operation: int) -> None:
        for path in tmp_path.iterdir():
            path.unlink()
        real(file, operation)

    monkeypatch.setattr("waypost.adapters.journal.shelf.fcntl.flock", remove_then_lock)
    assert Shelf(tmp_path).abandoned() == []
    assert list(tmp_path.iterdir()) == []
