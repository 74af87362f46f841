"""Checks of this machine: settings, data directory, master key."""

import stat
from collections.abc import Iterator
from typing import Final

from waypost.bootstrap.diagnosis import check_master_key
from waypost.cli.doctor.findings import Finding, fail, ok, warn
from waypost.kernel.errors import Misconfigured
from waypost.settings import Settings

_CLOSED_FILES: Final = ("master.key", "dev.env", "postgres.password", "up.json")


def check_installation(settings: Settings) -> Iterator[Finding]:
    chosen = sorted(name for name in settings.environment() if name != "WAYPOST_DATA_DIR")
    yield ok("settings", f"All readable; chosen: {', '.join(chosen) if chosen else 'none, all defaults'}.")
    yield from _check_data_dir(settings)
    try:
        check_master_key(settings)
        yield ok("master key", f"{settings.master_key_path} is readable, and by its owner only.")
    except Misconfigured as problem:
        yield fail("master key", problem.detail, "Restore the file from where it is kept safe; never make a new one.")


def _check_data_dir(settings: Settings) -> Iterator[Finding]:
    path = settings.data_dir
    if not path.is_dir():
        yield fail("data directory", f"{path} does not exist.", "Name it with --data-dir, or run `waypost up`.")
        return
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        yield fail("data directory", f"{path} is open to other users ({mode:04o}).", f"chmod 700 {path}")
    else:
        yield ok("data directory", f"{path} has mode {mode:04o}.")
    for name in _CLOSED_FILES:
        file = path / name
        if file.exists() and stat.S_IMODE(file.stat().st_mode) & 0o077:
            yield warn("data directory", f"{name} is open to other users.", f"chmod 600 {file}")
