"""A cheap HTTP/1.1 client for load: kept connections, one request at a time on each, no more parsing than needed."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import cast


class Caller(asyncio.Protocol):
    def __init__(self) -> None:
        self._buffer = b""
        self._answered: Callable[[int | Exception], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def post(self, request: bytes, answered: Callable[[int | Exception], None]) -> None:
        """`answered` is told the answer's status."""
        self._answered = answered
        self._transport.write(request)

    async def ask(self, request: bytes) -> int:
        """The answer's status."""
        told: asyncio.Future[int | Exception] = asyncio.get_running_loop().create_future()
        self.post(request, lambda answer: None if told.done() else told.set_result(answer))
        answer = await told
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, ended, body = self._buffer.partition(b"\r\n\r\n")
        if not ended:
            return
        # Our server writes names in lower case.
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
        if len(body) < length:
            return
        self._buffer = body[length:]
        self._tell(int(head[9:12]))

    def connection_lost(self, exc: Exception | None) -> None:
        self._tell(exc or ConnectionResetError("The server hung up."))

    def _tell(self, answer: int | Exception) -> None:
        answered, self._answered = self._answered, None
        if answered is not None:
            answered(answer)


@asynccontextmanager
async def callers(port: int, count: int) -> AsyncGenerator[list[Caller]]:
    loop = asyncio.get_running_loop()
    opened = [(await loop.create_connection(Caller, "127.0.0.1", port))[1] for _ in range(count)]
    try:
        yield opened
    finally:
        for caller in opened:
            caller.close()


async def steady(
    free: list[Caller], make: Callable[[int], bytes], *, per_second: float, count: int, expect: int
) -> list[float]:
    """Requests begin by the clock whatever the server does; a latency counts from when its request was due. They are
    written before the first is: who measures must not take the time that is measured."""
    requests = [make(number) for number in range(count)]
    latencies: list[float] = []
    idle = deque(free)
    behind: deque[tuple[bytes, float]] = deque()
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def post(request: bytes, due: float) -> None:
        caller = idle.popleft()
        caller.post(request, lambda answer: take(caller, due, answer))

    def take(caller: Caller, due: float, answer: int | Exception) -> None:
        latencies.append(time.perf_counter() - due)
        idle.append(caller)
        if answer != expect and not ended.done():
            ended.set_exception(answer if isinstance(answer, Exception) else AssertionError(answer))
        if behind:
            post(*behind.popleft())
        elif len(latencies) == count and not ended.done():
            ended.set_result(None)

    start = time.perf_counter()
    for number, request in enumerate(requests):
        due = start + number / per_second
        await asyncio.sleep(max(due - time.perf_counter(), 0))
        # The loop's clock may wake us half a millisecond too early.
        behind.append((request, min(due, time.perf_counter())))
        if idle:
            post(*behind.popleft())
    await ended
    return latencies


async def flat_out(busy: list[Caller], make: Callable[[int], bytes], *, count: int, expect: int) -> float:
    """Requests per second, every connection asking as soon as it is answered."""
    requests = iter([make(number) for number in range(count)])

    async def one(caller: Caller) -> None:
        for request in requests:
            status = await caller.ask(request)
            assert status == expect, status

    begun = time.perf_counter()
    await asyncio.gather(*(one(caller) for caller in busy))
    return count / (time.perf_counter() - begun)
