"""`templates.ports.Renderer` over render processes. Nothing that a tenant wrote is parsed in this process.

Where a child has told that a content does nothing but print values, these are looked up and put into place here.

Two lanes: the main one serves everybody; whoever killed a child lately is served by the quarantine lane, whose child
lives only while there is work for it. A new schema is always judged there: it comes rarely and is never urgent.
"""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Final, TypeVar

import msgspec

from waypost.adapters.render import wire
from waypost.adapters.render.batch import Batch
from waypost.adapters.render.equipment import Equipment
from waypost.adapters.render.errand import ComposeMail, Errand, RenderParts
from waypost.adapters.render.lane import Lane
from waypost.adapters.render.limits import (
    MAX_COMPILED_BYTES,
    MAX_SCHEMA_BYTES,
    MAX_SOURCE_BYTES,
    MOST_PLAIN_BYTES,
    RenderLimits,
)
from waypost.adapters.render.plain_book import PlainBook, by_hand
from waypost.adapters.render.plain_mail import PlainMail
from waypost.adapters.render.plain_parts import PlainParts
from waypost.adapters.render.process import ProcessLost, RenderProcess
from waypost.adapters.render.suspicion import Suspicion
from waypost.kernel.clock import Clock
from waypost.kernel.errors import FieldError
from waypost.submission.model import ReadMail, UnreadMail
from waypost.templates.model import Content, Fragment, JsonObject, LocaleSource, Profile
from waypost.templates.ports import ContentReport, RenderedParts, RenderFailure, RenderJob

_Result = TypeVar("_Result")
_Made = TypeVar("_Made")

_POINTERS: Final = tuple(f"/{part}" for part in wire.PARTS)
_MOST_WAITING: Final = 128
_MOST_WAITING_IN_QUARANTINE: Final = 16
_MOST_VALIDATED: Final = 250
_PRESS_LINGERS_SECONDS: Final = 10.0
"""A template has many locales, and its author looks at it after every change."""
_FOR_CONTENT: Final = frozenset({Equipment.WORDING, Equipment.LIQUID, Equipment.PRESS})
_FOR_MAIL: Final = frozenset({Equipment.LETTERS})
_FOR_SCHEMAS: Final = frozenset({Equipment.SCHEMAS})
_MAIL_LINGERS_SECONDS: Final = 30.0

_check_decoder: Final = msgspec.msgpack.Decoder(wire.CheckReply)
_compile_decoder: Final = msgspec.msgpack.Decoder(wire.CompileReply)
_schema_decoder: Final = msgspec.msgpack.Decoder(wire.SchemaReply)
_validate_decoder: Final = msgspec.msgpack.Decoder(wire.ValidateReply)
_mail_decoder: Final = msgspec.msgpack.Decoder(wire.MailReply)


class RenderPool:
    """`linger_seconds`: how long a child of the main lane waits for work before it leaves. None: as long as we live."""

    def __init__(
        self,
        *,
        clock: Clock,
        size: int = 1,
        limits: RenderLimits | None = None,
        linger_seconds: float | None = None,
    ) -> None:
        self._limits = limits or RenderLimits()
        self._main = Lane(self._limits, size=size, most_waiting_of_one=_MOST_WAITING, linger_seconds=linger_seconds)
        self._quarantine = Lane(
            self._limits,
            size=1,
            most_waiting_of_one=_MOST_WAITING_IN_QUARANTINE,
            equipment=_FOR_SCHEMAS,
            linger_seconds=0,
        )
        self._press = Lane(
            self._limits,
            size=1,
            most_waiting_of_one=_MOST_WAITING_IN_QUARANTINE,
            equipment=_FOR_CONTENT,
            linger_seconds=_PRESS_LINGERS_SECONDS,
        )
        self._letters = Lane(
            self._limits,
            size=1,
            most_waiting_of_one=_MOST_WAITING,
            equipment=_FOR_MAIL,
            linger_seconds=_MAIL_LINGERS_SECONDS,
        )
        self._suspicion = Suspicion(clock)
        self._plain_parts: PlainBook[PlainParts] = PlainBook(MOST_PLAIN_BYTES)
        self._plain_mails: PlainBook[PlainMail] = PlainBook(MOST_PLAIN_BYTES)
        self._render_parts = RenderParts(self._plain_parts, self._limits.message_bytes)
        self._compose_mail = ComposeMail(self._plain_mails)

    async def warm(self) -> None:
        """Starts a child ahead of the first message, which then need not wait for it."""
        await self._main.warm()

    async def render(self, jobs: Sequence[RenderJob]) -> Sequence[RenderedParts | RenderFailure]:
        plain = await by_hand(jobs, self._plain_parts, PlainParts.made)
        return await self._batch(jobs, plain, self._render_parts)

    async def try_out(self, jobs: Sequence[RenderJob]) -> Sequence[RenderFailure | None]:
        plain = await by_hand(jobs, self._plain_parts, PlainParts.will_do)
        tried = await self._batch(jobs, plain, self._render_parts)
        return [one if isinstance(one, RenderFailure) else None for one in tried]

    async def compose(self, jobs: Sequence[RenderJob]) -> Sequence[bytes | RenderFailure]:
        plain = await by_hand(jobs, self._plain_mails, PlainMail.made)
        return await self._batch(jobs, plain, self._compose_mail)

    async def check(self, tenant_id: str, content: Content, *, is_compiled: bool = False) -> ContentReport:
        most_bytes = MAX_COMPILED_BYTES if is_compiled else MAX_SOURCE_BYTES
        request = _framed(wire.CheckAsk(wire.Parts.of(content), most_bytes), self._limits)
        if request is None:
            return _report(FieldError(pointer="", code="too_large", message="The content is too large."))
        lane = self._quarantine if self._suspicion.doubts_tenant(tenant_id) else self._main
        try:
            answer = await self._ask(lane, tenant_id, request, _check_decoder)
        except ProcessLost as lost:
            self._suspicion.blame(tenant_id, None, lost.kind)
            pointer = _POINTERS[lost.at] if lost.at is not None and lost.at < len(_POINTERS) else ""
            return _report(_loss(lost, pointer))
        if answer.toll.slow:
            self._suspicion.set_apart(tenant_id, None)
        return ContentReport(errors=_field_errors(answer.faults), mentioned=frozenset(answer.mentioned))

    async def compile(
        self,
        tenant_id: str,
        source: LocaleSource,
        *,
        profile: Profile = Profile.JINJA,
        layout: str | None = None,
        fragments: Mapping[str, Fragment] | None = None,
    ) -> ContentReport:
        ask = wire.CompileAsk(source, profile, layout, dict(fragments or {}))
        request = _framed(ask, self._limits)
        if request is None:
            return _report(FieldError(pointer="/body", code="too_large", message="The source is too large."))
        try:
            answer = await self._ask(self._press, tenant_id, request, _compile_decoder)
        except ProcessLost as lost:
            self._suspicion.blame(tenant_id, None, lost.kind)
            return _report(_loss(lost, "/body"))
        return ContentReport(
            errors=_field_errors(answer.faults),
            mentioned=frozenset(answer.mentioned),
            content=answer.content,
            warnings=_field_errors(answer.warnings),
        )

    async def validate(self, schema: JsonObject, variables: Mapping[str, object]) -> Sequence[FieldError]:
        return (await self.validate_many(schema, [variables]))[0]

    async def validate_many(
        self, schema: JsonObject, many: Sequence[Mapping[str, object]]
    ) -> Sequence[Sequence[FieldError]]:
        raw = wire.encoder.encode(schema)
        judged: list[Sequence[FieldError]] = []
        for first in range(0, len(many), _MOST_VALIDATED):
            judged += await self._validate(raw, many[first : first + _MOST_VALIDATED])
        return judged

    async def _validate(self, raw: bytes, many: Sequence[Mapping[str, object]]) -> Sequence[Sequence[FieldError]]:
        """Asks once for all; where that is too much, or one of them is a child's end, for each by itself."""
        alone = len(many) == 1
        request = _framed(wire.ValidateAsk(msgspec.Raw(raw), [dict(variables) for variables in many]), self._limits)
        if request is None:
            if alone:
                return [[FieldError(pointer="", code="too_large", message="is too large, too deep, or beyond 64 bits")]]
            return [(await self._validate(raw, [variables]))[0] for variables in many]
        culprit = f"schema:{blake2b(raw, digest_size=16).hexdigest()}"
        lane = self._quarantine if self._suspicion.doubts_tenant(culprit) else self._main
        try:
            answer = await self._ask(lane, culprit, request, _validate_decoder)
        except ProcessLost as lost:
            self._suspicion.blame(culprit, None, lost.kind)
            if alone:
                return [[_schema_loss(lost)]]
            return [(await self._validate(raw, [variables]))[0] for variables in many]
        if answer.toll.slow:
            self._suspicion.set_apart(culprit, None)
        return [_field_errors(faults) for faults in answer.faults]

    async def check_schema(self, schema: JsonObject) -> Sequence[FieldError]:
        try:
            raw = wire.encoder.encode(schema)
        except (OverflowError, RecursionError, UnicodeEncodeError):
            return [
                FieldError(
                    pointer="", code="invalid_schema", message="nests too deeply or holds a number beyond 64 bits"
                )
            ]
        if len(raw) > MAX_SCHEMA_BYTES:
            message = f"must be at most {MAX_SCHEMA_BYTES // 1024} KB"
            return [FieldError(pointer="", code="too_large", message=message)]
        try:
            request = wire.frame(wire.CheckSchemaAsk(msgspec.Raw(raw)))
            answer = await self._ask(self._quarantine, "schema", request, _schema_decoder)
        except ProcessLost as lost:
            return [_schema_loss(lost)]
        return _field_errors(answer.faults)

    async def read_mail(self, tenant_id: str, content: bytes) -> ReadMail | UnreadMail:
        """Implements `submission.ports.MailReader`."""
        request = wire.frame(wire.MailAsk(content))
        if len(request) > self._limits.frame_bytes:
            return UnreadMail(code="too_large", message="The mail is too large.")
        try:
            return (await self._ask(self._letters, tenant_id, request, _mail_decoder)).mail
        except ProcessLost as lost:
            if lost.kind == "timeout":
                return UnreadMail(code="mail_timeout", message="The mail takes too long to read.")
            return UnreadMail(code="mail_crashed", message="The mail needs too much memory to be read.")

    async def close(self) -> None:
        await self._letters.close()
        await self._main.close()
        await self._quarantine.close()
        await self._press.close()

    async def _batch(
        self, jobs: Sequence[RenderJob], plain: Sequence[_Made | None], errand: Errand[_Result]
    ) -> Sequence[_Made | _Result | RenderFailure]:
        """Asks a child for those that were not plain enough to be made here."""
        others = [job for job, made in zip(jobs, plain, strict=True) if made is None]
        answers: Iterator[_Result | RenderFailure] = iter(())
        if others:
            batch = Batch(
                others,
                errand,
                main=self._main,
                quarantine=self._quarantine,
                suspicion=self._suspicion,
                limits=self._limits,
            )
            answers = iter(await batch.run())
        return [next(answers) if made is None else made for made in plain]

    async def _ask(
        self, lane: Lane, who: str, request: bytearray, decoder: msgspec.msgpack.Decoder[_Result]
    ) -> _Result:
        """One question that stands alone; asked a second time where its child died of something else."""

        async def exchange(child: RenderProcess) -> _Result:
            return decoder.decode(await child.ask(request))

        try:
            return await lane.use(who, exchange)
        except ProcessLost as lost:
            if lost.certain or lost.kind == "timeout":
                raise
        return await (self._quarantine if lane is self._main else lane).use(who, exchange)


def _framed(ask: wire.Ask, limits: RenderLimits) -> bytearray | None:
    try:
        request = wire.frame(ask)
    except (OverflowError, RecursionError, UnicodeEncodeError):
        return None
    return request if len(request) <= limits.request_bytes else None


def _report(error: FieldError) -> ContentReport:
    return ContentReport(errors=(error,), mentioned=frozenset())


def _loss(lost: ProcessLost, pointer: str) -> FieldError:
    if lost.kind == "timeout":
        return FieldError(pointer=pointer, code="template_timeout", message="takes too long to compile")
    return FieldError(pointer=pointer, code="template_crashed", message="needs too much memory or nests too deeply")


def _schema_loss(lost: ProcessLost) -> FieldError:
    if lost.kind == "timeout":
        return FieldError(pointer="", code="schema_timeout", message="The schema takes too long to check.")
    return FieldError(
        pointer="", code="schema_crashed", message="The schema needs too much memory or nests too deeply."
    )


def _field_errors(faults: Sequence[wire.Fault]) -> tuple[FieldError, ...]:
    return tuple(FieldError(pointer=each.pointer, code=each.code, message=each.message) for each in faults)
