"""How long each part of the talk is waited for: the times of RFC 5321, section 4.5.3.2, to the second."""

import asyncio
import heapq
from collections.abc import Callable

import pytest

from waypost.adapters.vendors.smtp.jobs import Batch, Job
from waypost.adapters.vendors.smtp.options import smtp_options
from waypost.adapters.vendors.smtp.protocol import Connection
from waypost.channels.model import OutcomeKind, OutcomeReason


class Hands:
    """As much of an event loop as a connection uses; its time moves when told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self._timers: list[tuple[float, int, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, call: Callable[[], None]) -> "Timer":
        heapq.heappush(self._timers, (self.now + seconds, id(call), call))
        return Timer(self, call)

    def advance(self, seconds: float) -> None:
        goal = self.now + seconds
        while self._timers and self._timers[0][0] <= goal:
            self.now, _, call = heapq.heappop(self._timers)
            call()
        self.now = goal


class Timer:
    def __init__(self, hands: Hands, call: Callable[[], None]) -> None:
        self._hands, self._call = hands, call

    def cancel(self) -> None:
        self._hands._timers = [one for one in self._hands._timers if one[2] is not self._call]


class Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.over = False

    def write(self, data: bytes) -> None:
        self.written += data

    def abort(self) -> None:
        self.over = True

    def close(self) -> None:
        self.over = True


class Pool:
    """One job, and nothing after it."""

    def next_job(self) -> None: ...
    def job_ahead(self) -> None: ...
    def is_free(self, connection: Connection) -> None: ...
    def has_ended(self, connection: Connection) -> None: ...
    def is_gone(self, connection: Connection) -> None: ...

    def give_back(self, job: Job, reason: OutcomeReason) -> None:
        raise AssertionError("nothing is given back here")


@pytest.fixture
async def talk(wire, mail):
    """`talk(pipelining, body)`: a connection that has just begun a message."""

    def begin(*, pipelining: bool = False, body: str = "Hello\r\n") -> tuple[Hands, Connection, Transport]:
        hands, transport = Hands(), Transport()
        connection = Connection(Pool(), smtp_options("smtp://x.example?tls=off"), hands)
        connection.connection_made(transport)
        connection.features.pipelining = pipelining
        done = asyncio.get_running_loop().create_future()
        connection.begin(Job(Batch([mail()], wire, done), 0, mail(body=body)))
        return hands, connection, transport

    return begin


def gives_up_after(hands: Hands, transport: Transport, seconds: float) -> None:
    hands.advance(seconds - 1)
    assert not transport.over, f"patience ended before {seconds} s"
    hands.advance(2)
    assert transport.over, f"patience did not end after {seconds} s"


@pytest.mark.parametrize(
    ("replies", "seconds", "kind"),
    [
        ([], 300, OutcomeKind.UNREACHABLE),
        ([b"250 ok\r\n"], 300, OutcomeKind.UNREACHABLE),
        ([b"250 ok\r\n", b"250 ok\r\n"], 120, OutcomeKind.UNREACHABLE),
        ([b"250 ok\r\n", b"250 ok\r\n", b"354 go\r\n"], 600, OutcomeKind.IN_DOUBT),
    ],
    ids=["MAIL", "RCPT", "DATA", "final dot"],
)
async def test_each_command_has_its_own_patience(talk, wire, replies, seconds, kind) -> None:
    hands, connection, transport = talk()
    for reply in replies:
        hands.advance(100)
        connection.data_received(reply)
    gives_up_after(hands, transport, seconds)
    assert (wire.outcomes[0].kind, wire.outcomes[0].reason) == (kind, OutcomeReason.TIMEOUT)


async def test_a_drip_of_bytes_does_not_buy_time(talk, wire) -> None:
    hands, connection, transport = talk(pipelining=True)
    connection.data_received(b"250 ok\r\n250 ok\r\n354 go\r\n")
    for byte in b"250-still thinking\r\n" * 29:
        connection.data_received(bytes([byte]))
        hands.advance(1)
    assert not transport.over
    hands.advance(25)
    assert transport.over
    assert wire.outcomes[0].kind is OutcomeKind.IN_DOUBT


async def test_a_block_that_is_not_taken(talk, wire) -> None:
    hands, connection, transport = talk(body=("x" * 70 + "\r\n") * 10_000)
    connection.data_received(b"250 ok\r\n")
    connection.data_received(b"250 ok\r\n")
    connection.pause_writing()
    connection.data_received(b"354 go\r\n")
    gives_up_after(hands, transport, 180)
    assert (wire.outcomes[0].kind, wire.outcomes[0].reason) == (OutcomeKind.UNREACHABLE, OutcomeReason.TIMEOUT)


async def test_an_idle_connection_says_goodbye_after_a_while(talk, wire) -> None:
    hands, connection, transport = talk(pipelining=True)
    connection.data_received(b"250 ok\r\n250 ok\r\n354 go\r\n")
    connection.data_received(b"250 taken\r\n")
    assert wire.outcomes[0].kind is OutcomeKind.ACCEPTED
    hands.advance(29)
    assert not transport.written.endswith(b"QUIT\r\n")
    hands.advance(2)
    assert transport.written.endswith(b"QUIT\r\n")
    connection.data_received(b"221 bye\r\n")
    assert transport.over
