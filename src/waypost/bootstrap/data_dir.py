"""The data directory: ours alone, closed to everybody else."""

import os
import stat
from pathlib import Path
from typing import Final

from waypost.kernel.errors import Misconfigured

_OURS: Final = ("master.key", "dev.env", "postgres", "waypost.toml")


def open_data_dir(path: Path) -> None:
    """Makes the directory with mode 0700. One that stood open is closed if it is ours, refused if it is not."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.stat()
        names = {entry.name for entry in path.iterdir()}
    except FileExistsError:
        raise Misconfigured(f"{path} is a file: name a directory with --data-dir.") from None
    except OSError as error:
        raise Misconfigured(f"The data directory {path} cannot be used: {error.strerror}.") from None
    if found.st_uid != os.geteuid() and os.geteuid() != 0:
        raise Misconfigured(f"The data directory {path} belongs to another user: name another with --data-dir.")
    if stat.S_IMODE(found.st_mode) & 0o077:
        if names and not names & set(_OURS):
            raise Misconfigured(
                f"{path} holds other things and is open to other users: name an empty directory with --data-dir."
            )
        path.chmod(0o700)
