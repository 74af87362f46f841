"""The two things a batch of jobs can ask for: rendered parts, or finished messages."""

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

import msgspec

from waypost.adapters.render import wire
from waypost.adapters.render.frames import Frames
from waypost.adapters.render.plain_book import PlainBook
from waypost.adapters.render.plain_mail import PlainMail
from waypost.adapters.render.plain_parts import PlainParts
from waypost.adapters.render.sheet import FillableSheet
from waypost.adapters.render.shelf import Plan
from waypost.adapters.render.skeleton import Frame, Untrue
from waypost.channels.rules import is_wire_safe
from waypost.templates.ports import RenderedParts, RenderFailure, RenderJob

Result = TypeVar("Result", covariant=True)
Asked = Sequence[tuple[int, RenderJob]]
"""Jobs with the slots of their contents."""
_UNTRUE: Final = RenderFailure(code="render_failed", message="What was rendered is no message.")

_render_decoder: Final = msgspec.msgpack.Decoder(wire.RenderReply)
_compose_decoder: Final = msgspec.msgpack.Decoder(wire.ComposeReply)
_rendered_decoder: Final = msgspec.msgpack.Decoder(list[RenderedParts | wire.Told | wire.Failed])
_composed_decoder: Final = msgspec.msgpack.Decoder(list[bytes | wire.Said | wire.Failed])


class Errand(Protocol[Result]):
    def ask(self, plan: Plan, jobs: Sequence[RenderJob]) -> wire.Ask: ...

    def read_part(self, part: memoryview, asked: Asked, frames: Frames) -> Sequence[Result | RenderFailure]:
        """Results that were sent ahead. `asked` are the jobs that had no answer yet."""
        ...

    def read(
        self, reply: memoryview, asked: Asked, frames: Frames
    ) -> tuple[wire.Toll, Sequence[Result | RenderFailure]]:
        """What it cost, and the results, perhaps fewer than asked for."""
        ...


class RenderParts:
    """Keeps in the book what is told of contents that only print values."""

    def __init__(self, book: PlainBook[PlainParts], most: int) -> None:
        self._book = book
        self._most = most

    def ask(self, plan: Plan, jobs: Sequence[RenderJob]) -> wire.Ask:
        items = [(slot, job.context, job.locale, job.timezone) for slot, job in zip(plan.slots, jobs, strict=True)]
        return wire.RenderAsk(plan.forget, plan.learn, items)

    def read_part(self, part: memoryview, asked: Asked, frames: Frames) -> Sequence[RenderedParts | RenderFailure]:
        return self._parts(_rendered_decoder.decode(part), asked, frames)

    def read(
        self, reply: memoryview, asked: Asked, frames: Frames
    ) -> tuple[wire.Toll, Sequence[RenderedParts | RenderFailure]]:
        answer = _render_decoder.decode(reply)
        return answer.toll, self._parts(answer.results, asked, frames)

    def _parts(
        self, results: Sequence[wire.Told | RenderedParts | wire.Failed], asked: Asked, frames: Frames
    ) -> list[RenderedParts | RenderFailure]:
        parts: list[RenderedParts | RenderFailure] = []
        for result, (slot, job) in zip(results, asked, strict=False):
            if isinstance(result, wire.Told):
                try:
                    parts.append(self._filled(result, slot, job, frames))
                except (Untrue, KeyError):
                    parts.append(_UNTRUE)
            else:
                parts.append(_failure(result) if isinstance(result, wire.Failed) else result)
        return parts

    def _filled(self, told: wire.Told, slot: int, job: RenderJob, frames: Frames) -> RenderedParts:
        if told.sheet is not None:
            sheet = frames.sheets[slot] = FillableSheet(told.sheet)
            if told.recipe is not None:
                frames.plain_parts[slot] = PlainParts(sheet, told.recipe, self._most)
        parts = frames.sheets[slot].filled(told.subject, told.values)
        if (plain := frames.plain_parts.get(slot)) is not None:
            self._book.keep(job, plain)
        return parts


class ComposeMail:
    """Keeps in the book what is told of contents that only print values."""

    def __init__(self, book: PlainBook[PlainMail]) -> None:
        self._book = book

    def ask(self, plan: Plan, jobs: Sequence[RenderJob]) -> wire.Ask:
        items: list[wire.ComposeItem] = []
        for slot, job in zip(plan.slots, jobs, strict=True):
            if job.head is None:
                raise ValueError("a job to compose needs a head")
            items.append((slot, job.context, job.locale, job.timezone, job.head))
        return wire.ComposeAsk(plan.forget, plan.learn, items)

    def read_part(self, part: memoryview, asked: Asked, frames: Frames) -> Sequence[bytes | RenderFailure]:
        return self._messages(_composed_decoder.decode(part), asked, frames)

    def read(
        self, reply: memoryview, asked: Asked, frames: Frames
    ) -> tuple[wire.Toll, Sequence[bytes | RenderFailure]]:
        answer = _compose_decoder.decode(reply)
        return answer.toll, self._messages(answer.results, asked, frames)

    def _messages(
        self, results: Sequence[wire.Said | bytes | wire.Failed], asked: Asked, frames: Frames
    ) -> list[bytes | RenderFailure]:
        """Content is untrusted where these were made: what could end early, and let its rest be read as commands, is no
        message."""
        messages: list[bytes | RenderFailure] = []
        for result, (slot, job) in zip(results, asked, strict=False):
            if isinstance(result, wire.Said):
                try:
                    messages.append(self._filled(result, slot, job, frames))
                except (Untrue, KeyError):
                    messages.append(_UNTRUE)
            elif isinstance(result, bytes):
                messages.append(result if is_wire_safe(result) else _UNTRUE)
            else:
                messages.append(_failure(result))
        return messages

    def _filled(self, said: wire.Said, slot: int, job: RenderJob, frames: Frames) -> bytes:
        if said.skeleton is not None:
            frame = frames.mails[slot] = Frame(said.skeleton)
            if said.recipe is not None:
                key = None if job.instrument is None else job.instrument.key
                frames.plain_mails[slot] = PlainMail(frame, said.recipe, key)
        message = frames.mails[slot].filled(said.said)
        if (plain := frames.plain_mails.get(slot)) is not None:
            self._book.keep(job, plain)
        return message


def _failure(failed: wire.Failed) -> RenderFailure:
    return RenderFailure(code=failed.code, message=failed.message, pointer=failed.pointer)
