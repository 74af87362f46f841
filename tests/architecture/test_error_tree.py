"""The drawings in the docstrings of the error modules are the trees that stand below them."""

import ast
import re
from pathlib import Path

import pytest

from waypost.api import http_errors
from waypost.kernel import errors
from waypost.kernel.errors import Misconfigured, WaypostError

_LINE = re.compile(r"^ *(?P<rails>(?:[│ ]   )*)[├└]── (?P<name>\w+)\s+(?P<status>\d{3}|–)", re.MULTILINE)
_HOMES = {"waypost.kernel.errors": errors, "waypost.api.http_errors": http_errors}


def _every_kind(of: type[WaypostError] = WaypostError) -> list[type[WaypostError]]:
    below = [kind for child in of.__subclasses__() for kind in (child, *_every_kind(child))]
    return [kind for kind in below if kind.__module__ in _HOMES]


def _drawn(documentation: str) -> dict[str, tuple[str, str]]:
    """name → (parent's name, status as written)"""
    margin = re.search(r"^( *)WaypostError$", documentation, re.MULTILINE)
    assert margin
    flush = re.sub(rf"^{margin[1]}", "", documentation, flags=re.MULTILINE)
    above = ["WaypostError"]
    tree: dict[str, tuple[str, str]] = {}
    for line in _LINE.finditer(flush):
        depth = len(line["rails"]) // 4 + 1
        above = [*above[:depth], line["name"]]
        tree[line["name"]] = (above[depth - 1], line["status"])
    return tree


@pytest.mark.parametrize("home", _HOMES)
def test_every_kind_is_drawn_under_its_parent_with_its_status(home: str) -> None:
    stands = {
        kind.__name__: (kind.__bases__[0].__name__, "–" if kind is Misconfigured else str(kind.status))
        for kind in _every_kind()
        if kind.__module__ == home
    }
    assert stands
    assert _drawn(_HOMES[home].__doc__ or "") == stands


@pytest.mark.parametrize("kind", _every_kind(), ids=lambda kind: kind.__name__)
def test_every_kind_is_told_apart(kind: type[WaypostError]) -> None:
    others = [other for other in (WaypostError, *_every_kind()) if other is not kind]
    assert kind.default_code not in {other.default_code for other in others}
    assert kind.title not in {other.title for other in others}
    if kind is not Misconfigured:
        assert kind.status not in {other.status for other in others}
    assert 0 < kind.exit_code < 126
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", kind.default_code)


def test_no_other_module_adds_a_kind(package: Path, modules: list[Path]) -> None:
    names = {"WaypostError", *(kind.__name__ for kind in _every_kind())}
    elsewhere = [
        f"{path.relative_to(package).as_posix()}: {node.name}"
        for path in modules
        if path.relative_to(package).as_posix() not in {"kernel/errors.py", "api/http_errors.py"}
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and {ast.unparse(base).split(".")[-1] for base in node.bases} & names
    ]
    assert elsewhere == []
