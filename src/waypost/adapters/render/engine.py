"""The locked-down template engine. It runs only inside the render process: a hostile template can still kill it.

Fuel counts instructions, not work or memory, so time and memory are bounded by the process (`limits`), not here.
"""

import re
from collections.abc import Iterator
from typing import Final

import minijinja

from waypost.adapters.render.dialect import JSON, MARKUP, PartTemplate
from waypost.adapters.render.json_part import Marks, check_literal
from waypost.adapters.render.mentions import mentioned, might_speak
from waypost.adapters.render.refusal import RenderRefused
from waypost.adapters.render.speech import FILTERS, Speech, Unsuitable
from waypost.adapters.render.unknown_words import Unknown, unknown_calls, unknown_words
from waypost.templates.model import JsonObject

FUEL: Final = 1_000_000
RENDER_ERRORS: Final = (minijinja.TemplateError, Unsuitable)

# `namespace` can hold itself, which overflows the stack; `debug` and `pprint` show what they were not given to show.
_REMOVED_GLOBALS: Final = ("namespace", "debug")
_REMOVED_FILTERS: Final = ("pprint",)

_OWN_FILTERS: Final = frozenset({*FILTERS, "truncate"})

_END_OF_PATH: Final = re.compile(rb"[A-Za-z_][\w.]*\Z")
_PATH: Final = re.compile(r"[A-Za-z_]\w{0,63}(?:\.\w{1,64}){0,8}\Z", re.ASCII)

# Why a template stopped, in our words: the engine's own text may hold a variable's value.
_SENTENCES: Final = {
    "OutOfFuel": "does too much work: look for a loop that is too long",
    "TemplateNotFound": "cannot include, import or extend anything",
    "UnknownFilter": "uses a filter that does not exist",
    "UnknownFunction": "calls a function that does not exist",
    "UnknownTest": "uses a test that does not exist",
    "UnknownMethod": "calls a method that this value does not have",
    "UnknownBlock": "names a block that does not exist",
    "InvalidOperation": "does something that this type of value does not allow",
    "MissingArgument": "leaves out an argument that a filter or function needs",
    "TooManyArguments": "gives a filter or function too many arguments",
    "NonKey": "uses a key that cannot be one",
    "BadSerialization": "cannot print this type of value",
    "WriteFailure": "grew too large",
}


def escape_by_part(name: str) -> str | None:
    """Escaping follows the part that is rendered, never a file name: only what is called `html` is markup."""
    return "html" if name == MARKUP else None


def make_environment(speech: Speech | None = None) -> minijinja.Environment:
    """A fresh environment for one version: no loader, no way to another template, nothing but the data it is given."""
    environment = minijinja.Environment(
        debug=False, fuel=FUEL, undefined_behavior="strict", auto_escape_callback=escape_by_part
    )
    for name in _REMOVED_GLOBALS:
        environment.remove_global(name)
    for name in _REMOVED_FILTERS:
        environment.remove_filter(name)
    for name, speak in (speech or Speech()).filters().items():
        environment.add_filter(name, speak)
    environment.add_filter("truncate", _truncate)
    return environment


class JinjaDialect:
    def __init__(self, speech: Speech | None = None) -> None:
        self.speech = speech or Speech()
        self._environment = make_environment(self.speech)

    def template(self, part: str, source: str) -> PartTemplate:
        marks = None
        environment = self._environment
        if part == JSON:
            check_literal(source)
            marks, environment = Marks(), make_environment(self.speech)
            environment.finalizer = marks.mark
            environment.add_filter("tojson", _as_it_is)
        try:
            environment.add_template(part, source)
        except minijinja.TemplateError as error:
            raise refusal_of(error, part=part, source=source, context={}) from None
        return _JinjaTemplate(environment, part, source, marks)

    def names(self, part: str, source: str) -> frozenset[str]:
        try:
            names = mentioned_names(self._environment, source)
        except minijinja.TemplateError as error:
            raise refusal_of(error, part=part, source=source, context={}) from None
        _refuse_first(unknown_words(source, self._has_filter, self._has_test), part)
        return names

    def refuse_unknown_calls(self, part: str, source: str) -> None:
        undeclared = self._environment.undeclared_variables_in_str(source) - self._environment.globals.keys()
        _refuse_first(unknown_calls(source, frozenset(undeclared)), part)

    def _has_filter(self, name: str) -> bool:
        return name in _OWN_FILTERS or self._knows(f"''|{name}", "UnknownFilter")

    def _has_test(self, name: str) -> bool:
        return self._knows(f"'' is {name}", "UnknownTest")

    def _knows(self, trial: str, complaint: str) -> bool:
        try:
            self._environment.eval_expr(trial)
        except minijinja.TemplateError as error:
            return error.kind != complaint
        return True


class _JinjaTemplate:
    def __init__(self, environment: minijinja.Environment, part: str, source: str, marks: Marks | None) -> None:
        self._environment = environment
        self._part = part
        self._source = source
        self._marks = marks

    def render(self, context: JsonObject) -> str:
        try:
            if self._marks is None:
                return self._environment.render_template(self._part, **context)
            self._marks.begin()
            return self._marks.resolve(self._environment.render_template(self._part, **context))
        except RENDER_ERRORS as error:
            raise refusal_of(error, part=self._part, source=self._source, context=context) from None


def _refuse_first(found: Iterator[Unknown], part: str) -> None:
    for word in found:
        place = f"Line {word.line} of {part}"
        raise RenderRefused("template_syntax", f"{place} {word.sentence}: `{word.name[:64]}`.", f"/{part}")


def _truncate(value: object, length: object = 255, killwords: object = None, end: object = "...") -> str:
    """As Jinja has it, and the engine's own has not: the length may stand alone."""
    if value is None:
        raise Unsuitable("gives `truncate` a value that is missing", is_missing=True)
    if not isinstance(length, int) or length < 0:
        raise Unsuitable("gives `truncate` a length that is none")
    text, tail = str(value), str(end)
    if len(text) <= length:
        return text
    kept = text[: max(0, length - len(tail))]
    return (kept if killwords else kept.rpartition(" ")[0] or kept) + tail


def _as_it_is(value: object) -> object:
    """In the JSON format every value is printed as JSON already."""
    return value


def mentioned_names(environment: minijinja.Environment, source: str) -> frozenset[str]:
    """What a source reads from its context. Compiles it, so it raises on bad syntax."""
    paths = [path.split(".") for path in environment.undeclared_variables_in_str(source, nested=True)]
    known = environment.globals.keys()
    return mentioned([path for path in paths if path[0] not in known], speaks=might_speak(source))


def refusal_of(
    error: minijinja.TemplateError | Unsuitable, *, part: str, source: str | None, context: JsonObject
) -> RenderRefused:
    """What stopped the template, by part, line and kind. `source` is what the error's place refers to, if known."""
    pointer = f"/{part}"
    if isinstance(error, Unsuitable):
        absent = _absent(source, context) if error.is_missing else []
        if len(absent) == 1 and _PATH.match(absent[0]):
            return RenderRefused("missing_variable", f"The {part} uses `{absent[0]}`, which was not given.", pointer)
        code = "missing_variable" if error.is_missing else "render_failed"
        return RenderRefused(code, f"The {part} {error.text}.", pointer)
    place = f"Line {error.line} of {part}" if error.line else f"The {part}"
    if error.kind == "SyntaxError":
        return RenderRefused("template_syntax", f"{place} has a syntax error{_syntax_detail(error)}.", pointer)
    if error.kind == "UndefinedError":
        name = _missing_name(error, source, context)
        if name is None:
            return RenderRefused("missing_variable", f"{place} uses a value that was not given.", pointer)
        return RenderRefused("missing_variable", f"{place} uses `{name}`, which was not given.", pointer)
    sentence = _SENTENCES.get(error.kind, "cannot be rendered")
    return RenderRefused("render_failed", f"{place} {sentence}.", pointer)


def _spot(source: bytes, where: tuple[int, int] | None) -> str:
    """The expression at fault. The engine may point only at its end (`.b.c` of `a.b.c`)."""
    if where is None:
        return ""
    start = where[0]
    if source[start : start + 1] == b"." and (head := _END_OF_PATH.search(source, max(0, start - 200), start)):
        start = head.start()
    return source[start : where[1]].decode(errors="replace")


def _syntax_detail(error: minijinja.TemplateError) -> str:
    # Found while compiling, before any variable exists: the words are about the author's own tokens.
    detail = error.detail
    return f": {detail[:200]}" if detail else ""


def _missing_name(error: minijinja.TemplateError, source: str | None, context: JsonObject) -> str | None:
    if source is None:
        return None
    absent = _absent(source, context)
    spot = _spot(source.encode(), error.range)
    if _PATH.match(spot) and (not absent or spot.partition(".")[0] in absent):
        return spot
    return absent[0] if len(absent) == 1 and _PATH.match(absent[0]) else None


def _absent(source: str | None, context: JsonObject) -> list[str]:
    """The top-level names that the source reads and the context lacks."""
    environment = make_environment()
    try:
        names = environment.undeclared_variables_in_str(source or "")
    except minijinja.TemplateError:
        return []
    return sorted(names - context.keys() - environment.globals.keys())
