"""The two things a batch of jobs can ask for: rendered parts, or finished messages."""

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

import msgspec

from waypost.adapters.render import wire
from waypost.adapters.render.shelf import Plan
from waypost.templates.ports import RenderedParts, RenderFailure, RenderJob

Result = TypeVar("Result", covariant=True)

_render_decoder: Final = msgspec.msgpack.Decoder(wire.RenderReply)
_compose_decoder: Final = msgspec.msgpack.Decoder(wire.ComposeReply)
_rendered_decoder: Final = msgspec.msgpack.Decoder(list[RenderedParts | wire.Failed])
_composed_decoder: Final = msgspec.msgpack.Decoder(list[bytes | wire.Failed])


class Errand(Protocol[Result]):
    def ask(self, plan: Plan, jobs: Sequence[RenderJob]) -> wire.Ask: ...

    def read_part(self, part: memoryview) -> Sequence[Result | RenderFailure]:
        """Results that were sent ahead."""
        ...

    def read(self, reply: memoryview) -> tuple[wire.Toll, Sequence[Result | RenderFailure]]:
        """What it cost, and the results, perhaps fewer than asked for."""
        ...


class RenderParts:
    def ask(self, plan: Plan, jobs: Sequence[RenderJob]) -> wire.Ask:
        items = [(slot, job.context, job.locale, job.timezone) for slot, job in zip(plan.slots, jobs, strict=True)]
        return wire.RenderAsk(plan.forget, plan.learn, items)

    def read_part(self, part: memoryview) -> Sequence[RenderedParts | RenderFailure]:
        return [_failure(each) if isinstance(each, wire.Failed) else each for each in _rendered_decoder.decode(part)]

    def read(self, reply: memoryview) -> tuple[wire.Toll, Sequence[RenderedParts | RenderFailure]]:
        answer = _render_decoder.decode(reply)
        return answer.toll, [_failure(each) if isinstance(each, wire.Failed) else each for each in answer.results]


class ComposeMail:
    def ask(self, plan: Plan, jobs: Sequence[RenderJob]) -> wire.Ask:
        items: list[wire.ComposeItem] = []
        for slot, job in zip(plan.slots, jobs, strict=True):
            if job.head is None:
                raise ValueError("a job to compose needs a head")
            items.append((slot, job.context, job.locale, job.timezone, job.head))
        return wire.ComposeAsk(plan.forget, plan.learn, items)

    def read_part(self, part: memoryview) -> Sequence[bytes | RenderFailure]:
        return [_failure(each) if isinstance(each, wire.Failed) else each for each in _composed_decoder.decode(part)]

    def read(self, reply: memoryview) -> tuple[wire.Toll, Sequence[bytes | RenderFailure]]:
        answer = _compose_decoder.decode(reply)
        return answer.toll, [_failure(each) if isinstance(each, wire.Failed) else each for each in answer.results]


def _failure(failed: wire.Failed) -> RenderFailure:
    return RenderFailure(code=failed.code, message=failed.message, pointer=failed.pointer)
