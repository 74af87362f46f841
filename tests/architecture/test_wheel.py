"""The wheel holds everything the package needs, and nothing else."""

import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=root,
        check=True,
        capture_output=True,
        timeout=60,
    )
    return zipfile.ZipFile(next(folder.glob("waypost-*.whl")))


def test_the_wheel_holds_every_file_of_the_package(wheel: zipfile.ZipFile, package: Path) -> None:
    ours = {
        f"waypost/{path.relative_to(package).as_posix()}"
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert any(name.endswith(".sql") for name in ours)
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == ours


def test_the_wheel_says_what_it_needs_and_what_it_starts(wheel: zipfile.ZipFile, root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    info = f"waypost-{project['version']}.dist-info"
    metadata = Parser().parsestr(wheel.read(f"{info}/METADATA").decode())
    extras = {
        f"{needed}; extra == '{name}'"
        for name, requirements in project["optional-dependencies"].items()
        for needed in requirements
    }
    assert set(metadata.get_all("Requires-Dist") or []) == set(project["dependencies"]) | extras
    assert metadata["License-Expression"] == "Apache-2.0"
    assert "waypost = waypost.cli.main:main" in wheel.read(f"{info}/entry_points.txt").decode()
    assert wheel.read(f"{info}/licenses/LICENSE").decode() == (root / "LICENSE").read_text()
