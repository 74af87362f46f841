"""A cheap HTTP/1.1 client for load: kept connections, one request at a time on each, no more parsing than needed."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import cast


class Caller(asyncio.Protocol):
    def __init__(self) -> None:
        self._buffer = b""
        self._answer: asyncio.Future[int] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    async def ask(self, request: bytes) -> int:
        """The answer's status."""
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

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
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(int(head[9:12]))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("The server hung up."))


@asynccontextmanager
async def callers(port: int, count: int) -> AsyncIterator[list[Caller]]:
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
    tasks: list[asyncio.Task[None]] = []
    idle: asyncio.Queue[Caller] = asyncio.Queue()
    for caller in free:
        idle.put_nowait(caller)
    start = time.perf_counter()

    async def one(number: int, due: float) -> None:
        caller = await idle.get()
        status = await caller.ask(requests[number])
        latencies.append(time.perf_counter() - due)
        idle.put_nowait(caller)
        assert status == expect, status

    for number in range(count):
        due = start + number / per_second
        await asyncio.sleep(max(due - time.perf_counter(), 0))
        tasks.append(asyncio.create_task(one(number, due)))
    await asyncio.gather(*tasks)
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
