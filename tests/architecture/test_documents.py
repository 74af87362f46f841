"""What the documents say about the tree is true: paths exist, links lead somewhere, generated pages are current."""

import re
import runpy
from pathlib import Path

import pytest

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*/?")
_SUFFIXES = (".py", ".sql", ".md", ".toml", ".txt", ".in", ".html", ".css", ".js", ".yaml")

_ROOT = Path(__file__).parents[2]
_DOCUMENTS = sorted(
    [
        *_ROOT.glob("*.md"),
        *(_ROOT / "docs").rglob("*.md"),
        *(_ROOT / "examples").rglob("*.md"),
        *(_ROOT / "src").rglob("*.md"),
    ]
)


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", _DOCUMENTS, ids=lambda path: path.relative_to(_ROOT).as_posix())
def test_every_link_leads_somewhere(document: Path) -> None:
    for target in _LINK.findall(_FENCE.sub("", document.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        place, _, anchor = target.partition("#")
        file = document.parent / place if place else document
        assert file.exists(), target
        if anchor:
            assert anchor in _anchors(file.read_text()), target


def _named_paths(text: str) -> set[str]:
    words = {word for code in _CODE.findall(_FENCE.sub("", text)) for word in [code.strip()] if _PATH.fullmatch(word)}
    return {word for word in words if "/" in word and word.endswith((*_SUFFIXES, "/"))}


def test_every_path_in_the_architecture_exists(root: Path, package: Path) -> None:
    named = _named_paths((root / "ARCHITECTURE.md").read_text())
    assert len(named) > 30
    assert [path for path in sorted(named) if not ((root / path).exists() or (package / path).exists())] == []


def test_every_room_is_in_the_architecture(root: Path, package: Path) -> None:
    text = (root / "ARCHITECTURE.md").read_text()
    rooms = [path.name for path in package.iterdir() if (path / "__init__.py").exists()]
    adapters = [f"adapters/{path.name}" for path in (package / "adapters").iterdir() if (path / "__init__.py").exists()]
    assert [room for room in (*rooms, *adapters) if f"`{room}/" not in text] == []


def test_every_level_of_the_contract_is_drawn(root: Path) -> None:
    contract = (root / ".importlinter").read_text()
    levels = re.search(r"^layers =\n((?: {4}.+\n)+)", contract, re.MULTILINE)
    assert levels
    drawn = (root / "ARCHITECTURE.md").read_text()
    assert "\n".join(line.strip() for line in levels[1].splitlines()) in drawn


def test_every_decision_is_listed(root: Path) -> None:
    folder = root / "docs" / "decisions"
    index = (folder / "README.md").read_text()
    pages = sorted(path.name for path in folder.glob("[0-9]*.md"))
    assert pages == re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", index)
    assert [page[:4] for page in pages] == [f"{number:04}" for number in range(1, len(pages) + 1)]


def test_every_page_is_reached_from_the_index(root: Path) -> None:
    index = (root / "docs" / "README.md").read_text()
    pages = {path.name for path in (root / "docs").glob("*.md")} - {"README.md"}
    assert pages == {target for target in _LINK.findall(index) if "/" not in target}


def test_generated_pages_are_current(root: Path) -> None:
    pages = runpy.run_path(str(root / "docs" / "generate.py"))["PAGES"]
    stale = [name for name, write in pages.items() if (root / "docs" / name).read_text() != write()]
    assert stale == [], "run `make docs`"
