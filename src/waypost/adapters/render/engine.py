"""The locked-down template engine. It runs only inside the render process: a hostile template can still kill it.

Fuel counts instructions, not work or memory, so time and memory are bounded by the process (`limits`), not here.
"""

import re
from typing import Final

import minijinja

from waypost.templates.model import JsonObject

FUEL: Final = 1_000_000

# `namespace` can hold itself, which overflows the stack; `debug` and `pprint` show what they were not given to show.
_REMOVED_GLOBALS: Final = ("namespace", "debug")
_REMOVED_FILTERS: Final = ("pprint",)

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


class RenderRefused(Exception):
    """A message that cannot be made. `message` holds no variable's value; `pointer` names the part of the content."""

    def __init__(self, code: str, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.pointer = pointer


def escape_by_part(name: str) -> str | None:
    """Escaping follows the part that is rendered, never a file name: only what is called `html` is markup."""
    return "html" if name == "html" else None


def make_environment() -> minijinja.Environment:
    """A fresh environment for one version: no loader, no way to another template, nothing but the data it is given."""
    environment = minijinja.Environment(
        debug=False, fuel=FUEL, undefined_behavior="strict", auto_escape_callback=escape_by_part
    )
    for name in _REMOVED_GLOBALS:
        environment.remove_global(name)
    for name in _REMOVED_FILTERS:
        environment.remove_filter(name)
    return environment


def mentioned_names(environment: minijinja.Environment, source: str) -> frozenset[str]:
    """The top-level names that a source reads from its context. Compiles it, so it raises on bad syntax."""
    return frozenset(environment.undeclared_variables_in_str(source)) - environment.globals.keys()


def refusal_of(error: minijinja.TemplateError, *, part: str, source: str | None, context: JsonObject) -> RenderRefused:
    """What stopped the template, by part, line and kind. `source` is what the error's place refers to, if known."""
    pointer = f"/{part}"
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
    try:
        absent = sorted(mentioned_names(make_environment(), source) - context.keys())
    except minijinja.TemplateError:
        return None
    spot = _spot(source.encode(), error.range)
    if _PATH.match(spot) and (not absent or spot.partition(".")[0] in absent):
        return spot
    return absent[0] if len(absent) == 1 and _PATH.match(absent[0]) else None
