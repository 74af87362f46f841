"""Static files under names that change with their content, so that a browser may keep them for ever."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent / "static"
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
FOREVER: Final = "public, max-age=31536000, immutable"


@dataclass(frozen=True, kw_only=True, slots=True)
class Asset:
    name: str
    """With the hash of its content: `console.1f2e3d4c5b6a.css`."""
    body: bytes
    media_type: str


def read_assets() -> dict[str, Asset]:
    """By plain name."""
    found: dict[str, Asset] = {}
    for path in sorted(_FOLDER.iterdir()):
        if path.suffix in _TYPES:
            body = path.read_bytes()
            name = f"{path.stem}.{hashlib.sha256(body).hexdigest()[:12]}{path.suffix}"
            found[path.name] = Asset(name=name, body=body, media_type=_TYPES[path.suffix])
    return found
