"""`dev.env` is closed to others, replaced at once, and read only where nothing else names URL and keys."""

import stat
from pathlib import Path

from waypost.cli import dev_env
from waypost.settings import load

VALUES = {
    "WAYPOST_URL": "http://127.0.0.1:8800",
    "WAYPOST_API_KEY": "wp_test_a",
    "WAYPOST_PLATFORM_KEY": "wp_platform_b",
}


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    dev_env.write(tmp_path, VALUES)
    assert dev_env.read(tmp_path) == VALUES
    assert stat.S_IMODE((tmp_path / "dev.env").stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["dev.env"]


def test_an_open_file_is_replaced_by_a_closed_one(tmp_path: Path) -> None:
    (tmp_path / "dev.env").write_text("WAYPOST_URL=http://old\n")
    (tmp_path / "dev.env").chmod(0o644)
    dev_env.write(tmp_path, VALUES)
    assert stat.S_IMODE((tmp_path / "dev.env").stat().st_mode) == 0o600


def test_lines_that_are_none_of_ours_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "dev.env").write_text("# a comment\nPATH=/evil\nWAYPOST_URL=http://x\nexport WAYPOST_API_KEY=no\n")
    assert dev_env.read(tmp_path) == {"WAYPOST_URL": "http://x"}
    assert dev_env.read(tmp_path / "nowhere") == {}


def test_the_command_line_reads_it_by_itself(tmp_path: Path) -> None:
    dev_env.write(tmp_path, VALUES)
    found = dev_env.with_dev_env(load({"WAYPOST_DATA_DIR": str(tmp_path)}))
    assert found.url == VALUES["WAYPOST_URL"]
    assert found.api_key is not None
    assert found.api_key.reveal() == "wp_test_a"
    assert found.platform_key is not None


def test_what_somebody_chose_wins(tmp_path: Path) -> None:
    dev_env.write(tmp_path, VALUES)
    given = {"WAYPOST_DATA_DIR": str(tmp_path), "WAYPOST_API_KEY": "mine"}
    found = dev_env.with_dev_env(load(given))
    assert found.api_key is not None
    assert found.api_key.reveal() == "mine"
    assert found.url == VALUES["WAYPOST_URL"]
