"""Who is connected to this process, and who of them is told what.

News for everyone is read from the database once and handed to all; news for one person is read by their own stream.
A stream is never sent into faster than it reads: what does not fit its queue is dropped, and it looks for itself.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import Final
from uuid import UUID

import structlog

from waypost.api.live.wire import Frame, counts_frame, frame_of
from waypost.bootstrap import App
from waypost.inbox.changes import Cursor, Event
from waypost.inbox.model import Visitor
from waypost.inbox.ports import Position, Ringing
from waypost.kernel.errors import WaypostError

_log: Final = structlog.stdlib.get_logger()
BEAT_SECONDS: Final = 20.0
_PROVE_EVERY_BEATS: Final = 15
_LONGEST_QUEUE: Final = 256
_COUNTED_AT_ONCE: Final = 500
_COUNTS_APART: Final = 0.5
_AT_ONCE: Final = 4
"""Streams at the database at a time: the API's own requests come first."""


class Subscription:
    """One stream: what it is owed, and how far it is."""

    __slots__ = (
        "beats",
        "counts",
        "counts_as_of",
        "cursor",
        "inbox_key",
        "is_over",
        "must_beat",
        "must_look",
        "must_prove",
        "position",
        "queue",
        "token",
        "visitor",
        "wake",
    )

    def __init__(self, *, visitor: Visitor, token: str, inbox_key: str, position: Position) -> None:
        self.visitor = visitor
        self.token = token
        self.inbox_key = inbox_key
        self.position = position
        self.cursor = Cursor(own=position.own_n, public=position.public_n)
        self.queue: deque[Frame] = deque()
        self.wake = asyncio.Event()
        self.counts = b""
        self.counts_as_of = Cursor(own=0, public=0)
        self.must_look = False
        self.must_prove = False
        self.must_beat = False
        self.is_over = False
        self.beats = 0

    def look(self) -> None:
        self.must_look = True
        self.wake.set()

    def push(self, frame: Frame) -> None:
        if len(self.queue) >= _LONGEST_QUEUE:
            self.queue.clear()
            self.must_look = True
        else:
            self.queue.append(frame)
        self.wake.set()

    def end(self) -> None:
        self.is_over = True
        self.wake.set()


class Room:
    """Everyone of this process who is connected to one inbox."""

    def __init__(self, tenant_id: str, inbox_key: str, public_n: int) -> None:
        self.tenant_id = tenant_id
        self.inbox_key = inbox_key
        self.public_n = public_n
        self.people: dict[UUID, set[Subscription]] = {}
        self.has_news = False
        self.teller: asyncio.Task[None] | None = None

    def everyone(self) -> Iterable[Subscription]:
        return [one for streams in self.people.values() for one in streams]


class Hub:
    def __init__(self, app: App) -> None:
        self._app = app
        self._rooms: dict[UUID, Room] = {}
        self._ear: asyncio.Task[None] | None = None
        self._beat: asyncio.Task[None] | None = None
        self.turn = asyncio.Semaphore(_AT_ONCE)
        self.open = 0

    def join(self, stream: Subscription) -> None:
        """From now on it hears what happens. The first who joins makes this process listen."""
        if self._ear is None or self._ear.done():
            self._ear = asyncio.create_task(self._app.inbox.ear.listen(self.heard))
        if self._beat is None or self._beat.done():
            self._beat = asyncio.create_task(self._keep_beating())
        position = stream.position
        room = self._rooms.get(position.inbox_id)
        if room is None:
            room = Room(stream.visitor.tenant_id, stream.inbox_key, position.public_n)
            self._rooms[position.inbox_id] = room
        room.people.setdefault(stream.visitor.recipient_id, set()).add(stream)
        self.open += 1
        self._app.inbox.ear.arrived(stream.visitor.tenant_id, stream.visitor.recipient_id)

    def leave(self, stream: Subscription) -> None:
        room = self._rooms.get(stream.position.inbox_id)
        streams = room.people.get(stream.visitor.recipient_id) if room is not None else None
        if room is None or streams is None or stream not in streams:
            return
        streams.remove(stream)
        self.open -= 1
        self._app.inbox.ear.left(stream.visitor.tenant_id, stream.visitor.recipient_id)
        if not streams:
            del room.people[stream.visitor.recipient_id]
        if not room.people:
            del self._rooms[stream.position.inbox_id]

    async def close(self) -> None:
        tasks = [task for task in (self._ear, self._beat) if task is not None]
        tasks += [room.teller for room in self._rooms.values() if room.teller is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for room in self._rooms.values():
            for stream in room.everyone():
                stream.end()

    def heard(self, ringing: Ringing) -> None:
        if ringing.is_gap:
            for room in self._rooms.values():
                who = ringing.recipient_id
                self._look(room.everyone() if who is None else room.people.get(who, ()))
        elif ringing.inbox_id is None:
            for room in self._rooms.values():
                for stream in room.people.get(ringing.recipient_id or UUID(int=0), ()):
                    stream.must_prove = True
                    stream.look()
        elif (room := self._rooms.get(ringing.inbox_id)) is not None:
            if ringing.is_public:
                self._tell(room, ringing.inbox_id)
            elif ringing.recipient_id is None:
                self._look(room.everyone())
            else:
                self._look(room.people.get(ringing.recipient_id, ()))

    def _look(self, streams: Iterable[Subscription]) -> None:
        for stream in streams:
            stream.look()

    def _tell(self, room: Room, inbox_id: UUID) -> None:
        room.has_news = True
        if room.teller is None or room.teller.done():
            room.teller = asyncio.create_task(self._tell_everyone(room, inbox_id))

    async def _tell_everyone(self, room: Room, inbox_id: UUID) -> None:
        while room.has_news and room.people:
            room.has_news = False
            try:
                await self._news_for_everyone(room, inbox_id)
                await self._counts_for_everyone(room)
            except WaypostError as error:
                # The database is away; the ear notices too and has everybody look once it is back.
                _log.warning("stream waits", action="stream_waits", cause=error.code)
                self._look(room.everyone())
            await self._app.clock.sleep(_COUNTS_APART)

    async def _news_for_everyone(self, room: Room, inbox_id: UUID) -> None:
        async with self.turn, self._app.work.begin(room.tenant_id) as tx:
            found = await self._app.inbox.changes.for_everyone(tx, inbox_id, room.public_n)
        if found is None:
            self._look(room.everyone())
            return
        room.public_n, events = found
        told = [(event, replace(frame_of(event), is_shared=True)) for event in events]
        for stream in room.everyone():
            for event, frame in told:
                if _concerns(stream, event):
                    stream.push(frame)

    async def _counts_for_everyone(self, room: Room) -> None:
        people = list(room.people)
        for start in range(0, len(people), _COUNTED_AT_ONCE):
            some = people[start : start + _COUNTED_AT_ONCE]
            async with self.turn, self._app.work.begin(room.tenant_id) as tx:
                counted = await self._app.inbox.feed.counts_of(tx, room.inbox_key, some)
            for recipient_id, counts in counted.items():
                frame = counts_frame(counts)
                for stream in room.people.get(recipient_id, ()):
                    stream.push(frame)

    async def _keep_beating(self) -> None:
        while True:
            await self._app.clock.sleep(BEAT_SECONDS)
            now = self._app.clock.now()
            for room in list(self._rooms.values()):
                for stream in room.everyone():
                    stream.beats += 1
                    stream.must_beat = True
                    stream.must_prove |= stream.beats % _PROVE_EVERY_BEATS == 0
                    stream.is_over |= stream.visitor.expires_at <= now
                    stream.wake.set()


def _concerns(stream: Subscription, event: Event) -> bool:
    return event.cursor.public > stream.cursor.public and (event.id is None or event.id >= stream.position.visible_from)
