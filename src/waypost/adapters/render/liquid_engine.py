"""The Liquid profile. Every limit of the library is set; what they leave open is bounded by the process.

Loaded only in render children that need it.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, TextIO

from liquid import Environment, RenderContext
from liquid.builtin.output import Output, OutputNode
from liquid.builtin.tags.echo_tag import EchoTag
from liquid.exceptions import (
    FilterArgumentError,
    FilterError,
    FilterValueError,
    LiquidError,
    LiquidSyntaxError,
    LiquidTypeError,
    LoopIterationLimitError,
    OutputStreamLimitError,
    ResourceLimitError,
    UndefinedError,
    UnknownFilterError,
)
from liquid.static_analysis import Variable
from liquid.template import BoundTemplate
from liquid.undefined import FalsyStrictUndefined, Undefined
from liquid.utils import ReadOnlyChainMap

from waypost.adapters.render.dialect import JSON, MARKUP, PartTemplate
from waypost.adapters.render.json_part import Marks, check_literal
from waypost.adapters.render.mentions import mentioned
from waypost.adapters.render.refusal import RenderRefused
from waypost.adapters.render.source_scan import MAX_NESTING
from waypost.adapters.render.speech import FILTERS, Speech, Unsuitable
from waypost.templates.model import JsonObject

_MOST_ITERATIONS: Final = 100_000
_MOST_LOCAL_BYTES: Final = 4 * 1024 * 1024
_MOST_OUTPUT_BYTES: Final = 4 * 1024 * 1024

_PATH: Final = re.compile(r"[A-Za-z_][\w-]{0,63}(?:\.[\w-]{1,64}){0,8}\Z", re.ASCII)
_NAME_IN_MESSAGE: Final = re.compile(r"'?([\w.-]{1,300})'? is undefined\Z")
# They print without the node that escapes, or reach for other templates.
_REMOVED: Final = ("include", "render")
_REMOVED_FROM_JSON: Final = ("cycle", "increment", "decrement", "tablerow")

# Why a template stopped, in our words: the library's own text may hold a variable's value.
_SENTENCES: Final[dict[type[LiquidError], str]] = {
    LoopIterationLimitError: "does too much work: look for a loop that is too long",
    OutputStreamLimitError: "grew too large",
    ResourceLimitError: "does too much work or nests too deeply",
    UnknownFilterError: "uses a filter that does not exist",
    FilterArgumentError: "gives a filter arguments that it does not take",
    FilterValueError: "gives a filter a value that it does not take",
    FilterError: "uses a filter in a way that does not work",
    LiquidTypeError: "does something that this type of value does not allow",
}


class _Missing(FalsyStrictUndefined):
    """Can be asked for (`if`, `default`) and cannot be printed."""

    __slots__ = ()
    force_liquid_default = True

    def __eq__(self, other: object) -> bool:
        return other is None or other is False or isinstance(other, Undefined)

    __hash__ = None  # type: ignore[assignment]


class _Context(RenderContext):
    """Without `now` and `today`: a message must read the same for ever."""

    def __init__(self, *words: Any, **named: Any) -> None:
        super().__init__(*words, **named)
        self.scope = ReadOnlyChainMap(self.locals, self.globals, self.counters)


class _Template(BoundTemplate):
    context_class = _Context


class _Environment(Environment):
    block_nesting_limit = MAX_NESTING
    context_depth_limit = 50
    loop_iteration_limit = _MOST_ITERATIONS
    local_namespace_limit = _MOST_LOCAL_BYTES
    output_stream_limit = _MOST_OUTPUT_BYTES
    template_class = _Template

    def __init__(self, speech: Speech, *, autoescape: bool) -> None:
        super().__init__(undefined=_Missing, autoescape=autoescape, strict_filters=True)
        for name in _REMOVED:
            del self.tags[name]
        for name, speak in speech.filters().items():
            self.add_filter(name, _spoken(speak))
        self.add_filter("title", _title)
        self.add_filter("urlencode", self.filters["url_encode"])


def _spoken(speak: Callable[..., object]) -> Callable[..., object]:
    def spoken(value: object, *words: object, **named: object) -> object:
        for each in (value, *words, *named.values()):
            if isinstance(each, Undefined):
                str(each)  # raises, with the name that is missing
        return speak(value, *words, **named)

    return spoken


def _title(value: object) -> str:
    return str(value).title()


class LiquidDialect:
    def __init__(self, speech: Speech) -> None:
        self._speech = speech

    def template(self, part: str, source: str) -> PartTemplate:
        marks = None
        environment = _Environment(self._speech, autoescape=part == MARKUP)
        if part == JSON:
            check_literal(source)
            marks = Marks()
            for name in _REMOVED_FROM_JSON:
                del environment.tags[name]
            for tag in _marking_tags(marks):
                environment.add_tag(tag)
        try:
            return _LiquidTemplate(part, environment.from_string(source), marks)
        except LiquidError as error:
            raise _refusal(error, part) from None

    def names(self, part: str, source: str) -> frozenset[str]:
        environment = _Environment(self._speech, autoescape=False)
        try:
            analysis = environment.from_string(source).analyze(include_partials=False)
        except LiquidError as error:
            raise _refusal(error, part) from None
        for name, spans in analysis.filters.items():
            if name not in environment.filters:
                line = source.count("\n", 0, spans[0].index) + 1
                words = f"Line {line} of {part} uses a filter that does not exist: `{name[:64]}`."
                raise RenderRefused("template_syntax", words, f"/{part}")
        paths = (_path(variable) for variables in analysis.globals.values() for variable in variables)
        return mentioned([path for path in paths if path], speaks=not analysis.filters.keys().isdisjoint(FILTERS))

    def refuse_unknown_calls(self, part: str, source: str) -> None:
        """Liquid has no functions."""


class _LiquidTemplate:
    def __init__(self, part: str, template: BoundTemplate, marks: Marks | None) -> None:
        self._part = part
        self._template = template
        self._marks = marks

    def render(self, context: JsonObject) -> str:
        try:
            if self._marks is None:
                return self._template.render(context)
            self._marks.begin()
            return self._marks.resolve(self._template.render(context))
        except (LiquidError, Unsuitable) as error:
            raise _refusal(error, self._part) from None


def _marking_tags(marks: Marks) -> Iterator[type[Output]]:
    class MarkingNode(OutputNode):
        def render_to_output(self, context: RenderContext, buffer: TextIO) -> int:
            value = self.expression.evaluate(context)
            if isinstance(value, Undefined):
                str(value)
            return buffer.write(marks.mark(_plain(value)))

    class MarkingOutput(Output):
        node_class = MarkingNode

    class MarkingEcho(EchoTag):
        node_class = MarkingNode

    yield MarkingOutput
    yield MarkingEcho  # type: ignore[misc]


def _plain(value: object) -> object:
    return list(value) if isinstance(value, range) else value


def _path(variable: Variable) -> list[str]:
    path = list[str]()
    for segment in variable.segments:
        if not isinstance(segment, str):
            break
        path.append(segment)
    return path


def _refusal(error: LiquidError | Unsuitable, part: str) -> RenderRefused:
    pointer = f"/{part}"
    if isinstance(error, Unsuitable):
        code = "missing_variable" if error.is_missing else "render_failed"
        return RenderRefused(code, f"The {part} {error.text}.", pointer)
    place = _place(error, part)
    if isinstance(error, LiquidSyntaxError):
        return RenderRefused("template_syntax", f"{place} has a syntax error: {str(error.message)[:200]}.", pointer)
    if isinstance(error, UndefinedError):
        found = _NAME_IN_MESSAGE.match(str(error.message))
        # A name that the template computed may be somebody's value.
        is_written = found and error.token and _PATH.match(found[1]) and found[1] in error.token.source
        name = f"`{found[1]}`, which" if found and is_written else "a value that"
        return RenderRefused("missing_variable", f"{place} uses {name} was not given.", pointer)
    sentence = next((words for kind, words in _SENTENCES.items() if isinstance(error, kind)), "cannot be rendered")
    return RenderRefused("render_failed", f"{place} {sentence}.", pointer)


def _place(error: LiquidError, part: str) -> str:
    token = error.token
    if token is None or token.start_index < 0:
        return f"The {part}"
    return f"Line {token.source.count(chr(10), 0, token.start_index) + 1} of {part}"
