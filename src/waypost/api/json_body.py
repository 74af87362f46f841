"""The door for JSON bodies: what is not plain, bounded, unambiguous JSON of the stated shape does not come in.

Refused: bytes that are not UTF-8, nesting beyond 64, NUL and lone surrogates (PostgreSQL and mail cannot hold them),
duplicate keys (two readers would see two requests), numbers that are not finite, unknown fields, wrong types.
"""

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, NoReturn, TypeVar, cast

import msgspec

from waypost.api.http_errors import UnsupportedMediaType
from waypost.api.moments import in_utc
from waypost.api.shape_refusals import UNSTORABLE, escape, shape_refusal
from waypost.kernel.errors import FieldError, MalformedRequest, Refused

Shape = TypeVar("Shape")

DEEPEST: Final = 64
_decode: Final = msgspec.json.Decoder().decode
_encode: Final = msgspec.json.Encoder().encode
_INTEGERS: Final = range(-(2**63), 2**63)
_LONGEST_INTEGER: Final = 20
_DIGITS_AS_ZEROS: Final = bytes(48 if chr(code) in "0123456789" else 32 for code in range(256))
_NINETEEN_DIGITS: Final = b"0" * 19
_BETWEEN: Final = b"\0"
_OPENERS_AS_ONE: Final = bytes.maketrans(b"[", b"{")
_NO_OPENERS: Final = bytes(code for code in range(256) if code not in b"[{" + _BETWEEN)
_TOO_MANY_OPENERS: Final = b"{" * (DEEPEST + 1)


def check_media_type(content_type: str | None) -> None:
    if not is_json(content_type):
        raise UnsupportedMediaType("Send the body as Content-Type: application/json, in UTF-8.")


def is_json(content_type: str | None, media_type: str = "application/json") -> bool:
    essence, _, parameters = (content_type or "").partition(";")
    charset = parameters.strip().lower()
    return essence.strip().lower() == media_type and charset in {"", "charset=utf-8", 'charset="utf-8"'}


def read_body(body: bytes, shape: type[Shape], *, everyday: bool = False) -> Shape:
    """The body as `shape`. Every refusal names the field by JSON pointer.

    `everyday`: it is part of what `is_everyday` said yes to."""
    return read_plain(read_object(body, everyday=everyday), shape)


def read_together(bodies: Sequence[bytes], shape: type[Shape]) -> list[Shape] | None:
    """Many bodies at once, each of them JSON by itself: None where any needs a closer look, or is refused. In half the
    time that they take one by one."""
    together = b",".join(bodies)
    openers = _BETWEEN.join(bodies).translate(_OPENERS_AS_ONE, _NO_OPENERS)
    if _TOO_MANY_OPENERS in openers or not is_everyday(together):
        return None
    try:
        plain = _decode(b"[" + together + b"]")
        if _encode(plain).count(b":") != together.count(b":"):
            return None
        return [in_utc(one) for one in msgspec.convert(plain, list[shape], strict=True)]  # type: ignore[valid-type]
    except (ValueError, RecursionError, Refused):
        return None


def read_plain(plain: dict[str, Any], shape: type[Shape]) -> Shape:
    try:
        return in_utc(msgspec.convert(plain, shape, strict=True))
    except msgspec.ValidationError as refusal:
        raise shape_refusal(str(refusal), plain, shape, strict=True) from None


def read_parameters(parameters: dict[str, str], shape: type[Shape]) -> Shape:
    """Query parameters as `shape`: text becomes numbers, moments and words where the shape wants them."""
    try:
        return in_utc(msgspec.convert(parameters, shape, strict=False))
    except msgspec.ValidationError as refusal:
        raise shape_refusal(str(refusal), parameters, shape, strict=False) from None


def is_everyday(text: bytes) -> bool:
    """Without an escape no string can hold NUL or a surrogate, without 19 digits in a row no integer is too large."""
    # To look for one character takes a tenth of looking for two.
    escaped = b"\\" in text and b"\\u" in text
    return not escaped and _NINETEEN_DIGITS not in text.translate(_DIGITS_AS_ZEROS)


def read_object(body: bytes, *, everyday: bool = False) -> dict[str, Any]:
    plain = _read_plainly(body, everyday=everyday)
    return _read_warily(body) if plain is None else plain


def _read_plainly(body: bytes, *, everyday: bool = False) -> dict[str, Any] | None:
    """The object, where nothing in it needs a closer look: it is everyday; without 64 openers nothing can be too deep;
    and where a key comes twice, it is written again with fewer colons."""
    if body.count(b"{") + body.count(b"[") > DEEPEST or not (everyday or is_everyday(body)):
        return None
    try:
        plain: object = _decode(body)
        if not isinstance(plain, dict):
            return None
        again = _encode(plain)
        if again != body and again.count(b":") != body.count(b":"):
            return None
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", plain)


def _read_warily(body: bytes) -> dict[str, Any]:
    """The same for any body, with the reason where it is refused."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise malformed("not_utf8", "The body is not valid UTF-8.") from None
    try:
        plain: object = json.loads(
            text,
            object_pairs_hook=_object_of,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_bounded_int,
        )
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        raise malformed("invalid_json", "The body is not valid JSON.") from None
    if not isinstance(plain, dict):
        raise malformed("not_an_object", "The body must be a JSON object.")
    found = cast("dict[str, Any]", plain)
    # Without an escape no string can hold NUL or a surrogate; without 64 openers nothing can be too deep.
    if "\\u" in text or text.count("{") + text.count("[") > DEEPEST:
        _check_inside(found)
    return found


def _object_of(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise malformed("duplicate_key", "An object in the body names one of its keys twice.")
    return found


def _refuse_constant(_word: str) -> NoReturn:
    raise malformed("not_finite", "NaN and Infinity are not JSON.")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise malformed("number_too_large", "A number in the body is beyond what a double can hold.")
    return number


def _bounded_int(digits: str) -> int:
    if len(digits) > _LONGEST_INTEGER or (number := int(digits)) not in _INTEGERS:
        raise malformed("number_too_large", "An integer in the body does not fit into 64 bits.")
    return number


def _check_inside(root: dict[str, Any]) -> None:
    waiting: list[tuple[object, str, int]] = [(root, "", 1)]
    while waiting:
        value, pointer, depth = waiting.pop()
        if isinstance(value, str):
            if UNSTORABLE.search(value):
                raise _unstorable(pointer)
        elif isinstance(value, dict | list):
            if depth > DEEPEST:
                raise _too_deep()
            inside = cast("dict[str, object] | list[object]", value)
            waiting.extend((child, f"{pointer}/{name}", depth + 1) for name, child in _children(inside, pointer))


def _children(value: "dict[str, object] | list[object]", pointer: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, list):
        yield from ((str(index), child) for index, child in enumerate(value))
        return
    for name, child in value.items():
        if UNSTORABLE.search(name):
            raise _unstorable(pointer)
        yield escape(name), child


def _unstorable(pointer: str) -> Refused:
    message = "Holds a NUL character or half of a surrogate pair; leave it out."
    return MalformedRequest(
        message,
        code="unstorable_character",
        errors=[FieldError(pointer=pointer, code="unstorable_character", message=message)],
    )


def _too_deep() -> MalformedRequest:
    return malformed("too_deep", f"The body is nested deeper than {DEEPEST} levels.")


def malformed(code: str, message: str) -> MalformedRequest:
    return MalformedRequest(message, code=code, errors=[FieldError(pointer="", code=code, message=message)])
