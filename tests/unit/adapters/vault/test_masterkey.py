import base64
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from waypost.adapters.vault.masterkey import open_master_key
from waypost.kernel.errors import Misconfigured


def test_it_is_made_when_asked_and_found_again(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    made = open_master_key(path, create=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(base64.b64decode(path.read_bytes())) == 32
    assert open_master_key(path, create=False).derive("x") == made.derive("x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["master.key"]


def test_an_existing_key_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    open_master_key(path, create=True)
    before = path.read_bytes()
    open_master_key(path, create=True)
    assert path.read_bytes() == before


def test_of_many_makers_at_once_one_wins(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    with ThreadPoolExecutor(8) as threads:
        made = {key.derive("x") for key in threads.map(lambda _: open_master_key(path, create=True), range(16))}
    assert len(made) == 1


def test_a_missing_key_is_not_invented(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    with pytest.raises(Misconfigured) as refusal:
        open_master_key(path, create=False)
    assert refusal.value.code == "master_key_missing"
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"short", base64.b64encode(bytes(31)), b"not base64 at all!", b"\xff" * 44])
@pytest.mark.parametrize("create", [True, False])
def test_a_damaged_key_is_said_to_be_damaged_and_left_alone(tmp_path: Path, content: bytes, create: bool) -> None:
    path = tmp_path / "master.key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(Misconfigured) as refusal:
        open_master_key(path, create=create)
    assert refusal.value.code == "master_key_damaged"
    assert path.read_bytes() == content


def test_a_key_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    open_master_key(path, create=True)
    path.chmod(0o640)
    with pytest.raises(Misconfigured) as refusal:
        open_master_key(path, create=False)
    assert refusal.value.code == "master_key_exposed"


def test_a_folder_in_its_place_and_a_missing_folder_are_explained(tmp_path: Path) -> None:
    (tmp_path / "master.key").mkdir()
    with pytest.raises(Misconfigured) as unreadable:
        open_master_key(tmp_path / "master.key", create=True)
    assert unreadable.value.code == "master_key_unreadable"
    with pytest.raises(Misconfigured) as unwritable:
        open_master_key(tmp_path / "absent" / "master.key", create=True)
    assert unwritable.value.code == "master_key_unwritable"
