"""The two things a batch of jobs can ask for: rendered parts, or finished messages."""

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

import msgspec

from waypost.adapters.render import wire
from waypost.adapters.render.frames import Frames
from waypost.adapters.render.sheet import FillableSheet
from waypost.adapters.render.shelf import Plan
from waypost.adapters.render.skeleton import Frame, Untrue
from waypost.channels.rules import is_wire_safe
from waypost.templates.ports import RenderedParts, RenderFailure, RenderJob

Result = TypeVar("Result", covariant=True)
_UNTRUE: Final = RenderFailure(code="render_failed", message="What was rendered is no message.")

_render_decoder: Final = msgspec.msgpack.Decoder(wire.RenderReply)
_compose_decoder: Final = msgspec.msgpack.Decoder(wire.ComposeReply)
_rendered_decoder: Final = msgspec.msgpack.Decoder(list[RenderedParts | wire.Told | wire.Failed])
_composed_decoder: Final = msgspec.msgpack.Decoder(list[bytes | wire.Said | wire.Failed])


class Errand(Protocol[Result]):
    def ask(self, plan: Plan, jobs: Sequence[RenderJob]) -> wire.Ask: ...

    def read_part(self, part: memoryview, slots: Sequence[int], frames: Frames) -> Sequence[Result | RenderFailure]:
        """Results that were sent ahead. `slots` are those of the jobs that had no answer yet."""
        ...

    def read(
        self, reply: memoryview, slots: Sequence[int], frames: Frames
    ) -> tuple[wire.Toll, Sequence[Result | RenderFailure]]:
        """What it cost, and the results, perhaps fewer than asked for."""
        ...


class RenderParts:
    def ask(self, plan: Plan, jobs: Sequence[RenderJob]) -> wire.Ask:
        items = [(slot, job.context, job.locale, job.timezone) for slot, job in zip(plan.slots, jobs, strict=True)]
        return wire.RenderAsk(plan.forget, plan.learn, items)

    def read_part(
        self, part: memoryview, slots: Sequence[int], frames: Frames
    ) -> Sequence[RenderedParts | RenderFailure]:
        return _parts(_rendered_decoder.decode(part), slots, frames)

    def read(
        self, reply: memoryview, slots: Sequence[int], frames: Frames
    ) -> tuple[wire.Toll, Sequence[RenderedParts | RenderFailure]]:
        answer = _render_decoder.decode(reply)
        return answer.toll, _parts(answer.results, slots, frames)


class ComposeMail:
    def ask(self, plan: Plan, jobs: Sequence[RenderJob]) -> wire.Ask:
        items: list[wire.ComposeItem] = []
        for slot, job in zip(plan.slots, jobs, strict=True):
            if job.head is None:
                raise ValueError("a job to compose needs a head")
            items.append((slot, job.context, job.locale, job.timezone, job.head))
        return wire.ComposeAsk(plan.forget, plan.learn, items)

    def read_part(self, part: memoryview, slots: Sequence[int], frames: Frames) -> Sequence[bytes | RenderFailure]:
        return _messages(_composed_decoder.decode(part), slots, frames)

    def read(
        self, reply: memoryview, slots: Sequence[int], frames: Frames
    ) -> tuple[wire.Toll, Sequence[bytes | RenderFailure]]:
        answer = _compose_decoder.decode(reply)
        return answer.toll, _messages(answer.results, slots, frames)


def _parts(
    results: Sequence[wire.Told | RenderedParts | wire.Failed], slots: Sequence[int], frames: Frames
) -> list[RenderedParts | RenderFailure]:
    parts: list[RenderedParts | RenderFailure] = []
    for result, slot in zip(results, slots, strict=False):
        if isinstance(result, wire.Told):
            try:
                if result.sheet is not None:
                    frames.sheets[slot] = FillableSheet(result.sheet)
                parts.append(frames.sheets[slot].filled(result.subject, result.values))
            except (Untrue, KeyError):
                parts.append(_UNTRUE)
        else:
            parts.append(_failure(result) if isinstance(result, wire.Failed) else result)
    return parts


def _messages(
    results: Sequence[wire.Said | bytes | wire.Failed], slots: Sequence[int], frames: Frames
) -> list[bytes | RenderFailure]:
    """Content is untrusted where these were made: what could end early, and let its rest be read as commands, is no
    message."""
    messages: list[bytes | RenderFailure] = []
    for result, slot in zip(results, slots, strict=False):
        if isinstance(result, wire.Said):
            try:
                if result.skeleton is not None:
                    frames.mails[slot] = Frame(result.skeleton)
                messages.append(frames.mails[slot].filled(result.said))
            except (Untrue, KeyError):
                messages.append(_UNTRUE)
        elif isinstance(result, bytes):
            messages.append(result if is_wire_safe(result) else _UNTRUE)
        else:
            messages.append(_failure(result))
    return messages


def _failure(failed: wire.Failed) -> RenderFailure:
    return RenderFailure(code=failed.code, message=failed.message, pointer=failed.pointer)
