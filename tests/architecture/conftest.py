"""The tree as the architecture tests see it: what a checkout holds, without what is built or stored in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_NOT_OURS = {
    ".git",
    ".waypost",
    "__pycache__",
    "build",
    "dist",
    ".hypothesis",
    ".import_linter_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".schemathesis",
}


def _walk(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.is_symlink() or entry.name in _NOT_OURS or (entry / "pyvenv.cfg").exists():
            continue
        if entry.is_dir():
            yield from _walk(entry)
        else:
            yield entry


@pytest.fixture(scope="session")
def root() -> Path:
    return _ROOT


@pytest.fixture(scope="session")
def package() -> Path:
    return _ROOT / "src" / "waypost"


@pytest.fixture(scope="session")
def modules(package: Path) -> list[Path]:
    """Every Python file of the package."""
    return [path for path in _walk(package) if path.suffix == ".py"]


@pytest.fixture(scope="session")
def texts(root: Path) -> dict[str, str]:
    """Every text file of the checkout, by its path from the root."""
    found: dict[str, str] = {}
    for path in _walk(root):
        try:
            found[path.relative_to(root).as_posix()] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    return found
