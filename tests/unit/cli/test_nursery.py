"""The nursery forks children that know only what they are told, tells how they end, and goes with its supervisor.

It must be opened in a process without threads or loop, so each test runs in an interpreter of its own.
"""

import asyncio
import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from waypost.cli.supervisor.nursery import Nursery

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere interpreters are started afresh")

CHILD = """
import json, os, sys
here = {"argv": sys.argv, "told": os.environ.get("TOLD"), "path": "PATH" in os.environ,
        "session": os.getsid(0) == os.getpid(), "preloaded": "decimal" in sys.modules,
        "descriptors": len(os.listdir("/proc/self/fd")), "pid": os.getpid(),
        "name": open("/proc/self/comm").read().strip()}
open(os.environ["OUT"], "w").write(json.dumps(here))
if os.environ.get("THEN") == "wait":
    sys.stdin.buffer.raw.read(1)
    open(os.environ["OUT"] + ".end", "w").write("my supervisor has gone")
elif os.environ.get("THEN") == "break":
    raise RuntimeError("broken")
else:
    sys.exit(int(os.environ.get("THEN", 0)))
"""


def run(folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    (folder / "nursery_child.py").write_text(CHILD)
    script = (
        "import asyncio, json, os, signal, sys, pathlib\n"
        f"sys.path.insert(0, {str(folder)!r})\n"
        "from waypost.cli.supervisor.nursery import open_nursery\n"
        "from waypost.kernel.errors import Unavailable\n"
        "nursery = open_nursery(['decimal'])\n"
        f"OUT = {str(folder / 'out.json')!r}\n"
        "async def main():\n    nursery.listen()\n"
        + "".join(f"    {line}\n" for line in body.strip().splitlines())
        + "\n"
        "asyncio.run(main())\n"
    )
    return subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, timeout=60)


def test_a_child_knows_what_it_is_told_and_no_more(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
born = await nursery.spawn("nursery_child", {"OUT": OUT, "TOLD": "yes"})
print(born.pid, await born.wait(), born.returncode)
""",
    )
    said = json.loads((tmp_path / "out.json").read_text())
    assert done.stdout.split() == [str(said["pid"]), "0", "0"], done.stderr
    assert said == {
        "argv": said["argv"],
        "told": "yes",
        "path": False,
        "session": True,
        "preloaded": True,
        "descriptors": 4,
        "pid": said["pid"],
        "name": "waypost nursery",
    }
    assert said["argv"][1:] == ["--supervised"]


@pytest.mark.parametrize(("then", "code"), [("78", "78"), ("0", "0"), ("break", "1")])
def test_how_it_ended_is_told(tmp_path: Path, then: str, code: str) -> None:
    done = run(
        tmp_path,
        f"""
born = await nursery.spawn("nursery_child", {{"OUT": OUT, "THEN": {then!r}}})
print(await born.wait())
""",
    )
    assert done.stdout.strip() == code
    assert ("RuntimeError: broken" in done.stderr) == (then == "break")


async def test_a_child_that_dies_before_its_birth_was_heard_of_has_ended_too() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        nursery = Nursery(ours)
        theirs.send(b'{"pid": 7}')
        theirs.send(b'{"pid": 7, "code": 78}')
        nursery.listen()
        born = await asyncio.wait_for(nursery.spawn("any", {}), 30)
        assert await asyncio.wait_for(born.wait(), 30) == 78
        asyncio.get_running_loop().remove_reader(ours)


def test_a_killed_child_is_told_by_its_signal_and_the_next_one_starts(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
born = await nursery.spawn("nursery_child", {"OUT": OUT, "THEN": "wait"})
born.kill()
print(await born.wait())
again = await nursery.spawn("nursery_child", {"OUT": OUT})
print(await again.wait())
""",
    )
    assert done.stdout.split() == ["-9", "0"], done.stderr


def test_what_was_born_stays_when_the_nursery_settles_and_the_next_one_starts_afresh(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        f"""
def parent_of(pid): return int(pathlib.Path(f"/proc/{{pid}}/stat").read_text().rpartition(")")[2].split()[1])
born = await nursery.spawn("nursery_child", {{"OUT": OUT, "THEN": "wait"}})
warden = parent_of(born.pid)
nursery.settle()
again = await nursery.spawn("nursery_child", {{"OUT": OUT + "2", "THEN": "3", "PYTHONPATH": {str(tmp_path)!r}}})
print(await again.wait(), json.loads(pathlib.Path(OUT + "2").read_text())["preloaded"])
print(parent_of(born.pid) == warden, pathlib.Path(f"/proc/{{warden}}/cmdline").read_bytes().split(b"/")[-1][:9])
born.kill()
print(await born.wait())
""",
    )
    assert done.stdout.splitlines() == ["3 False", "True b'warden.py'", "-9"], done.stderr


def test_a_settled_nursery_ends_with_its_supervisor_and_so_do_its_children(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        f"""
nursery.settle()
born = await nursery.spawn("nursery_child", {{"OUT": OUT, "THEN": "wait", "PYTHONPATH": {str(tmp_path)!r}}})
while not pathlib.Path(OUT).exists(): await asyncio.sleep(0.01)
print(pathlib.Path(f"/proc/{{born.pid}}/stat").read_text().rpartition(")")[2].split()[1])
sys.stdout.flush()
os._exit(9)
""",
    )
    warden, waited = Path("/proc") / done.stdout.strip(), 0
    while (warden.exists() or not (tmp_path / "out.json.end").exists()) and waited < 3000:
        subprocess.run(["sleep", "0.01"], check=True)
        waited += 1
    assert (tmp_path / "out.json.end").read_text() == "my supervisor has gone", done.stderr
    assert not warden.exists()


def test_children_notice_the_end_of_their_supervisor(tmp_path: Path) -> None:
    run(
        tmp_path,
        """
born = await nursery.spawn("nursery_child", {"OUT": OUT, "THEN": "wait"})
while not pathlib.Path(OUT).exists(): await asyncio.sleep(0.01)
os._exit(9)
""",
    )
    waited = 0
    while not (tmp_path / "out.json.end").exists() and waited < 1000:
        subprocess.run(["sleep", "0.01"], check=True)
        waited += 1
    assert (tmp_path / "out.json.end").read_text() == "my supervisor has gone"


def test_a_killed_nursery_ends_its_children_and_is_said(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
born = await nursery.spawn("nursery_child", {"OUT": OUT, "THEN": "wait"})
parent = int(pathlib.Path(f"/proc/{born.pid}/stat").read_text().rpartition(")")[2].split()[1])
os.kill(parent, signal.SIGKILL)
print(await born.wait())
try:
    await nursery.spawn("nursery_child", {"OUT": OUT})
except Unavailable as gone:
    print(gone.detail)
""",
    )
    assert done.stdout.splitlines() == [
        "-9",
        "The process that starts the others is gone. Run `waypost up` again.",
    ], done.stderr
