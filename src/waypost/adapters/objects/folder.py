"""Objects as files of a folder: `<folder>/<tenant>/<key>`. Nothing is fetched over a network, and no link is followed.

Each part of the path is opened below the one before it, so nothing that happens meanwhile leads out of the folder."""

import asyncio
import os
import stat
from pathlib import Path
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class ObjectFolder:
    """Implements `kernel.blobs.ObjectStore`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def read(self, tenant_id: str, key: str, most_bytes: int) -> bytes | None:
        return await asyncio.to_thread(self._read, tenant_id, key, most_bytes)

    def _read(self, tenant_id: str, key: str, most_bytes: int) -> bytes | None:
        *folders, name = [tenant_id, *key.split("/")]
        if any(part in ("", ".", "..") or "\0" in part for part in (*folders, name)):
            return None
        try:
            place = os.open(self._folder, _FOLDER & ~os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            for part in folders:
                inner = os.open(part, _FOLDER, dir_fd=place)
                os.close(place)
                place = inner
            file = os.open(name, _FILE, dir_fd=place)
        except OSError:
            return None
        finally:
            os.close(place)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                return None
            content = _read_up_to(file, most_bytes + 1)
        except OSError:
            return None
        finally:
            os.close(file)
        if len(content) > most_bytes:
            raise ValueError("the object is too large")
        return content


def _read_up_to(file: int, most: int) -> bytes:
    pieces, left = list[bytes](), most
    while left and (piece := os.read(file, left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)
