"""Bodies that are files: never held whole, kept part by part as they come.

Either `multipart/form-data`, with `options` (JSON) before `file`, or the file itself as `text/csv`, with the options in
the query.
"""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Any, Final, Generic, TypeVar

from msgspec import Meta
from multipart import MultipartError, MultipartSegment, PushMultipartParser

from waypost.api.http_errors import UnsupportedMediaType
from waypost.api.json_body import read_body
from waypost.api.shapes import Shape
from waypost.imports.desk import Upload
from waypost.kernel.errors import FieldError, MalformedRequest

Options = TypeVar("Options")

UPLOAD_BYTES: Final = 269_484_032
"""The largest file, and a megabyte for what surrounds it."""
_OPTION_BYTES: Final = 65_536
_CHARSET: Final = re.compile(r';\s*charset="?([^";\s]+)', re.IGNORECASE)
_BOUNDARY: Final = re.compile(r';\s*boundary="?([^";\s]{1,70})', re.IGNORECASE)


class OptionsQuery(Shape):
    """For a file that is the body itself."""

    options: Annotated[str, Meta(max_length=65_536)] | None = None


@dataclass(frozen=True, slots=True)
class Uploaded(Generic[Options]):
    """A file that has arrived, and what was said about it."""

    options: Options
    upload: Upload


async def read_upload(
    content_type: str, pieces: AsyncIterator[bytes], upload: Upload, said: str | None, shape: type[Any]
) -> Uploaded[Any]:
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "text/csv":
        charset = _CHARSET.search(content_type)
        if charset is not None and charset[1].lower() not in ("utf-8", "utf8"):
            raise UnsupportedMediaType("Send the file in UTF-8.")
        async for piece in pieces:
            await upload.feed(piece)
        options = b"{}" if said is None else said.encode()
    elif kind == "multipart/form-data":
        boundary = _BOUNDARY.search(content_type)
        if boundary is None:
            raise _malformed("The form names no boundary.")
        options = await _read_form(boundary[1], pieces, upload)
    else:
        raise UnsupportedMediaType("Send the file as multipart/form-data or as text/csv.")
    await upload.close()
    return Uploaded(options=read_body(options, shape), upload=upload)


async def _read_form(boundary: str, pieces: AsyncIterator[bytes], upload: Upload) -> bytes:
    options = bytearray()
    found: set[str] = set()
    name = ""
    try:
        with PushMultipartParser(boundary, max_segment_count=2) as parser:
            async for piece in pieces:
                for event in parser.parse(piece):
                    if isinstance(event, MultipartSegment):
                        name = event.name
                        if name not in ("options", "file") or name in found:
                            raise _malformed("A form has the fields `options` and `file`, each once.")
                        found.add(name)
                    elif event and name == "file":
                        await upload.feed(bytes(event))
                    elif event:
                        options += event
                        if len(options) > _OPTION_BYTES:
                            raise _malformed("The options have at most 64 KB.")
    except (MultipartError, ValueError):
        raise _malformed("The form cannot be read.") from None
    if "file" not in found:
        raise _malformed("The form has no `file`.")
    return bytes(options) or b"{}"


def _malformed(message: str) -> MalformedRequest:
    error = FieldError(pointer="", code="invalid_form", message=message)
    return MalformedRequest(message, code="invalid_form", errors=[error])
