"""The pool's side of one render child: start it, ask it, notice its death, read who was to blame."""

import asyncio
import mmap
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, cast

import msgspec

from waypost.adapters.render import wire
from waypost.adapters.render.confinement import NOBODY, PROGRESS_BYTES
from waypost.adapters.render.equipment import Equipment, equipment_named
from waypost.adapters.render.frames import Frames
from waypost.adapters.render.limits import RenderLimits
from waypost.adapters.render.resources import read_resource
from waypost.adapters.render.shelf import Shelf
from waypost.kernel.errors import Unavailable

_START_SECONDS: Final = 30.0
_CLOSE_SECONDS: Final = 2.0
_SOCKET_BUFFER: Final = 1024 * 1024
_FIRST_BUFFER: Final = 4096
_LARGEST_KEPT: Final = 4 * 1024 * 1024
_KEEP_MEMORY: Final = {"MALLOC_TRIM_THRESHOLD_": "33554432", "MALLOC_MMAP_THRESHOLD_": "33554432"}
"""A batch of messages takes a few megabytes. Giving them back after each and taking them again costs more than a third
of the time that rendering takes."""
_OWN_DOING: Final = frozenset(
    {signal.SIGPROF, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE}
)
"""Signals that nobody else sends."""


TakePart = Callable[[memoryview], None]


class ProcessLost(Exception):
    """The child died or stood still. `at` is the item it was working on; `certain` that no other can be to blame."""

    def __init__(self, kind: Literal["timeout", "crash"], at: int | None, *, certain: bool) -> None:
        super().__init__(kind)
        self.kind = kind
        self.at = at
        self.certain = certain


class NotEquipped(Exception):
    """The content needs a library that this child has not loaded. The child is gone."""

    def __init__(self, what: Equipment) -> None:
        super().__init__(what)
        self.what = what


class RenderProcess:
    def __init__(
        self,
        limits: RenderLimits,
        equipment: frozenset[Equipment],
        process: asyncio.subprocess.Process,
        line: "_Line",
        page: mmap.mmap,
    ) -> None:
        self.shelf = Shelf(limits.shelf_bytes)
        self.frames = Frames()
        """Of the contents on the shelf, those that the child has told."""
        self.equipment = equipment
        self.worn = False
        self.answers = 0
        self._limits = limits
        self._process = process
        self._line = line
        self._progress = page
        self._stood_still = False

    @classmethod
    async def start(cls, limits: RenderLimits, equipment: frozenset[Equipment] = frozenset()) -> "RenderProcess":
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_BUFFER)
        with theirs, tempfile.TemporaryFile() as shared:
            shared.truncate(PROGRESS_BYTES)
            page = mmap.mmap(shared.fileno(), PROGRESS_BYTES)
            try:
                process = await _spawn(theirs.fileno(), shared.fileno())
            except BaseException as error:
                ours.close()
                if isinstance(error, OSError):
                    raise Unavailable("No render process can be started.", code="renderer_unavailable") from error
                raise
        _, line = await loop.create_unix_connection(lambda: _Line(limits.frame_bytes), sock=ours)
        child = cls(limits, equipment, process, line, page)
        try:
            await child._exchange(wire.frame(wire.Start(limits, sorted(equipment))), _START_SECONDS)
        except ProcessLost:
            words = await process.stderr.read(4000) if process.stderr else b""
            await child.close()
            reason = words.decode(errors="replace").strip().rpartition("\n")[2]
            raise Unavailable(f"The render process does not start: {reason}", code="renderer_unavailable") from None
        return child

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None and not self._line.is_closed

    async def ask(self, request: bytearray, take_part: TakePart | None = None) -> memoryview:
        """The reply's bytes, to be read before anything else is asked. What the child sends ahead of it is given to
        `take_part`. Raises ProcessLost or NotEquipped; the child is then gone."""
        self.answers += 1
        try:
            return await self._exchange(request, self._limits.wall_seconds, take_part)
        except (ProcessLost, NotEquipped):
            await self.close()
            raise

    async def close(self) -> None:
        """The child leaves by itself when its pipe closes, or is killed."""
        self._line.hang_up()
        await self._end()
        self._progress.close()

    def abandon(self) -> None:
        """For a child that is gone, or whose state nobody knows."""
        self._line.hang_up()
        self._kill()

    async def _exchange(self, request: bytearray, seconds: float, take_part: TakePart | None = None) -> memoryview:
        timer = asyncio.get_running_loop().call_later(seconds, self._give_up)
        try:
            reply = await self._line.ask(request, take_part)
            while (name := wire.wish_in(reply)) is not None:
                if lacking := equipment_named(name):
                    raise NotEquipped(lacking)
                reply = await self._line.ask(wire.grant(read_resource(name)), take_part)
            return reply
        except ConnectionError:
            raise await self._post_mortem() from None
        finally:
            timer.cancel()

    def _give_up(self) -> None:
        self._stood_still = True
        self._kill()

    async def _end(self) -> int:
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                return await self._process.wait()
        except TimeoutError:
            self._kill()
            return await self._process.wait()

    def _kill(self) -> None:
        # Not `Process.kill`: it polls first, which can take the exit status away from those who wait for it.
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)

    async def _post_mortem(self) -> ProcessLost:
        code = await self._end()
        item = int.from_bytes(self._progress[:4], sys.byteorder)
        at = None if item == NOBODY else item
        kind = "timeout" if code == -signal.SIGPROF or self._stood_still else "crash"
        return ProcessLost(kind, at, certain=at is not None and -code in _OWN_DOING)


async def _spawn(pipe: int, page: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-s", "-S", "-P", "-m", "waypost.adapters.render.child", str(pipe), str(page)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        pass_fds=(pipe, page),
        # Nothing of our environment, which may hold secrets; only where the same packages are found.
        env={"PYTHONPATH": _module_path(), "LC_ALL": "C.UTF-8", **_KEEP_MEMORY},
        cwd="/",
        start_new_session=True,
    )


def _module_path() -> str:
    return os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)


class _Line(asyncio.BufferedProtocol):
    """One question, one answer. The answer is received straight into the memory that is decoded, and the next one into
    the same: it is half as fast to take new memory each time."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._transport: asyncio.WriteTransport | None = None
        self._answer: asyncio.Future[memoryview] | None = None
        self._take_part: TakePart | None = None
        self._head = memoryview(bytearray(wire.LENGTH_BYTES))
        self._kept = memoryview(bytearray(_FIRST_BUFFER))
        self._buffer, self._done, self._in_head = self._head, 0, True

    async def ask(self, request: bytearray, take_part: TakePart | None) -> memoryview:
        self._take_part = take_part
        if self._transport is None or self.is_closed:
            raise ConnectionResetError
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    @property
    def is_closed(self) -> bool:
        return self._transport is None or self._transport.is_closing()

    def hang_up(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionResetError())

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer[self._done :]

    def buffer_updated(self, nbytes: int) -> None:
        self._done += nbytes
        if self._done < len(self._buffer):
            return
        if self._in_head:
            self._expect_body(int.from_bytes(self._head, "little"))
        else:
            self._finish()

    def _expect_body(self, size: int) -> None:
        if not 0 < size <= self._most_bytes:
            self.hang_up()
            return
        if size > len(self._kept):
            large = memoryview(bytearray(size))
            self._buffer = large
            if size <= _LARGEST_KEPT:
                self._kept = large
        else:
            self._buffer = self._kept[:size]
        self._done, self._in_head = 0, False

    def _finish(self) -> None:
        answer, body = self._answer, self._buffer
        self._buffer, self._done, self._in_head = self._head, 0, True
        if (part := wire.part_in(body)) is not None:
            self._take(part)
            return
        if answer is not None and not answer.done():
            answer.set_result(body)

    def _take(self, part: memoryview) -> None:
        try:
            if self._take_part is not None:
                self._take_part(part)
        except msgspec.DecodeError:
            self.hang_up()
