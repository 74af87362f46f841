"""What a stream says, in bytes: the same frames as server-sent events and as WebSocket messages."""

from dataclasses import dataclass
from uuid import UUID

import msgspec

from waypost.api.inbox_shapes import shown_counts, shown_message
from waypost.bootstrap import App
from waypost.inbox.changes import Cursor, Event, EventKind
from waypost.inbox.model import Counts, Visitor
from waypost.inbox.ports import Position
from waypost.kernel import ids
from waypost.kernel.work import Transaction


@dataclass(frozen=True, slots=True)
class Frame:
    kind: str
    data: bytes
    """JSON."""
    cursor: Cursor | None = None
    """How far whoever has got this is; None: no further than before."""
    is_shared: bool = False
    """Handed to everyone: it says nothing about a person's own."""
    is_counts: bool = False
    """Of two, only the one with the later cursor is worth telling."""


def sse(frame: Frame) -> bytes:
    mark = b"" if frame.cursor is None or frame.is_counts else b"id: " + str(frame.cursor).encode() + b"\n"
    return b"event: " + frame.kind.encode() + b"\n" + mark + b"data: " + frame.data + b"\n\n"


def websocket_text(frame: Frame) -> str:
    mark = "" if frame.cursor is None or frame.is_counts else f'"id":"{frame.cursor}",'
    return f'{{"event":"{frame.kind}",{mark}"data":{frame.data.decode()}}}'


def frame_of(event: Event) -> Frame:
    match event.kind:
        case EventKind.MESSAGE | EventKind.CHANGE if event.message is not None:
            data = msgspec.json.encode(shown_message(event.message))
        case EventKind.READ_ALL:
            data = msgspec.json.encode({"before": _shown(event.id), "read_at": event.read_at})
        case EventKind.RESET:
            data = b"{}"
        case _:
            data = msgspec.json.encode({"id": _shown(event.id)})
    return Frame(event.kind.value, data, event.cursor)


def counts_frame(counts: Counts) -> Frame:
    as_of = Cursor(own=counts.own_n, public=counts.public_n)
    return Frame("counts", msgspec.json.encode(shown_counts(counts)), as_of, is_counts=True)


def hello_frame(cursor: Cursor, *, resumed: bool) -> Frame:
    return Frame("hello", b'{"resumed":true}' if resumed else b'{"resumed":false}', cursor)


async def catch_up(app: App, tx: Transaction, visitor: Visitor, inbox_key: str, cursor: Cursor | None) -> list[Frame]:
    """A greeting, all that was missed, and the counts as they are now."""
    position = await app.inbox.changes.position(tx, visitor, inbox_key)
    return await frames_since(app, tx, visitor, inbox_key, position, cursor)


async def frames_since(
    app: App, tx: Transaction, visitor: Visitor, inbox_key: str, position: Position, cursor: Cursor | None
) -> list[Frame]:
    start = cursor or Cursor(own=position.own_n, public=position.public_n)
    frames = [hello_frame(start, resumed=cursor is not None)]
    if cursor is not None:
        events = await app.inbox.changes.since(tx, visitor, inbox_key, position, cursor)
        frames += [frame_of(event) for event in events]
    frames.append(counts_frame(await app.inbox.feed.counts(tx, visitor, inbox_key)))
    return frames


def _shown(message_id: UUID | None) -> str | None:
    return None if message_id is None else ids.show("pst", message_id)
