"""Pins: hashed, agreeing with each other and with what the package declares, and silent about where they come from."""

import re
import tomllib
from pathlib import Path

import pytest

_PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)(?:\[[^\]]*\])?==(\S+)", re.MULTILINE)


def _pins(root: Path, name: str) -> dict[str, str]:
    return dict(_PIN.findall((root / "requirements" / name).read_text()))


def _named(lines: list[str]) -> set[str]:
    return {re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0].lower() for line in lines if line and line[0] not in "-#"}


@pytest.mark.parametrize("name", ["base.txt", "build.txt"])
def test_pins_for_running_are_a_part_of_the_pins_for_developing(root: Path, name: str) -> None:
    few, all_of_them = _pins(root, name), _pins(root, "dev.txt")
    assert few
    assert {key: all_of_them.get(key) for key in few} == few


@pytest.mark.parametrize("name", ["base.txt", "build.txt", "dev.txt"])
def test_every_pin_has_a_hash_and_no_address(root: Path, name: str) -> None:
    text = (root / "requirements" / name).read_text()
    for block in re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]:
        assert "--hash=sha256:" in block, block.splitlines()[0]
    assert "://" not in text
    assert "--index" not in text
    assert "--find-links" not in text


def test_what_the_package_declares_is_what_is_pinned(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())
    declared = _named(project["project"]["dependencies"])
    asked = _named((root / "requirements" / "base.in").read_text().splitlines())
    assert declared == asked
    assert declared <= set(_pins(root, "base.txt"))
    assert _named(project["build-system"]["requires"]) <= set(_pins(root, "build.txt"))
