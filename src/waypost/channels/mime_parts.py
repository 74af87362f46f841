"""Files as parts of a message (RFC 2045, 2046, 2183, 2231, 2387), encoded once for all messages that carry them.

A message with files is cut in two. Its beginning differs from person to person and ends where the last of its own text
ends; its tail, which holds the files and closes what the beginning opened, is the same for everyone:

    mixed( alternative( text, related( html ┆ images ) ), files )

`=_` stands neither in quoted-printable nor in base64, so no boundary can stand in a part.
"""

import binascii
from collections.abc import Sequence
from typing import Final

from waypost.kernel.attachments import FileRef

ALTERNATIVE: Final = "=_waypost_alternative"
RELATED: Final = "=_waypost_related"
MIXED: Final = "=_waypost_mixed"

_BYTES_PER_LINE: Final = 57  # 76 characters
_COLUMNS: Final = 76
_UNQUOTED: Final = frozenset('"\\')
# RFC 2231 lets these stand as they are in an extended value.
_AS_THEY_ARE: Final = frozenset("!#$&+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def tail_of(files: Sequence[tuple[FileRef, bytes]], *, has_html: bool) -> bytes:
    """All that follows the words of a message: whole lines, none of which begins with a dot."""
    images, others = split(files, has_html=has_html)
    pieces: list[bytes] = []
    for file, content in images:
        pieces += [f"--{RELATED}\r\n".encode(), part_of(file, content, inline=True)]
    if images:
        pieces.append(f"--{RELATED}--\r\n".encode())
    if has_html:
        pieces.append(f"--{ALTERNATIVE}--\r\n".encode())
    for file, content in others:
        pieces += [f"--{MIXED}\r\n".encode(), part_of(file, content, inline=file.content_id is not None)]
    if others:
        pieces.append(f"--{MIXED}--\r\n".encode())
    return b"".join(pieces)


def split(
    files: Sequence[tuple[FileRef, bytes]], *, has_html: bool
) -> tuple[list[tuple[FileRef, bytes]], list[tuple[FileRef, bytes]]]:
    """Those that the HTML shows, and the others. Without HTML nothing shows an image: it is a file like any other."""
    images = [each for each in files if has_html and each[0].content_id is not None]
    return images, [each for each in files if not (has_html and each[0].content_id is not None)]


def part_of(file: FileRef, content: bytes, *, inline: bool) -> bytes:
    disposition = "inline" if inline else "attachment"
    head = (
        f"Content-Type: {file.content_type}\r\n"
        "Content-Transfer-Encoding: base64\r\n"
        f"Content-Disposition: {disposition};{file_name_parameter(file.filename)}\r\n"
    )
    if file.content_id is not None:
        head += f"Content-ID: <{file.content_id}>\r\n"
    return head.encode("ascii") + b"\r\n" + base64_lines(content)


def base64_lines(content: bytes) -> bytes:
    encode, view = binascii.b2a_base64, memoryview(content)
    lines = [
        encode(view[start : start + _BYTES_PER_LINE], newline=False) for start in range(0, len(view), _BYTES_PER_LINE)
    ]
    return b"\r\n".join([*lines, b""])


def file_name_parameter(name: str) -> str:
    """` filename="…"`, or by RFC 2231 in pieces where it is long or not ASCII."""
    plain = f' filename="{name}"'
    if name.isascii() and not _UNQUOTED & set(name) and len(plain) + len("Content-Disposition: attachment;") <= 78:
        return plain
    pieces, room = [""], _room(0)
    for character in name:
        encoded = character if character in _AS_THEY_ARE else _percent(character)
        if len(pieces[-1]) + len(encoded) > room:
            pieces.append("")
            room = _room(len(pieces) - 1)
        pieces[-1] += encoded
    if len(pieces) == 1:
        return f"\r\n filename*=utf-8''{pieces[0]}"
    first, *rest = pieces
    lines = [f"\r\n filename*0*=utf-8''{first}"]
    lines += [f"\r\n filename*{number}*={piece}" for number, piece in enumerate(rest, start=1)]
    return ";".join(lines)


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())


def _room(number: int) -> int:
    return _COLUMNS - len(f" filename*{number}*=;") - (len("utf-8''") if number == 0 else 0)
