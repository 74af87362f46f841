"""Bodies of many items: a JSON array, or one JSON object per line (NDJSON).

Items come in through the same door as a body of one, each on its own: what is wrong with one is its own refusal. They
are read slice by slice, so that ten thousand of them are never all unpacked at once.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Generic, TypeVar

import msgspec

from waypost.api.http_errors import UnsupportedMediaType
from waypost.api.json_body import is_json, malformed, read_body, read_together
from waypost.kernel.errors import FieldError, Refused, TooLarge, refuse

Shape = TypeVar("Shape")

NDJSON: Final = "application/x-ndjson"
MOST_ITEMS: Final = 10_000
BULK_BYTES: Final = 16_777_216
BULKS_AT_ONCE: Final = 4
"""Bulks being worked on in one process: each holds its body in memory until it is answered."""
_SLICE: Final = 500
_pieces: Final = msgspec.json.Decoder(list[msgspec.Raw])


class Items(Generic[Shape]):
    """The items of a body, not yet read."""

    def __init__(self, pieces: Sequence[bytes | msgspec.Raw], shape: type[Shape], *, parsed: bool = False) -> None:
        """`parsed`: each of them is JSON by itself."""
        self._pieces = pieces
        self._shape = shape
        self._parsed = parsed

    def __len__(self) -> int:
        return len(self._pieces)

    def slices(self, size: int = _SLICE) -> Iterator[Sequence[tuple[bytes, Shape | Refused]]]:
        """Each item as it was written, and as it reads or why it does not."""
        for start in range(0, len(self._pieces), size):
            pieces = [bytes(piece) for piece in self._pieces[start : start + size]]
            read = read_together(pieces, self._shape) if self._parsed else None
            yield (
                [(piece, self._read(piece)) for piece in pieces]
                if read is None
                else list(zip(pieces, read, strict=True))
            )

    def _read(self, piece: bytes) -> Shape | Refused:
        try:
            return read_body(piece, self._shape)
        except Refused as refusal:
            return refusal


def read_items(content_type: str | None, raw: bytes, shape: type[Shape]) -> Items[Shape]:
    parsed = is_json(content_type)
    if parsed:
        pieces = _of_array(raw)
    elif is_json(content_type, NDJSON):
        pieces = [line for line in raw.split(b"\n") if line.strip()]
    else:
        raise UnsupportedMediaType(f"Send the body as application/json or as {NDJSON}, in UTF-8.")
    if not pieces:
        raise refuse("", "required", "Give at least one item.")
    if len(pieces) > MOST_ITEMS:
        message = f"At most {MOST_ITEMS} items in one call; split it."
        raise TooLarge(message, code="too_many", errors=[FieldError(pointer="", code="too_many", message=message)])
    return Items(pieces, shape, parsed=parsed)


def _of_array(raw: bytes) -> Sequence[msgspec.Raw]:
    try:
        return _pieces.decode(raw)
    except RecursionError:
        raise malformed("too_deep", "The body is nested too deeply.") from None
    except msgspec.ValidationError:
        raise malformed("not_an_array", "The body must be a JSON array of items.") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise malformed("invalid_json", "The body is not valid JSON.") from None
