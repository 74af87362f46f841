"""A real `waypost up`, once per session: own data directory, own ports, real processes."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from waypost.cli import dev_env
from waypost.client import Client

WAYPOST = str(Path(sys.executable).with_name("waypost"))
CLOSING_LINE = "Ctrl-C stops everything"
PATIENCE = 60.0


def clean_environment(**more: str) -> dict[str, str]:
    """The tests' own environment, without settings that somebody has in their shell."""
    return {**{name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}, **more}


class Up:
    """One running `waypost up`."""

    def __init__(self, data_dir: Path, process: subprocess.Popen[str]) -> None:
        self.data_dir = data_dir
        self.process = process
        self.said: list[str] = []
        self._greeted = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def environment(self) -> dict[str, str]:
        return dev_env.read(self.data_dir)

    @property
    def url(self) -> str:
        return self.environment["WAYPOST_URL"]

    @property
    def api_key(self) -> str:
        return self.environment["WAYPOST_API_KEY"]

    @property
    def platform_key(self) -> str:
        return self.environment["WAYPOST_PLATFORM_KEY"]

    @property
    def status(self) -> Mapping[str, int]:
        """Process ids and ports, as the supervisor writes them down."""
        return json.loads((self.data_dir / "up.json").read_text())

    @property
    def output(self) -> str:
        return "".join(self.said)

    def client(self, *, platform: bool = False, tenant: str | None = None) -> Client:
        return Client(self.url, self.platform_key if platform else self.api_key, tenant=tenant, tries=10)

    def wait_until_greeted(self) -> None:
        if not self._greeted.wait(PATIENCE) or CLOSING_LINE not in self.output:
            self.process.kill()
            raise AssertionError(f"waypost up did not come up:\n{self.output}")

    def stop(self, how: signal.Signals = signal.SIGINT) -> int:
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.said.append(line)
                if CLOSING_LINE in line:
                    self._greeted.set()
        self._greeted.set()


@contextmanager
def waypost_up(
    data_dir: Path,
    *options: str,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    user: int | None = None,
) -> Iterator[Up]:
    """`waypost up` on any free port, greeted; stopped at the end if it still runs."""
    for is_last in (False, False, True):
        process = subprocess.Popen(
            [WAYPOST, "up", "--port", "0", "--data-dir", str(data_dir), *options],
            env=clean_environment(**(environment or {})),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=cwd or data_dir.parent,
            user=user,
            group=user,
            extra_groups=[] if user is not None else None,
        )
        up = Up(data_dir, process)
        try:
            up.wait_until_greeted()
        except AssertionError:
            up.stop()
            # What was free when it looked may be taken by another test a moment later.
            if is_last or "is taken" not in up.output:
                raise
            continue
        try:
            yield up
        finally:
            up.stop()
        return


def waypost(*words: str, data_dir: Path, check: bool = True, **options: str) -> subprocess.CompletedProcess[str]:
    """One command from the shell."""
    done = subprocess.run(
        [WAYPOST, *words, "--data-dir", str(data_dir)],
        env=clean_environment(**options),
        cwd=data_dir.parent,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if check and done.returncode != 0:
        raise AssertionError(f"waypost {' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


@pytest.fixture(scope="session")
def alive() -> Callable[[int], bool]:
    """Whether a process lives; one that waits to be buried does not."""

    def look(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except FileNotFoundError:
            return False

    return look


@pytest.fixture(scope="session")
def eventually() -> Callable[..., object]:
    """The first truthy answer of a condition. These are real processes: they take real time."""

    def wait(condition: Callable[[], object], seconds: float = PATIENCE) -> object:
        deadline = time.monotonic() + seconds
        while not (found := condition()):
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.02)
        return found

    return wait


@pytest.fixture(scope="session")
def short_tmp() -> Iterator[Path]:
    """A short path: socket addresses end at about 100 bytes, and pytest's own paths are long."""
    with tempfile.TemporaryDirectory(prefix="wpj-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="session")
def up(short_tmp: Path) -> Iterator[Up]:
    # Webhooks of the tests lead to this machine.
    with waypost_up(short_tmp / "shared", environment={"WAYPOST_OUTBOUND_ALLOW": "127.0.0.0/8"}) as running:
        yield running


@pytest.fixture(scope="session")
def server(up: Up) -> Up:
    """The running Waypost, for those who only want its environment."""
    return up


@pytest.fixture
async def client(up: Up) -> AsyncIterator[Client]:
    async with up.client() as opened:
        yield opened


@pytest.fixture
def fresh_dir(short_tmp: Path) -> Path:
    """A data directory that nobody has used, not made yet."""
    return Path(tempfile.mkdtemp(dir=short_tmp)) / "data"


@pytest.fixture
def start() -> Iterator[Callable[..., Up]]:
    """Starts a `waypost up` of one's own; see `waypost_up`."""
    with ExitStack() as stack:
        yield lambda data_dir, *options, **more: stack.enter_context(waypost_up(data_dir, *options, **more))


@pytest.fixture
def shell(up: Up) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Commands from the shell that find the running Waypost by its data directory; see `waypost`."""
    return lambda *words, **more: waypost(*words, **{"data_dir": up.data_dir, **more})
