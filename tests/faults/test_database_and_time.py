"""The database goes away, a worker loses its lease, the bell falls silent, clocks are wrong."""

import signal
import time
from collections.abc import Callable

import pytest
from benchmarks.chaos.account import Sent, take_account
from benchmarks.chaos.caller import Caller
from benchmarks.chaos.stage import CONNECTIONS, LEASE, Stage, eventually

People = Callable[[int], list[str]]
ACCEPTED, IN_DOUBT = 1, 5
CATEGORIES = ("transactional", "marketing")


def _send(caller: Caller, people: People, many: int) -> dict[str, Sent]:
    return {
        to: Sent(name, category) for category in CATEGORIES for to, name in caller.send(people(many), category).items()
    }


def _finish(stage: Stage, caller: Caller) -> None:
    eventually(lambda: not caller.unfinished(), "an end for all")


def test_a_database_away_for_ten_leases_between_accept_and_settle_doubles_nothing(
    stage: Stage, caller: Caller, people: People
) -> None:
    """The worker knows what was answered and waits with it; the other may not judge it by a lease that could not be
    renewed."""
    stage.sink.behave(hold=True)
    workers = [stage.start_worker(), stage.start_worker()]
    sent = _send(caller, people, 30)
    eventually(lambda: stage.sink.held, "messages on the wire")
    stage.stop_database(signal.SIGINT)
    stage.sink.behave_well()
    time.sleep(10 * LEASE)
    stage.start_database()
    _finish(stage, caller)

    assert all(worker.alive for worker in workers)
    account = take_account(stage, sent, [caller])
    assert account.broken([], 0) == []
    assert account.states == {"dispatched": 60}
    assert account.doubled.total() == account.in_doubt.total() == 0


@pytest.mark.parametrize("lost", [("there",), ("back",), ("there", "back")])
def test_packets_lost_on_the_way_to_the_database_double_nothing(
    stage: Stage, caller: Caller, people: People, lost: tuple[str, ...]
) -> None:
    """The worker can neither settle nor renew its lease, and nobody else is there to judge it."""
    with stage.lossy_line() as (line, url):
        stage.sink.behave(hold=True)
        worker = stage.start_worker(database_url=url, batch_size=20)
        sent = _send(caller, people, 30)
        eventually(lambda: stage.sink.held, "messages on the wire")
        line.lose(*lost)
        stage.sink.behave_well()
        time.sleep(3 * LEASE)
        line.heal()
        _finish(stage, caller)
        assert worker.alive
        stage.stop_workers()

    account = take_account(stage, sent, [caller])
    assert account.broken([], 0) == []
    assert account.states == {"dispatched": 60}
    assert account.doubled.total() == account.in_doubt.total() == 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT, signal.SIGKILL])
def test_a_database_that_is_restarted_under_load_costs_nothing(
    stage: Stage, caller: Caller, people: People, how: signal.Signals
) -> None:
    worker = stage.start_worker(batch_size=20)
    stage.sink.behave(pause=0.01)
    sent = _send(caller, people, 150)
    eventually(lambda: stage.sink.held or stage.sink.copies(), "the first messages")
    stage.stop_database(how)
    stage.start_database()
    stage.sink.behave_well()
    sent |= _send(caller, people, 5)
    _finish(stage, caller)

    assert worker.alive
    account = take_account(stage, sent, [caller])
    assert account.broken([], 0) == []
    assert account.states == {"dispatched": 310}
    assert account.doubled.total() == account.in_doubt.total() == 0


def test_a_worker_that_comes_back_after_its_lease_changes_nothing_but_its_own_attempt(
    stage: Stage, caller: Caller, people: People
) -> None:
    stage.sink.behave(hold=True)
    late = stage.start_worker()
    sent = _send(caller, people, 2)
    letters = {one.notification for one in sent.values() if one.category == "transactional"}
    eventually(lambda: stage.sink.held == CONNECTIONS, "messages on the wire")
    late.signal(signal.SIGSTOP)
    stage.sink.behave_well()
    in_time = stage.start_worker()
    _finish(stage, caller)
    statuses = {name: one["status"] for name, one in caller.all().items()}
    assert {status for name, status in statuses.items() if name in letters} == {"dispatched"}
    assert {status for name, status in statuses.items() if name not in letters} == {"unconfirmed"}

    late.signal(signal.SIGCONT)
    eventually(lambda: all(one["outcome"] == ACCEPTED for one in stage.attempts(caller)), "the truth on every attempt")
    assert {one["status"] for one in caller.all().values()} == {"dispatched"}
    attempts = stage.attempts(caller)
    assert {(one["n"], one["worker_id"]) for one in attempts} == {(1, late.id), (2, in_time.id)}
    assert sum(one["n"] == 2 for one in attempts) == len(letters)
    account = take_account(stage, sent, [caller])
    assert account.broken([], 0) == []
    assert account.doubled == {"transactional": 2, "marketing": 0}


def test_a_worker_that_comes_back_begins_nothing_more(stage: Stage, caller: Caller, people: People) -> None:
    """What it had not put on the wire when its lease ran out is somebody else's by now."""
    stage.sink.behave(hold=True)
    late = stage.start_worker()
    sent = _send(caller, people, 25)
    eventually(lambda: stage.sink.held == CONNECTIONS, "messages on the wire")
    late.signal(signal.SIGSTOP)
    stage.sink.behave_well()
    stage.start_worker()
    _finish(stage, caller)
    late.signal(signal.SIGCONT)
    eventually(
        lambda: all(one["reason"] != "worker_lost" for one in stage.attempts(caller) if one["worker_id"] == late.id),
        "the truth on its attempts",
    )
    _finish(stage, caller)

    account = take_account(stage, sent, [caller])
    assert account.broken([], 0) == []
    assert account.states == {"dispatched": 50}
    assert account.doubled["transactional"] <= CONNECTIONS


def test_a_silent_bell_only_costs_the_time_of_a_poll(stage: Stage, caller: Caller, people: People) -> None:
    worker = stage.start_worker()
    eventually(
        lambda: stage.query(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name in"
            " ('waypost listener', 'waypost bell')"
        ),
        "a bell that can be silenced",
    )
    begun = time.monotonic()
    sent = _send(caller, people, 5)
    _finish(stage, caller)
    assert time.monotonic() - begun < 30
    assert worker.alive
    assert take_account(stage, sent, [caller]).states == {"dispatched": 10}


def test_workers_on_hosts_with_wrong_clocks_do_the_same(stage: Stage, caller: Caller, people: People) -> None:
    slow, fast = stage.start_worker(skew=-600, batch_size=10), stage.start_worker(skew=600, batch_size=10)
    sent = _send(caller, people, 60)
    fast.signal(signal.SIGUSR1)
    slow.signal(signal.SIGUSR2)
    sent |= _send(caller, people, 60)
    _finish(stage, caller)

    account = take_account(stage, sent, [caller])
    assert account.broken([], 0) == []
    assert account.states == {"dispatched": 240}
    assert account.doubled.total() == account.in_doubt.total() == 0
    assert stage.query("select name from waypost.default_partition_rows() where rows > 0") == []
    moments = stage.query("select min(at), max(at), now() from waypost.outbox where tenant_id = $1", caller.tenant_id)
    assert (moments[0]["now"] - moments[0]["min"]).total_seconds() < 120
    spread = stage.count("select count(*) from waypost.claims where opened_at > now() + interval '1 minute'")
    assert spread == 0


def test_a_retry_after_the_clock_jumped_is_neither_early_nor_late(stage: Stage, caller: Caller, people: People) -> None:
    """The host's clock jumps between two heartbeats; what is deferred then still waits at most its minute."""
    worker = stage.start_worker(lease=60)
    [to] = people(1)
    stage.sink.script({to: {"final": b"451 4.3.0 later\r\n"}})
    worker.signal(signal.SIGUSR1)
    caller.send([to])
    [row] = eventually(
        lambda: stage.query(
            "select due - now() as wait from waypost.queue where tenant_id = $1 and attempt = 1", caller.tenant_id
        ),
        "a deferral",
    )
    assert -1 <= row["wait"].total_seconds() <= 61
