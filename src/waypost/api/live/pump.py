"""One stream, from its greeting to its end: looks when told to, sends what it is owed, proves itself now and then."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from waypost.api.live.hub import Hub, Subscription
from waypost.api.live.wire import Frame, counts_frame, frame_of, frames_since
from waypost.bootstrap import App
from waypost.inbox.changes import Cursor
from waypost.inbox.model import Visitor
from waypost.inbox.ports import Position
from waypost.inbox.visitors import claimed_tenant
from waypost.kernel.errors import NotFound, Unauthenticated, Unavailable

Send = Callable[[Frame], Awaitable[None]]
Beat = Callable[[], Awaitable[None]]
SEND_SECONDS: Final = 15.0
"""Whoever does not read for so long is let go; the last event's id brings them back without loss."""
_LATER_SECONDS: Final = 1.0


async def enter(app: App, token: str, origin: str | None, inbox_key: str) -> tuple[Visitor, Position]:
    """Who it is, and where their feed stands. Refuses like any other call."""
    async with app.work.begin(claimed_tenant(token)) as tx:
        try:
            visitor = await app.inbox.visitors.open_in(tx, token, reading=True)
        except NotFound:
            raise Unauthenticated("The token is missing, unknown or void.", code="invalid_token") from None
        await app.inbox.visitors.check_origin(tx, origin, own=app.settings.api_url)
        return visitor, await app.inbox.changes.position(tx, visitor, inbox_key)


class Pump:
    def __init__(self, app: App, hub: Hub, stream: Subscription, *, send: Send, beat: Beat) -> None:
        self._app = app
        self._hub = hub
        self._stream = stream
        self._send = send
        self._beat = beat

    async def run(self, since: Cursor | None) -> None:
        """Until the token runs out, is void, or whoever reads is gone."""
        stream = self._stream
        async with self._hub.turn, self._app.work.begin(stream.visitor.tenant_id) as tx:
            position = await self._app.inbox.changes.position(tx, stream.visitor, stream.inbox_key)
            frames = await frames_since(self._app, tx, stream.visitor, stream.inbox_key, position, since)
        await self._send_all(frames)
        while not stream.is_over:
            await stream.wake.wait()
            stream.wake.clear()
            try:
                await self._turn()
            except Unavailable:
                await self._app.clock.sleep(_LATER_SECONDS)
                stream.look()

    async def _turn(self) -> None:
        stream = self._stream
        if stream.must_prove:
            await self._prove()
        if stream.must_look:
            stream.must_look = False
            await self._look()
        while stream.queue:
            await self._send_all([stream.queue.popleft()])
        if stream.must_beat:
            stream.must_beat = False
            async with asyncio.timeout(SEND_SECONDS):
                await self._beat()

    async def _prove(self) -> None:
        stream = self._stream
        try:
            async with self._hub.turn, self._app.work.begin(stream.visitor.tenant_id) as tx:
                await self._app.inbox.visitors.open_in(tx, stream.token, reading=True)
            stream.must_prove = False
        except Unauthenticated:
            stream.end()

    async def _look(self) -> None:
        stream = self._stream
        if stream.is_over:
            return
        try:
            async with self._hub.turn, self._app.work.begin(stream.visitor.tenant_id) as tx:
                position = await self._app.inbox.changes.position(tx, stream.visitor, stream.inbox_key)
                events = await self._app.inbox.changes.since(
                    tx, stream.visitor, stream.inbox_key, position, stream.cursor
                )
                counts = await self._app.inbox.feed.counts(tx, stream.visitor, stream.inbox_key)
        except NotFound:
            stream.end()
            return
        except Unavailable:
            stream.must_look = True
            raise
        await self._send_all([*(frame_of(event) for event in events), counts_frame(counts)])

    async def _send_all(self, frames: Sequence[Frame]) -> None:
        for frame in frames:
            if (fresh := self._fresh(frame)) is not None:
                async with asyncio.timeout(SEND_SECONDS):
                    await self._send(fresh)

    def _fresh(self, frame: Frame) -> Frame | None:
        """As this stream is to get it; None for what it has had."""
        stream, given = self._stream, frame.cursor
        if given is None:
            return frame
        if frame.is_counts:
            return frame if self._are_news(frame.data, given) else None
        if frame.is_shared:
            if given.public <= stream.cursor.public:
                return None
            given = Cursor(own=stream.cursor.own, public=given.public)
        stream.cursor = given
        return Frame(frame.kind, frame.data, given)

    def _are_news(self, counts: bytes, as_of: Cursor) -> bool:
        """Counts that were made for everyone may come after later ones that this stream made for itself."""
        stream, had = self._stream, self._stream.counts_as_of
        if as_of.own < had.own or as_of.public < had.public or counts == stream.counts:
            return False
        stream.counts, stream.counts_as_of = counts, as_of
        return True
