"""The life of `waypost up`: it starts once, heals, stops cleanly, and finds its data again."""

import asyncio
import os
import pwd
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from waypost.client import Client, Message

WAYPOST = str(Path(sys.executable).with_name("waypost"))
HELLO = Message(to={"email": "life@example.com"}, content={"subject": "Life", "text": "Life"})


def postmaster(data_dir: Path) -> int:
    return int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0])


async def subjects(client: Client) -> list[str]:
    return [mail.subject async for mail in client.mailbox.list(page_size=100)]


def test_it_greets_with_all_that_is_needed(up) -> None:
    assert up.url in up.output
    assert up.api_key in up.output
    assert "Welcome to Waypost, Reader" in up.output
    assert "mailbox show" in up.output
    assert f"curl -X POST {up.url}/v1/notifications" in up.output


def test_its_files_are_closed_to_others(up) -> None:
    assert stat.S_IMODE(up.data_dir.stat().st_mode) == 0o700
    for name in ("dev.env", "master.key", "up.json"):
        assert stat.S_IMODE((up.data_dir / name).stat().st_mode) == 0o600, name


def test_everything_listens_on_this_machine_only(up) -> None:
    pids = {up.status[name] for name in ("supervisor", "api", "worker")}
    inodes = set()
    for pid in pids:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            target = str(descriptor.readlink())
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    listening = [
        line.split()[1]
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/{os.getpid()}/net/{table}").read_text().splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[9] in inodes
    ]
    assert len(listening) >= 2
    assert {address.split(":")[0] for address in listening} == {"0100007F"}


async def test_stop_and_start_again_finds_the_same_data(start, fresh_dir: Path, alive) -> None:
    first = start(fresh_dir)
    keys = first.environment
    async with first.client() as client:
        await client.notifications.send(HELLO)
        known = {one.id async for one in client.notifications.list()}
    pids = [first.status[name] for name in ("supervisor", "api", "worker")]
    postgres = postmaster(fresh_dir)
    assert first.stop(signal.SIGINT) == 0
    assert not any(alive(pid) for pid in (*pids, postgres))
    assert not (fresh_dir / "up.json").exists()
    assert "rror" not in first.output.partition("Ctrl-C stops everything")[2]

    second = start(fresh_dir)
    assert {**second.environment, "WAYPOST_URL": ""} == {**keys, "WAYPOST_URL": ""}
    async with second.client() as client:
        assert {one.id async for one in client.notifications.list()} == known
        assert (await subjects(client)).count("Welcome to Waypost, Reader") == 1
    async with second.client(platform=True) as platform:
        assert [one.id async for one in platform.tenants.list()] == ["demo"]
    (fresh_dir / "dev.env").unlink()
    assert second.stop(signal.SIGTERM) == 0

    third = start(fresh_dir)
    assert third.api_key != keys["WAYPOST_API_KEY"]
    async with third.client() as client:
        assert {one.id async for one in client.notifications.list()} == known
    assert third.stop() == 0


async def test_killed_processes_come_back_and_nothing_is_lost(start, fresh_dir: Path, alive, eventually) -> None:
    up = start(fresh_dir)
    async with up.client() as client:
        for name in ("worker", "api"):
            killed = up.status[name]
            os.kill(killed, signal.SIGKILL)
            accepted = await client.notifications.send(HELLO)
            eventually(lambda name=name, killed=killed: up.status[name] not in (None, killed))
            assert accepted.notifications[0].status == "queued"
        os.kill(postmaster(fresh_dir), signal.SIGKILL)
        await client.notifications.send(HELLO)
        async with asyncio.timeout(60):
            while (await subjects(client)).count("Life") < 3:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    for what in ("worker", "API", "embedded database"):
        assert f"The {what} ended unexpectedly" in up.output
    assert "Traceback" not in up.output
    children = [up.status[name] for name in ("api", "worker")]
    os.kill(up.status["supervisor"], signal.SIGKILL)
    eventually(lambda: not any(alive(pid) for pid in children))
    again = start(fresh_dir)
    async with again.client() as client:
        assert (await subjects(client)).count("Life") >= 3


def test_a_taken_port_is_one_clear_line(tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        done = subprocess.run(
            [WAYPOST, "up", "--port", str(port), "--data-dir", str(tmp_path / "data")], capture_output=True, text=True
        )
    assert done.returncode == 78
    assert done.stderr == f"waypost: Port {port} on 127.0.0.1 is taken: choose another with --port.\n"
    assert not (tmp_path / "data").exists()


def test_a_data_directory_in_use_is_one_clear_line(up) -> None:
    done = subprocess.run(
        [WAYPOST, "up", "--port", "0", "--data-dir", str(up.data_dir)], capture_output=True, text=True
    )
    assert done.returncode == 78
    [line] = done.stderr.splitlines()
    assert "in use by another Waypost" in line


@pytest.mark.parametrize("command", ["up", "api", "worker", "migrate"])
def test_an_unreachable_database_is_one_clear_line(tmp_path: Path, command: str, up) -> None:
    url = "postgresql://nobody:hunter2@127.0.0.1:1/none"
    data_dir = tmp_path / "data"
    data_dir.mkdir(mode=0o700)
    (data_dir / "master.key").write_bytes((up.data_dir / "master.key").read_bytes())
    (data_dir / "master.key").chmod(0o600)
    options = ["--database-url", url, "--data-dir", str(data_dir)] + (["--port", "0"] if command == "up" else [])
    done = subprocess.run([WAYPOST, command, *options], capture_output=True, text=True, timeout=60)
    assert done.returncode == 78
    assert done.stderr.splitlines() == ["waypost: The database is unreachable: nothing answers at its address."]


def test_a_missing_master_key_is_refused_and_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "data" / "postgres").mkdir(parents=True)
    done = subprocess.run(
        [WAYPOST, "up", "--port", "0", "--data-dir", str(tmp_path / "data")], capture_output=True, text=True
    )
    assert done.returncode == 78
    [line] = done.stderr.splitlines()
    assert "master.key is missing" in line
    assert not (tmp_path / "data" / "master.key").exists()


def test_it_runs_as_an_ordinary_user(start, fresh_dir: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("every other journey runs as an ordinary user already")
    nobody = pwd.getpwnam("nobody")
    try:
        subprocess.run([WAYPOST, "--version"], user=nobody.pw_uid, group=nobody.pw_gid, cwd="/", check=True)
    except (PermissionError, subprocess.CalledProcessError):
        pytest.skip("this interpreter lies where only root may run it")
    fresh_dir.parent.chmod(0o755)
    fresh_dir.mkdir(mode=0o700)
    os.chown(fresh_dir, nobody.pw_uid, nobody.pw_gid)
    up = start(fresh_dir, user=nobody.pw_uid)
    assert "Welcome to Waypost, Reader" in up.output
    assert (fresh_dir / "dev.env").stat().st_uid == nobody.pw_uid
    assert up.stop() == 0
