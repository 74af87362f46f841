"""A way to the database on which packets can be lost, in either direction or in both.

What is lost on the way is sent again by TCP until it gets through, so to both ends it looks like this: silence, and
later everything in its order. Connections that are made meanwhile hang likewise.
"""

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

_AT_ONCE = 65_536


class LossyLine:
    def __init__(self, near: Path, far: Path) -> None:
        """Listens on the socket `near` and passes on to the socket `far`."""
        self._far = far
        self._near = near
        self._loop = asyncio.new_event_loop()
        self._open = {"there": asyncio.Event(), "back": asyncio.Event()}
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._ready = threading.Event()
        self._lines: set[asyncio.Task[None]] = set()
        self._thread.start()
        self._ready.wait()

    def lose(self, *directions: str) -> None:
        """`there`: what is asked; `back`: what is answered."""
        self._do(self._set(directions, passes=False))

    def heal(self) -> None:
        self._do(self._set(tuple(self._open), passes=True))

    def close(self) -> None:
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, what: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._listen())
        self._ready.set()
        self._loop.run_forever()

    async def _listen(self) -> None:
        await self._set(tuple(self._open), passes=True)
        self._server = await asyncio.start_unix_server(self._accept, self._near)

    async def _set(self, directions: tuple[str, ...], *, passes: bool) -> None:
        for name in directions:
            self._open[name].set() if passes else self._open[name].clear()

    async def _end(self) -> None:
        self._server.close()
        for line in self._lines:
            line.cancel()
        await asyncio.gather(*self._lines, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = self._loop.create_task(self._join(reader, writer))
        self._lines.add(line)
        line.add_done_callback(self._lines.discard)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = self._open["there"], self._open["back"]
        try:
            await there.wait()
            far_reader, far_writer = await asyncio.open_unix_connection(self._far)
            try:
                ways = [self._pass_on(reader, far_writer, there), self._pass_on(far_reader, writer, back)]
                # Either end hanging up ends both ways.
                _, left = await asyncio.wait(
                    [asyncio.ensure_future(way) for way in ways], return_when=asyncio.FIRST_COMPLETED
                )
                for way in left:
                    way.cancel()
                await asyncio.gather(*left, return_exceptions=True)
            finally:
                far_writer.close()
        except OSError:
            pass
        finally:
            writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: asyncio.Event) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(_AT_ONCE):
                await way.wait()
                writer.write(data)
                await writer.drain()
