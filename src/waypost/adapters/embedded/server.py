"""Starts and stops the PostgreSQL that comes with Waypost.

Everything lies in the data directory: the cluster `postgres/` with its socket, `postgres.password` of its superuser,
`postgres.log`, and `postgres.lock`, which one Waypost holds at a time. No TCP port is opened.
"""

import asyncio
import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Final
from urllib.parse import quote

from waypost.adapters.embedded import cluster as clusters
from waypost.adapters.embedded.account import account_for
from waypost.adapters.embedded.binaries import programs_for
from waypost.kernel.clock import Clock, SystemClock
from waypost.kernel.errors import Misconfigured

_SETTINGS: Final = {
    "listen_addresses": "",
    "unix_socket_directories": ".",
    "unix_socket_permissions": "0700",
    "max_connections": "60",
    "shared_buffers": "128MB",
    "max_wal_size": "512MB",
    "autovacuum_naptime": "5s",
    "password_encryption": "scram-sha-256",
    # No value of ours reaches the log: no ERROR lines (they quote input), no statements, parameters or details.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_error_verbosity": "terse",
    "log_checkpoints": "off",
}
_LONGEST_SOCKET_DIRECTORY: Final = 85
_LARGEST_LOG: Final = 10_000_000
_POLL_SECONDS: Final = 0.01
_WATCH_SECONDS: Final = 0.1
_PATIENCE_SECONDS: Final = 60.0


class EmbeddedServer:
    def __init__(
        self, data_dir: Path, *, clock: Clock | None = None, settings: Mapping[str, str] | None = None
    ) -> None:
        self._data_dir = data_dir.absolute()
        self._cluster = self._data_dir / "postgres"
        self._clock = clock or SystemClock()
        self._settings = {**_SETTINGS, **(settings or {})}
        self._lock: IO[str] | None = None
        self._alias: ShortName | None = None
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self) -> str:
        """The superuser's URL, once the server accepts connections; recovery after a crash takes the time it takes."""
        try:
            self._take_lock()
            await self._launch()
            return self._dsn()
        except OSError as error:
            await self.stop()
            raise Misconfigured(
                f"The data directory {self._data_dir} cannot be used: {error.strerror}. It must belong to the user who "
                "starts Waypost."
            ) from error
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """A fast shutdown: sessions are ended, everything is written, and the data directory is free again."""
        if self._process is not None:
            if self._process.poll() is None:
                self._process.send_signal(signal.SIGINT)
                if not await self._exits_within(_PATIENCE_SECONDS):
                    self._process.send_signal(signal.SIGQUIT)
            await asyncio.to_thread(self._process.wait)
            self._process = None
        if self._alias is not None:
            self._alias.close()
            self._alias = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    async def wait(self) -> int:
        """Returns when the server has ended by itself, which it should not."""
        if self._process is None:
            raise RuntimeError("The embedded server was not started.")
        while (code := self._process.poll()) is None:
            await self._clock.sleep(_WATCH_SECONDS)
        return code

    def _take_lock(self) -> None:
        self._data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._data_dir.chmod(0o700)
        lock = (self._data_dir / "postgres.lock").open("a+", encoding="ascii")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise Misconfigured(
                f"The data directory {self._data_dir} is in use by another Waypost. Stop that one, or name another "
                "directory with --data-dir.",
                code="data_dir_in_use",
            ) from None
        self._lock = lock

    async def _launch(self) -> None:
        exists = (self._cluster / "PG_VERSION").exists()
        account = account_for(self._cluster if exists else self._data_dir)
        programs = programs_for(account)
        password = clusters.superuser_password(self._password_file, cluster_exists=exists)
        if exists:
            clusters.check_version(self._cluster, programs)
            await end_leftover(self._cluster, self._clock)
        else:
            await asyncio.to_thread(clusters.create, self._cluster, programs, account, password)
        command = [programs / "postgres", "-D", clusters.name_of(self._cluster)]
        for name, value in self._settings.items():
            command += ["-c", f"{name}={value}"]
        with self._open_log() as log:
            self._process = account.spawn(
                command, directory=self._cluster, output=log, environment=clusters.quiet_environment()
            )
        await self._ready(self._process)

    async def _ready(self, process: subprocess.Popen[bytes]) -> None:
        while clusters.postmaster(self._cluster) != (process.pid, "ready"):
            if process.poll() is not None:
                raise Misconfigured(
                    f"The embedded PostgreSQL ended while starting. Its log, {self._log_file}, says: "
                    + " ".join(self._log_file.read_text(encoding="utf-8", errors="replace").splitlines()[-2:])
                )
            await self._clock.sleep(_POLL_SECONDS)

    async def _exits_within(self, seconds: float) -> bool:
        process = self._process
        waited = 0.0
        while process is not None and process.poll() is None and waited < seconds:
            await self._clock.sleep(_POLL_SECONDS)
            waited += _POLL_SECONDS
        return process is None or process.poll() is not None

    @property
    def _password_file(self) -> Path:
        return self._data_dir / "postgres.password"

    @property
    def _log_file(self) -> Path:
        return self._data_dir / "postgres.log"

    def _open_log(self) -> IO[bytes]:
        with suppress(FileNotFoundError):
            if self._log_file.stat().st_size > _LARGEST_LOG:
                self._log_file.replace(self._log_file.with_suffix(".log.1"))
        descriptor = os.open(self._log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return os.fdopen(descriptor, "ab")

    def _dsn(self) -> str:
        password = self._password_file.read_text(encoding="ascii").strip()
        host = quote(str(self._socket_directory()), safe="")
        return f"postgresql://{clusters.SUPERUSER}:{quote(password, safe='')}@/postgres?host={host}"

    def _socket_directory(self) -> Path:
        """Socket addresses end at about 100 bytes; a longer path gets a short name in a private directory."""
        if len(os.fsencode(self._cluster)) <= _LONGEST_SOCKET_DIRECTORY:
            return self._cluster
        self._alias = ShortName(self._cluster)
        return self._alias.path


class ShortName:
    """A short path to a directory, in a private directory of its own."""

    def __init__(self, target: Path) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="waypost-"))
        self.path = self._directory / "pg"
        self.path.symlink_to(target)
        # Cleaners of temporary directories leave alone what is locked.
        self._lock = os.open(self._directory, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_SH)

    def close(self) -> None:
        os.close(self._lock)
        shutil.rmtree(self._directory, ignore_errors=True)


async def end_leftover(cluster: Path, clock: Clock) -> None:
    """Ends a server that its Waypost left behind. Only for who holds the lock, or knows that nobody does."""
    written = clusters.postmaster(cluster)
    if written is None:
        return
    waited = 0.0
    while at_work := clusters.at_work(cluster):
        if written[0] in at_work:
            with suppress(ProcessLookupError):
                os.kill(written[0], signal.SIGINT if waited < _PATIENCE_SECONDS else signal.SIGQUIT)
        elif waited > _PATIENCE_SECONDS:
            raise Misconfigured(f"Processes of an earlier PostgreSQL still work in {cluster}: {at_work}.")
        await clock.sleep(_WATCH_SECONDS)
        waited += _WATCH_SECONDS
    # Its number may by now belong to another program of the same account, which PostgreSQL would take for a server.
    if clusters.CAN_SEE_PROCESSES:
        (cluster / "postmaster.pid").unlink(missing_ok=True)
