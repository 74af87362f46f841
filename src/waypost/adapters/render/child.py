"""The render process: `python -m waypost.adapters.render.child <pipe> <progress page>`.

It answers what comes through its pipe until the pipe closes. Content that goes beyond a plain refusal kills it: the
pool reads from the progress page who was to blame, starts another child and goes on.
"""

import gc
import mmap
import os
import socket
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from waypost.adapters.render import wire
from waypost.adapters.render.confinement import PROGRESS_BYTES, CpuBudget, OwnMemory, confine
from waypost.adapters.render.content_check import check_content
from waypost.adapters.render.equipment import Equipment, load, loaded, needed
from waypost.adapters.render.limits import MAX_COMPILED_BYTES, MAX_SOURCE_BYTES, RenderLimits
from waypost.adapters.render.refusal import RenderRefused
from waypost.adapters.render.rendition import Rendition, size_of, too_large
from waypost.adapters.render.speech import Speech
from waypost.templates.model import LocaleSource
from waypost.templates.ports import RenderedParts

if TYPE_CHECKING:
    from waypost.adapters.render.schema_check import SchemaShelf

_SENT_AHEAD: Final = 50
_OBJECTS_BETWEEN_LOOKS: Final = 50_000
"""Contexts are trees: the collector finds nothing in them."""

_Job = TypeVar("_Job")
_Result = TypeVar("_Result", wire.Told | RenderedParts, wire.Said | bytes)


class _Pipe:
    """The child's end: blocking, whole frames."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._socket.settimeout(None)

    def receive(self) -> bytearray | None:
        head = self._exactly(wire.LENGTH_BYTES)
        return None if head is None else self._exactly(int.from_bytes(head, "little"))

    def send(self, reply: wire.Reply) -> None:
        self._socket.sendall(wire.frame(reply))

    def send_ahead(self, results: Sequence[RenderedParts | wire.Told | wire.Said | bytes | wire.Failed]) -> None:
        self._socket.sendall(wire.part(results))

    def wish(self, name: str) -> bytes | None:
        """Asks for something in the middle of the work. Whoever asks for too much hears the line go dead."""
        self._socket.sendall(wire.wish(name))
        answer = self.receive()
        if answer is None:
            os._exit(0)
        return wire.granted(answer)

    def _exactly(self, size: int) -> bytearray | None:
        buffer = bytearray(size)
        view, done = memoryview(buffer), 0
        while done < size:
            received = self._socket.recv_into(view[done:])
            if not received:
                return None
            done += received
        return buffer


class _PipedLibrary:
    """For whoever can open nothing: the pool reads for it."""

    def __init__(self, pipe: _Pipe, budget: CpuBudget) -> None:
        self.read = pipe.wish
        self.excuse = budget.excuse


class _Workshop:
    def __init__(
        self,
        limits: RenderLimits,
        budget: CpuBudget,
        speech: Speech,
        send_ahead: Callable[[Sequence[RenderedParts | wire.Told | wire.Said | bytes | wire.Failed]], None],
    ) -> None:
        self._limits = limits
        self._send_ahead = send_ahead
        self._budget = budget
        self._speech = speech
        self._renditions: dict[int, Rendition] = {}
        self._schemas: SchemaShelf | None = None
        self._items_done = 0

    def answer(self, ask: wire.Ask) -> wire.Reply:
        self._budget.begin_batch()
        match ask:
            case wire.RenderAsk():
                self._stock(ask.forget, ask.learn)
                rendered = self._work(ask.jobs, self._render, _size)
                return wire.RenderReply(self._end_batch(), rendered)
            case wire.ComposeAsk():
                self._stock(ask.forget, ask.learn)
                composed = self._work(ask.jobs, self._compose, _length)
                return wire.ComposeReply(self._end_batch(), composed)
            case wire.CheckAsk():
                faults, mentioned = check_content(ask.content, self._budget.begin_item, self._speech, ask.most_bytes)
                return wire.CheckReply(self._end_batch(), faults, sorted(mentioned))
            case wire.CompileAsk():
                return self._compile(ask)
            case wire.MailAsk():
                letters = loaded(Equipment.LETTERS)
                self._budget.begin_item(0, self._limits.compile_cpu_seconds)
                mail = letters.read_mail(ask.content)
                return wire.MailReply(self._end_batch(), mail)
            case wire.ValidateAsk():
                judged = self._validate(bytes(ask.schema), ask.variables)
                return wire.ValidateReply(self._end_batch(), judged)
            case wire.CheckSchemaAsk():
                checks = self._schema_checks()
                self._budget.begin_item(0)
                faults = checks.check_schema(bytes(ask.schema))
                return wire.SchemaReply(self._end_batch(), faults)

    def _validate(self, schema: bytes, many: Sequence[wire.Data]) -> list[list[wire.Fault]]:
        shelf = self._schemas = self._schemas or self._schema_checks().SchemaShelf()
        judged: list[list[wire.Fault]] = []
        for place, variables in enumerate(many):
            self._budget.begin_item(place)
            judged.append(shelf.validate(schema, variables))
        return judged

    def _schema_checks(self) -> Any:
        return needed(Equipment.SCHEMAS, self._speech.library.read)

    def _compile(self, ask: wire.CompileAsk) -> wire.CompileReply:
        press = loaded(Equipment.PRESS)
        self._budget.begin_item(0, self._limits.compile_cpu_seconds)
        proof = press.press(ask, self._speech)
        faults, mentioned = list(proof.faults), frozenset[str]()
        if proof.content is not None:
            parts = wire.Parts.of(proof.content)
            faults, mentioned = check_content(parts, _go_on, self._speech, MAX_COMPILED_BYTES)
            faults = [_in_source(fault, ask.source) for fault in faults]
        content = None if faults else proof.content
        return wire.CompileReply(self._end_batch(), faults, sorted(mentioned), content, list(proof.warnings))

    def _end_batch(self) -> wire.Toll:
        return self._budget.end_batch(self._items_done)

    def _stock(self, forget: list[int], learn: list[wire.Lesson]) -> None:
        for slot in forget:
            del self._renditions[slot]
        for lesson in learn:
            self._renditions[lesson.slot] = Rendition(lesson.content, self._limits, self._speech, lesson.instrument)

    def _render(self, job: wire.RenderItem) -> wire.Told | RenderedParts:
        return self._renditions[job[0]].tell(job[1], job[2], job[3])

    def _compose(self, job: wire.ComposeItem) -> wire.Said | bytes:
        return self._renditions[job[0]].say(job[1], job[2], job[3], job[4])

    def _work(
        self, jobs: list[_Job], make: Callable[[_Job], _Result], size_of: Callable[[_Result], int]
    ) -> list[_Result | wire.Failed]:
        """What has not been sent ahead yet when the last job is done, or the time for them is up."""
        results, size, most = list[_Result | wire.Failed](), 0, self._limits.reply_pause_bytes
        begin_item = self._budget.begin_item
        for index, job in enumerate(jobs):
            if not begin_item(index):
                break
            if len(results) >= _SENT_AHEAD:
                self._items_done += len(results)
                self._send_ahead(results)
                results = list[_Result | wire.Failed]()
            try:
                result = make(job)
            except Exception as error:
                results.append(_failure(error))
                continue
            results.append(result)
            size += size_of(result)
            if size >= most:
                break
        self._items_done += len(results)
        return results


def _size(parts: wire.Told | RenderedParts) -> int:
    return size_of(parts) if isinstance(parts, RenderedParts) else len(parts.subject) + sum(map(len, parts.values))


def _length(message: wire.Said | bytes) -> int:
    return len(message.said if isinstance(message, wire.Said) else message)


def _go_on(_part: int) -> None:
    """Compiling is one item, from the source to the last look at what came of it."""


def _in_source(fault: wire.Fault, source: LocaleSource) -> wire.Fault:
    """The author knows no `html`, only a body."""
    is_body = fault.pointer in {"/html", "/json"} or (fault.pointer == "/text" and source.text is None)
    return wire.Fault("/body", fault.code, fault.message) if is_body else fault


def _failure(error: Exception) -> wire.Failed:
    match error:
        case RenderRefused():
            return wire.Failed(error.code, error.message, error.pointer)
        case MemoryError():
            return _failure(too_large())
        case _:
            # A bug of ours, most likely; its own words may hold a value.
            return wire.Failed("render_failed", f"The content cannot be rendered ({type(error).__name__}).", "")


def _rehearse(workshop: _Workshop) -> wire.Reply:
    """Meets every kind of trouble once, because the libraries import some of their modules only then."""
    checked = workshop.answer(wire.CheckAsk(wire.Parts("{{ name }}", "<p>{{ name", "{% if name %}"), MAX_SOURCE_BYTES))
    if loaded(Equipment.SCHEMAS) is None:
        return checked
    schema = msgspec.Raw(wire.encoder.encode({"required": ["name"], "properties": {"age": {"type": "integer"}}}))
    workshop.answer(wire.CheckSchemaAsk(schema))
    return workshop.answer(wire.ValidateAsk(schema, [{"age": "é"}]))


def main() -> None:
    pipe = _Pipe(int(sys.argv[1]))
    page = mmap.mmap(int(sys.argv[2]), PROGRESS_BYTES)
    first = pipe.receive()
    if first is None:
        return
    start = wire.start_decoder.decode(first)
    limits = start.limits
    # The pool reads stderr until the greeting, to tell why a child does not start; what comes later may hold content.
    os.dup2(0, 2)
    budget = CpuBudget(limits, memoryview(page).cast("I"), OwnMemory())
    workshop = _Workshop(limits, budget, Speech(_PipedLibrary(pipe, budget)), pipe.send_ahead)
    for word in start.equipment:
        load(Equipment(word))
    greeting = _rehearse(workshop)
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_LOOKS, 10, 10)
    confine(limits)
    pipe.send(greeting)
    while (request := pipe.receive()) is not None:
        pipe.send(workshop.answer(wire.ask_decoder.decode(request)))
    os._exit(0)


if __name__ == "__main__":
    main()
