"""Files that go along with a message: what a caller gives, what is kept of them, and what may be given at all."""

import mimetypes
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from waypost.kernel.errors import FieldError

MOST_FILES: Final = 20
LONGEST_FILE_NAME: Final = 150
LONGEST_CONTENT_TYPE: Final = 120
LONGEST_OBJECT_KEY: Final = 500
UNKNOWN_TYPE: Final = "application/octet-stream"

_WORD: Final = r"[A-Za-z0-9!#$&^_.+-]{1,80}"
_CONTENT_TYPE: Final = re.compile(rf"({_WORD})/{_WORD}(?:; ?{_WORD}={_WORD}){{0,3}}\Z")
_OWN_PARAMETERS: Final = re.compile(r"; ?(?:boundary|name|filename)(?:\*[^=]*)?=", re.IGNORECASE)
_COMPOSITE: Final = frozenset({"multipart", "message"})
"""What mail programs look into: it may not be encoded as a file, and nobody has looked at what is inside."""
_CONTENT_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=-]{0,62}(?:@[A-Za-z0-9][A-Za-z0-9.-]{0,62})?\Z")
_OBJECT_KEY: Final = re.compile(r"(?!\.)[A-Za-z0-9._=@+ -]+(?:/(?!\.)[A-Za-z0-9._=@+ -]+)*\Z")

# Only what the library itself knows: what the host's files say would differ from process to process.
_guess = mimetypes.MimeTypes(filenames=()).guess_type


@dataclass(frozen=True, kw_only=True, slots=True)
class FileLimits:
    """In bytes, before they are encoded for the wire."""

    each: int = 10 * 1024 * 1024
    together: int = 20 * 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class NewFile:
    """A file as a caller gives it: its bytes, or the key of an object that holds them."""

    filename: str
    content: bytes | None = field(default=None, repr=False)
    object: str | None = None
    content_type: str | None = None
    """Told by the file name's ending where it is missing."""
    content_id: str | None = None
    """Shown inside the HTML, as `cid:…`."""


class FileRef(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """A file whose bytes are kept apart (`kernel.blobs`). The order of the fields never changes."""

    digest: bytes
    """SHA-256 of the bytes: with the owner's key it leads to them and opens them."""
    filename: str
    content_type: str
    size: int
    content_id: str | None = None


def type_of(file: NewFile) -> str:
    return file.content_type or _guess(file.filename, strict=True)[0] or UNKNOWN_TYPE


def check_files(files: Sequence[NewFile], limits: FileLimits, *, pointer: str) -> Iterator[FieldError]:
    """What is wrong with them, each by its place below `pointer`. The size of an object is seen when it is read."""
    if len(files) > MOST_FILES:
        yield FieldError(pointer=pointer, code="too_many", message=f"At most {MOST_FILES} files.")
        return
    known = set[str]()
    for place, file in enumerate(files):
        below = f"{pointer}/{place}"
        yield from _faults(file, below)
        if file.content is not None and len(file.content) > limits.each:
            yield too_large(f"{below}/content", limits)
        if file.content_id is not None:
            if file.content_id in known:
                message = "Two files have this id."
                yield FieldError(pointer=f"{below}/content_id", code="duplicate", message=message)
            known.add(file.content_id)
    if sum(len(file.content or b"") for file in files) > limits.together:
        yield too_large_together(pointer, limits)


def too_large(pointer: str, limits: FileLimits) -> FieldError:
    return FieldError(pointer=pointer, code="too_large", message=f"A file has at most {limits.each:,} bytes.")


def too_large_together(pointer: str, limits: FileLimits) -> FieldError:
    return FieldError(pointer=pointer, code="too_large", message=f"All files have at most {limits.together:,} bytes.")


def _faults(file: NewFile, below: str) -> Iterator[FieldError]:
    if not _is_file_name(file.filename):
        message = f"A file name has 1 to {LONGEST_FILE_NAME} printable characters and no slash."
        yield FieldError(pointer=f"{below}/filename", code="invalid_file_name", message=message)
    if file.content_type is not None and not _is_content_type(file.content_type):
        message = "Write a type such as `application/pdf`; no multipart or message, no boundary or name."
        yield FieldError(pointer=f"{below}/content_type", code="invalid_content_type", message=message)
    if file.content_id is not None and not _CONTENT_ID.match(file.content_id):
        message = "An id is a word of up to 63 letters, digits and `._+=-`, perhaps with a domain after an `@`."
        yield FieldError(pointer=f"{below}/content_id", code="invalid_content_id", message=message)
    if (file.content is None) == (file.object is None):
        message = "Give either `content` or `object`, not both."
        yield FieldError(pointer=f"{below}/content", code="content_or_object", message=message)
    if file.object is not None and (len(file.object) > LONGEST_OBJECT_KEY or not _OBJECT_KEY.match(file.object)):
        message = "A key is a path such as `invoices/1001.pdf`: no part of it begins with a dot."
        yield FieldError(pointer=f"{below}/object", code="invalid_object", message=message)


def _is_file_name(name: str) -> bool:
    """`isprintable` is false of every line end, of control and invisible characters and of lone surrogates."""
    return (
        0 < len(name) <= LONGEST_FILE_NAME
        and name.isprintable()
        and not set(name) & set("/\\")
        and name == name.strip()
    )


def _is_content_type(text: str) -> bool:
    matched = _CONTENT_TYPE.match(text)
    return (
        matched is not None
        and len(text) <= LONGEST_CONTENT_TYPE
        and matched[1].lower() not in _COMPOSITE
        and not _OWN_PARAMETERS.search(text)
    )
