"""The system user that runs the server. PostgreSQL refuses to run as root, so root lends it another account."""

import os
import pwd
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from waypost.kernel.errors import Misconfigured

_UNPRIVILEGED: Final = "nobody"


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    uid: int
    gid: int
    switched: bool
    """Not the account of this process: children must change to it before they run."""

    def spawn(
        self,
        command: Sequence[str | Path],
        *,
        directory: Path,
        output: IO[bytes] | int,
        environment: Mapping[str, str],
        keep: Sequence[int] = (),
    ) -> subprocess.Popen[bytes]:
        """Starts a program in a directory. The directory is entered before the account changes, so only it (and no
        parent of it) has to be open to that account. A session of its own keeps the terminal's Ctrl-C away."""
        return subprocess.Popen(  # noqa: S603 - our own programs with our own arguments
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=keep,
            start_new_session=True,
            user=self.uid if self.switched else None,
            group=self.gid if self.switched else None,
            extra_groups=[] if self.switched else None,
        )


def account_for(directory: Path) -> Account:
    """This process's account; for root, the owner of the directory or else an unprivileged account."""
    if os.geteuid() != 0:
        return Account(uid=os.geteuid(), gid=os.getegid(), switched=False)
    owner = directory.stat().st_uid
    try:
        entry = pwd.getpwuid(owner) if owner != 0 else pwd.getpwnam(_UNPRIVILEGED)
    except KeyError:
        raise Misconfigured(
            f"PostgreSQL does not run as root, and this system has no user {_UNPRIVILEGED} to run it. "
            "Start Waypost as another user, or set WAYPOST_DATABASE_URL."
        ) from None
    return Account(uid=entry.pw_uid, gid=entry.pw_gid, switched=True)
