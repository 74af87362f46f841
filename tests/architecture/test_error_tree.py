"""The drawing at the top of kernel/errors.py is the tree that stands below it."""

import re

import pytest

from waypost.kernel import errors
from waypost.kernel.errors import Misconfigured, WaypostError

_LINE = re.compile(r"^ {4}(?P<rails>(?:[│ ]   )*)(?:[├└]── )(?P<name>\w+)\s+(?P<status>\d{3}|–)", re.MULTILINE)


def _every_kind(of: type[WaypostError] = WaypostError) -> list[type[WaypostError]]:
    return [kind for child in of.__subclasses__() for kind in (child, *_every_kind(child))]


def _drawn() -> dict[str, tuple[str, str]]:
    """name → (parent's name, status as written)"""
    above = ["WaypostError"]
    tree: dict[str, tuple[str, str]] = {}
    for line in _LINE.finditer(errors.__doc__ or ""):
        depth = len(line["rails"]) // 4 + 1
        above = [*above[:depth], line["name"]]
        tree[line["name"]] = (above[depth - 1], line["status"])
    return tree


def test_every_kind_is_drawn_under_its_parent_with_its_status() -> None:
    stands = {
        kind.__name__: (kind.__bases__[0].__name__, "–" if kind is Misconfigured else str(kind.status))
        for kind in _every_kind()
    }
    assert _drawn() == stands


@pytest.mark.parametrize("kind", _every_kind(), ids=lambda kind: kind.__name__)
def test_every_kind_is_told_apart(kind: type[WaypostError]) -> None:
    others = [other for other in (WaypostError, *_every_kind()) if other is not kind]
    assert kind.default_code not in {other.default_code for other in others}
    assert kind.title not in {other.title for other in others}
    if kind is not Misconfigured:
        assert kind.status not in {other.status for other in others}
    assert 0 < kind.exit_code < 126
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", kind.default_code)


def test_every_kind_lives_in_the_one_file() -> None:
    assert {kind.__module__ for kind in _every_kind()} == {"waypost.kernel.errors"}
