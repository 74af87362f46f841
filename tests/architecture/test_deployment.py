"""What is shipped for running Waypost names commands, files and settings that exist."""

import re
from pathlib import Path

import pytest
from typer.main import get_command

from waypost.cli.main import app
from waypost.settings import table

ROOT = Path(__file__).parents[2]
UNITS = sorted((ROOT / "deploy").glob("*.service"))
COMMANDS = set(getattr(get_command(app), "commands", {}))
VARIABLES = {row.variable for row in table()}


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_runs_a_command_that_exists_and_is_hardened(unit: Path) -> None:
    text = unit.read_text()
    [command] = re.findall(r"^ExecStart=/opt/waypost/bin/waypost (\S+)$", text, re.MULTILINE)
    assert command in COMMANDS
    assert {"NoNewPrivileges=yes", "ProtectSystem=strict", "User=waypost", "StateDirectoryMode=0700"} <= set(
        text.split()
    )
    assert set(re.findall(r"WAYPOST_\w+", text)) <= VARIABLES


def test_the_image_copies_what_exists_and_runs_as_nobody_special() -> None:
    text = (ROOT / "Dockerfile").read_text()
    for sources in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        for source in sources.split():
            assert (ROOT / source).exists(), source
    assert re.search(r"^USER waypost$", text, re.MULTILINE)
    assert set(re.findall(r"WAYPOST_\w+", text)) <= VARIABLES
    assert re.search(r'^CMD \["(\w+)"\]$', text, re.MULTILINE)


def test_drain_ends_before_systemd_loses_patience() -> None:
    drain = next(row for row in table() if row.variable == "WAYPOST_DRAIN")
    seconds = int(re.sub(r"\D", "", str(drain.shown_default)))
    for unit in UNITS:
        if patience := re.search(r"TimeoutStopSec=(\d+)", unit.read_text()):
            assert int(patience[1]) > seconds
