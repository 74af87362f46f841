"""How files that go along with messages are written and shown."""

import binascii
from collections.abc import Sequence
from typing import Annotated, Final, Literal

from msgspec import Meta

from waypost.api.shapes import Shape
from waypost.kernel.attachments import FileRef, NewFile
from waypost.kernel.errors import refuse

FILE_CODES: Final = [
    "content_or_object",
    "duplicate",
    "invalid_base64",
    "invalid_content_id",
    "invalid_content_type",
    "invalid_file_name",
    "invalid_object",
    "needs_content_id",
    "too_large",
    "too_many",
    "unknown_object",
]

_Filename = Annotated[str, Meta(description="What the file is called in the mail.", examples=["invoice-1001.pdf"])]
_Type = Annotated[str, Meta(description="Told by the file name without it.", examples=["application/pdf"])]
_Base64 = Annotated[str, Meta(description="The file, in base64.", examples=["SGVsbG8="])]
_ContentId = Annotated[str, Meta(description="The HTML shows it as `cid:logo`.", examples=["logo"])]
_Disposition = Annotated[
    Literal["attachment", "inline"], Meta(description="`inline`: shown inside the HTML by its `content_id`.")
]


class TemplateFileShape(Shape):
    filename: _Filename
    content: _Base64
    content_type: _Type | None = None
    disposition: _Disposition | None = None
    content_id: _ContentId | None = None


class AttachmentShape(Shape):
    """A file of an email: its bytes in `content`, or the key of an `object` that holds them."""

    filename: _Filename
    content: _Base64 | None = None
    object: (
        Annotated[
            str,
            Meta(description="A file that the operator has laid down for you.", examples=["invoices/1001.pdf"]),
        ]
        | None
    ) = None
    content_type: _Type | None = None
    disposition: _Disposition | None = None
    content_id: _ContentId | None = None


class FileView(Shape):
    filename: str
    content_type: str
    size: Annotated[int, Meta(description="In bytes.")]
    disposition: Annotated[str, Meta(extra_json_schema={"enum": ["attachment", "inline"]})]
    content_id: str | None


def new_files(shapes: Sequence[AttachmentShape | TemplateFileShape], pointer: str) -> tuple[NewFile, ...]:
    return tuple(_new_file(shape, f"{pointer}/{place}") for place, shape in enumerate(shapes))


def show_files(files: Sequence[FileRef]) -> list[FileView]:
    return [
        FileView(
            filename=file.filename,
            content_type=file.content_type,
            size=file.size,
            disposition="attachment" if file.content_id is None else "inline",
            content_id=file.content_id,
        )
        for file in files
    ]


def _new_file(shape: AttachmentShape | TemplateFileShape, pointer: str) -> NewFile:
    inline = shape.disposition == "inline"
    if inline != (shape.content_id is not None) and (inline or shape.disposition is not None):
        message = "What is shown inside the HTML has a `content_id`, and nothing else has."
        raise refuse(f"{pointer}/content_id", "needs_content_id", message)
    return NewFile(
        filename=shape.filename,
        content=None if shape.content is None else _decoded(shape.content, f"{pointer}/content"),
        object=shape.object if isinstance(shape, AttachmentShape) else None,
        content_type=shape.content_type,
        content_id=shape.content_id,
    )


def _decoded(text: str, pointer: str) -> bytes:
    try:
        return binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
    except (binascii.Error, UnicodeEncodeError):
        raise refuse(pointer, "invalid_base64", "This is not base64 (RFC 4648, with padding, on one line).") from None
