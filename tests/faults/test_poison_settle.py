"""A mail server that answers anything but what it should: the batch settles, and each message has its own outcome."""

from collections.abc import Callable

from benchmarks.chaos.caller import Caller
from benchmarks.chaos.stage import Stage, eventually

from waypost.kernel.ids import read

People = Callable[[int], list[str]]
ACCEPTED, DEFERRED, REJECTED, UNREACHABLE, IN_DOUBT = 1, 2, 3, 4, 5

POISON = {
    "nul": ({"final": b"250 2.0.0 queued as \x00\x00evil\x00\r\n"}, {ACCEPTED}),
    "latin": ({"final": b"550 5.1.1 Empf\xe4nger unbekannt \xff\xfe\r\n"}, {REJECTED}),
    "surrogate": ({"final": b"451 4.3.0 \xed\xa0\x80 later\r\n"}, {DEFERRED}),
    "megabyte": ({"final": b"250 " + b"x" * 2**20 + b"\r\n"}, {IN_DOUBT}),
    "endless": ({"final": "endless"}, {IN_DOUBT}),
    "too_many": ({"final": b"250 one\r\n250 two\r\n354 three\r\n"}, {ACCEPTED}),
    "refused_then_wanted": ({"rcpt": b"550 5.1.1 no such user\r\n"}, {REJECTED}),
    "garbage": ({"final": b"\x00\x01\x02 not a reply\r\n"}, {IN_DOUBT}),
    "early": ({"data": b"354 go\r\n250 already taken\r\n"}, {UNREACHABLE, IN_DOUBT}),
}


def test_every_message_of_the_batch_gets_its_own_outcome(stage: Stage, caller: Caller, people: People) -> None:
    poisoned = dict(zip(POISON, people(len(POISON)), strict=True))
    bystanders = people(60)
    stage.sink.script({poisoned[name]: steps for name, (steps, _) in POISON.items()})
    mixed = [*bystanders[:30], *poisoned.values(), *bystanders[30:]]
    sent = caller.send(mixed, "marketing")
    worker = stage.start_worker()

    def outcomes() -> dict[str, list[int | None]]:
        found: dict[str, list[int | None]] = {}
        for one in stage.attempts(caller):
            found.setdefault(str(one["notification_id"]), []).append(one["outcome"])
        return found

    eventually(
        lambda: len(known := outcomes()) == len(mixed) and all(None not in ends for ends in known.values()), "a settle"
    )
    by_address = _by_address(stage, caller, sent)
    # One whose envelope was out on a line that had to be cut was not sent, and says so.
    wrong = {
        name: by_address[to] for name, to in poisoned.items() if by_address[to] not in {*POISON[name][1], UNREACHABLE}
    }
    assert wrong == {}
    assert {by_address[to] for to in bystanders} <= {ACCEPTED, UNREACHABLE}
    stage.hasten([caller.tenant_id])
    eventually(lambda: all(stage.sink.copies()[to] for to in bystanders), "all bystanders' mail")
    eventually(lambda: {caller.all()[sent[to]]["status"] for to in bystanders} == {"dispatched"}, "their end")
    assert all(stage.sink.copies()[to] == 1 for to in bystanders)
    assert worker.alive
    assert "settle_refused" not in stage.log("worker")


def _by_address(stage: Stage, caller: Caller, sent: dict[str, str]) -> dict[str, int]:
    """The outcome of the first attempt."""
    codes = {one["notification_id"]: one["outcome"] for one in stage.attempts(caller) if one["n"] == 1}
    listed = {read("ntf", name): to for to, name in sent.items()}
    return {to: codes[name] for name, to in listed.items()}
