"""Images that a message carries, put into its HTML, so that it can be looked at by itself."""

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Final

from waypost.kernel.attachments import FileRef

_NAMED: Final = re.compile(r"""(?<=["'(=\s])cid:([A-Za-z0-9][A-Za-z0-9._+=@-]{0,127})""", re.IGNORECASE)


def images_of(html: str | None, files: Sequence[FileRef]) -> dict[str, FileRef]:
    """The files that the HTML shows, by their content id."""
    named = set(_NAMED.findall(html or ""))
    return {
        file.content_id: file
        for file in files
        if file.content_id is not None and file.content_id in named and file.content_type.lower().startswith("image/")
    }


def with_images(html: str, images: Mapping[str, FileRef], contents: Mapping[bytes, bytes]) -> str:
    """What is not there, or is no image, stays a `cid:` that leads nowhere."""
    shown = {
        name: f"data:{file.content_type.partition(';')[0]};base64,{base64.b64encode(contents[file.digest]).decode()}"
        for name, file in images.items()
        if file.digest in contents
    }
    return _NAMED.sub(lambda found: shown.get(found[1], found[0]), html)
