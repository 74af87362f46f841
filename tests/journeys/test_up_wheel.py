"""The wheel is the whole product: unpacked into an empty folder, without the sources, `waypost up` works."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_up_from_the_wheel_in_an_empty_folder(start, fresh_dir: Path, tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    [wheel] = tmp_path.glob("waypost-*.whl")
    site = fresh_dir.parent / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    empty = fresh_dir.parent / "empty"
    empty.mkdir()
    environment = {"PYTHONPATH": str(site)}
    imported = subprocess.run(
        [sys.executable, "-P", "-c", "import waypost; print(waypost.__file__)"],
        env={**os.environ, **environment},
        cwd=empty,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(imported.stdout.strip()).is_relative_to(site)
    up = start(fresh_dir, cwd=empty, environment=environment)
    assert "Welcome to Waypost, Reader" in up.output
    assert up.stop() == 0
    assert list(empty.iterdir()) == []
