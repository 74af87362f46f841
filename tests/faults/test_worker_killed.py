"""A worker is killed, and nothing of what it leaves depends on luck: only what was on the wire is in doubt."""

import signal
from collections.abc import Callable

from benchmarks.chaos.caller import Caller
from benchmarks.chaos.stage import CONNECTIONS, Stage, eventually

People = Callable[[int], list[str]]
ACCEPTED, IN_DOUBT = 1, 5


def _finished(caller: Caller) -> bool:
    return not caller.unfinished()


def _statuses(caller: Caller, sent: dict[str, str]) -> dict[str, str]:
    known = caller.all()
    return {address: known[name]["status"] for address, name in sent.items()}


def test_transactional_in_doubt_is_sent_again_under_the_same_name(stage: Stage, caller: Caller, people: People) -> None:
    stage.sink.behave(hold=True)
    worker = stage.start_worker()
    sent = caller.send(people(40))
    eventually(lambda: stage.sink.held == CONNECTIONS, "messages on the wire")
    worker.kill()
    on_the_wire = {to for to in sent if stage.sink.copies()[to]}
    stage.sink.behave_well()
    stage.start_worker()
    eventually(lambda: _finished(caller), "an end for all")

    assert set(_statuses(caller, sent).values()) == {"dispatched"}
    copies = stage.sink.copies()
    assert {to for to in sent if copies[to] == 2} == on_the_wire
    assert len(on_the_wire) == CONNECTIONS
    assert all(copies[to] == 1 for to in sent if to not in on_the_wire)
    names = stage.sink.names()
    assert all(len(names[to]) == 1 for to in sent)
    doubts = [one for one in stage.attempts(caller) if one["outcome"] == IN_DOUBT]
    assert len(doubts) == CONNECTIONS
    assert {one["reason"] for one in doubts} == {"worker_lost"}


def test_marketing_in_doubt_is_never_sent_again(stage: Stage, caller: Caller, people: People) -> None:
    stage.sink.behave(hold=True)
    worker = stage.start_worker()
    sent = caller.send(people(40), "marketing")
    eventually(lambda: stage.sink.held == CONNECTIONS, "messages on the wire")
    worker.kill()
    on_the_wire = {to for to in sent if stage.sink.copies()[to]}
    stage.sink.behave_well()
    stage.start_worker()
    eventually(lambda: _finished(caller), "an end for all")

    statuses = _statuses(caller, sent)
    assert {to for to, status in statuses.items() if status == "unconfirmed"} == on_the_wire
    assert {status for to, status in statuses.items() if to not in on_the_wire} == {"dispatched"}
    assert all(stage.sink.copies()[to] == 1 for to in sent)


def test_a_worker_killed_before_the_wire_leaves_no_doubt(stage: Stage, caller: Caller, people: People) -> None:
    stage.sink.behave(greeting=False)
    worker = stage.start_worker()
    sent = {category: caller.send(people(20), category) for category in ("transactional", "marketing")}
    eventually(lambda: len(stage.attempts(caller)) == 40, "a claim of all")
    eventually(lambda: stage.sink.lines == CONNECTIONS, "callers who wait for a greeting")
    worker.kill()
    stage.sink.behave_well()
    stage.start_worker()
    eventually(lambda: _finished(caller), "an end for all")

    assert {one["status"] for one in caller.all().values()} == {"dispatched"}
    assert all(stage.sink.copies()[to] == 1 for category in sent.values() for to in category)
    assert {(one["n"], one["outcome"]) for one in stage.attempts(caller)} == {(1, ACCEPTED)}


def test_what_was_answered_is_known_though_it_was_never_settled(stage: Stage, caller: Caller, people: People) -> None:
    with stage.locked("outbox"):
        worker = stage.start_worker()
        sent = {category: caller.send(people(20), category) for category in ("transactional", "marketing")}
        eventually(lambda: sum(stage.sink.copies()[to] for all_ in sent.values() for to in all_) == 40, "all taken")
        eventually(lambda: stage.waits_for("outbox"), "a settlement that waits")
        worker.kill()
    stage.start_worker()
    eventually(lambda: _finished(caller), "an end for all")

    assert {one["status"] for one in caller.all().values()} == {"dispatched"}
    assert all(stage.sink.copies()[to] == 1 for category in sent.values() for to in category)
    assert {(one["n"], one["outcome"]) for one in stage.attempts(caller)} == {(1, ACCEPTED)}


def test_without_its_journal_everything_a_worker_held_is_in_doubt(stage: Stage, caller: Caller, people: People) -> None:
    """As it is for a worker of another host: the lease must run out, and the rule of the category decides."""
    stage.sink.behave(hold=True)
    worker = stage.start_worker()
    sent = {category: caller.send(people(8), category) for category in ("transactional", "marketing")}
    eventually(lambda: len(stage.attempts(caller)) == 16, "a claim of all")
    eventually(lambda: stage.sink.held == CONNECTIONS, "messages on the wire")
    worker.kill()
    for journal in stage.journals:
        journal.unlink()
    stage.sink.behave_well()
    stage.start_worker()
    eventually(lambda: _finished(caller), "an end for all")

    assert set(_statuses(caller, sent["transactional"]).values()) == {"dispatched"}
    assert set(_statuses(caller, sent["marketing"]).values()) == {"unconfirmed"}
    assert all(stage.sink.copies()[to] <= 1 for to in sent["marketing"])
    assert all(len(stage.sink.names()[to]) == 1 for to in sent["transactional"])


def test_a_killed_render_child_costs_no_message(stage: Stage, caller: Caller, people: People) -> None:
    worker = stage.start_worker()
    sent = caller.send(people(100))
    for _ in range(5):
        for child in stage.children_of(worker):
            child.send_signal(signal.SIGKILL)
        sent |= caller.send(people(100))
    eventually(lambda: _finished(caller), "an end for all")

    assert set(_statuses(caller, sent).values()) == {"dispatched"}
    assert all(stage.sink.copies()[to] == 1 for to in sent)
    assert worker.alive
