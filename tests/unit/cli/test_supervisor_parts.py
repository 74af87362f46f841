"""Ports, environments and the data directory of `waypost up`."""

import os
import socket
import stat
from pathlib import Path

import pytest

from waypost.bootstrap.data_dir import open_data_dir
from waypost.bootstrap.ports import claim_port
from waypost.cli.supervisor.ports import claim_ports
from waypost.kernel.errors import Misconfigured
from waypost.settings import load

OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")


@pytest.fixture
def taken():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield holder.getsockname()[1]


def test_a_taken_port_is_named_with_the_option_that_changes_it(taken: int) -> None:
    with pytest.raises(Misconfigured, match=f"Port {taken} on 127.0.0.1 is taken: choose another with --port"):
        claim_ports(load({}, {"port": taken}))


def test_a_foreign_address_is_refused() -> None:
    with pytest.raises(Misconfigured, match="--host"):
        claim_port("192.0.2.1", 0, "--port")


def test_zero_becomes_real_ports() -> None:
    settings = claim_ports(load({}, {"port": 0}))
    lent_to_others = range(*map(int, OUTGOING.read_text().split())) if OUTGOING.exists() else range(0)
    ports = [settings.port, settings.metrics_port, settings.worker_metrics_port, settings.catchall_port]
    assert all(ports)
    assert not any(port in lent_to_others for port in ports), "the system may lend those before they are opened"
    assert settings.api_url == f"http://127.0.0.1:{settings.port}"


def test_ports_of_metrics_give_way_unless_somebody_chose_them(taken: int) -> None:
    with socket.socket() as holder:
        port = claim_port("127.0.0.1", 0, "--port")
        holder.bind(("127.0.0.1", port + 1))
        holder.listen()
        beside = claim_ports(load({}, {"port": port}))
    assert beside.metrics_port not in (0, port + 1)
    with pytest.raises(Misconfigured, match="--metrics-port"):
        claim_ports(load({}, {"port": 0, "metrics_port": taken}))


def test_the_data_directory_is_made_closed(tmp_path: Path) -> None:
    open_data_dir(tmp_path / "a" / "b")
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700


def test_our_own_open_directory_is_closed_and_a_foreign_one_refused(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for directory, name in ((ours, "master.key"), (theirs, "photos")):
        directory.mkdir()
        directory.chmod(0o755)
        (directory / name).touch()
    open_data_dir(ours)
    assert stat.S_IMODE(ours.stat().st_mode) == 0o700
    with pytest.raises(Misconfigured, match="holds other things and is open to other users"):
        open_data_dir(theirs)
    assert stat.S_IMODE(theirs.stat().st_mode) == 0o755


def test_a_file_is_no_data_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Misconfigured, match="name a directory with --data-dir"):
        open_data_dir(tmp_path / "file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cannot_be_made_is_refused() -> None:
    with pytest.raises(Misconfigured, match="cannot be used"):
        open_data_dir(Path("/proc/waypost"))
