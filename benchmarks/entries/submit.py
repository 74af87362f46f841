"""One `POST /v1/notifications` per message to a real API process: how long a call takes, and how many it takes."""

import asyncio
from collections.abc import Callable
from itertools import count as counting
from statistics import quantiles

import msgspec

from benchmarks.http_load import callers, flat_out, steady
from benchmarks.installation import Installation, installed, moment_after
from benchmarks.processes import cpu_of_tree
from benchmarks.results import Entry, Findings, Spread, Step, compared
from benchmarks.sample import CONTENT, address_of, attributes_of
from benchmarks.sinks import free_port

_PER_SECOND = 500
_AT_ONCE = 16
_GOAL_MS = 20.0


class _Calls:
    """Every call sends to another person; each fifth person is new."""

    def __init__(self, house: Installation, port: int) -> None:
        self._numbers = counting()
        self._head = (
            f"POST /v1/notifications HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {house.key}\r\n"
            "Content-Type: application/json\r\n"
        )
        self.health = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
        self._tomorrow = moment_after(86_400).isoformat()
        self._content = {"subject": CONTENT.subject, "html": CONTENT.html, "text": CONTENT.text}

    def send(self, _: int) -> bytes:
        number = next(self._numbers)
        person = number if number % 5 == 0 else number % 500
        to = {"id": f"caller-{person}", "email": address_of(person), "attributes": attributes_of(person)}
        body = msgspec.json.encode({"to": to, "content": self._content, "send_at": self._tomorrow})
        head = f"{self._head}Idempotency-Key: bench-{number}\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body


async def measure(*, quick: bool) -> Findings:
    calls, rounds, at_once = (50, 1, 100) if quick else (2_000, 3, 1_000)
    port = free_port()
    async with installed() as house:
        with house.process("waypost.api", port=port, metrics_port=free_port(), live_port=free_port()) as api:
            await until_ready(port)
            load = _Calls(house, port)
            await _flat_out(port, load.send, 50, expect=202)
            half: list[float] = []
            worst: list[float] = []
            rates: list[float] = []
            constants: list[float] = []
            costs: list[float] = []
            for _ in range(rounds):
                before = cpu_of_tree(api.pid) + house.database_cpu()
                async with callers(port, 50) as many:
                    took = await steady(many, load.send, per_second=_PER_SECOND, count=calls, expect=202)
                costs.append((cpu_of_tree(api.pid) + house.database_cpu() - before) / calls * 1e6)
                cuts = quantiles(took, n=100)
                half.append(cuts[49] * 1e3)
                worst.append(cuts[98] * 1e3)
                rates.append(await _flat_out(port, load.send, at_once, expect=202))
                constants.append(await _flat_out(port, lambda _: load.health, at_once, expect=200))
    return _findings(half, worst, rates, constants, costs)


async def _flat_out(port: int, make: Callable[[int], bytes], count: int, *, expect: int) -> float:
    async with callers(port, _AT_ONCE) as busy:
        return await flat_out(busy, make, count=count, expect=expect)


def _findings(
    half: list[float], worst: list[float], rates: list[float], constants: list[float], costs: list[float]
) -> Findings:
    shown = Spread.of(half)
    single = Entry(
        name="submit",
        what=f"one POST /v1/notifications at {_PER_SECOND}/s, 99th percentile",
        unit="ms",
        ours=Spread.of(worst),
        goal=f"< {_GOAL_MS:g} ms",
        met=Spread.of(worst).middle < _GOAL_MS,
        rounds=len(worst),
        notes=[f"median {shown.middle:.1f} ms ({shown.least:.1f}–{shown.most:.1f})"],
    )
    concurrent = compared(
        name="submit, concurrent",
        what=f"POST /v1/notifications, {_AT_ONCE} callers, one API process",
        unit="calls/s",
        ours=rates,
        reference="the same server answering /healthz",
        theirs=constants,
    )
    steps = [Step("API, its render process and PostgreSQL", Spread.of(costs).middle)]
    return Findings([single, concurrent], {"one POST, CPU per call": steps})


async def until_ready(port: int) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                async with callers(port, 1) as (caller,):
                    if await caller.ask(f"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()) == 200:
                        return
            except OSError:
                pass
            await asyncio.sleep(0.05)
