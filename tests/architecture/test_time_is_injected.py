"""Everything that waits or tells the time does so on a Clock, so that ninety days pass in a test in seconds."""

import ast
from pathlib import Path

_CLOCKED = {
    "asyncio.sleep",
    "datetime.date.today",
    "datetime.datetime.now",
    "datetime.datetime.today",
    "datetime.datetime.utcnow",
    "time.sleep",
    "time.time",
    "time.time_ns",
}

_ALLOWED: dict[tuple[str, str], str] = {
    ("kernel/clock.py", "asyncio.sleep"): "the clock itself, and letting other tasks run as it advances",
    ("kernel/clock.py", "datetime.datetime.now"): "the clock itself",
    ("adapters/postgres/edges.py", "asyncio.sleep"): "zero seconds: whoever waits for the connection asks first",
    ("notifications/compose.py", "asyncio.sleep"): "zero seconds: composing takes its time, and others get theirs",
    ("adapters/render/plain_book.py", "asyncio.sleep"): "zero seconds: the same, where no child does it",
    ("notifications/bulk.py", "asyncio.sleep"): "zero seconds: the database gets a hearing while items are read",
    ("kernel/in_turns.py", "asyncio.sleep"): "zero seconds: long work in pieces, and others get their time in between",
    ("imports/take_in.py", "asyncio.sleep"): "zero seconds: lets a statement go out before the next rows are prepared",
}


def _imported_names(tree: ast.AST) -> dict[str, str]:
    """Local name → the dotted name it stands for."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                local = alias.asname or alias.name.split(".")[0]
                names[local] = alias.name if alias.asname else local
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def _dotted(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = _dotted(node.value)
        return f"{head}.{node.attr}" if head else None
    return None


def _clocked_uses(source: str) -> set[str]:
    tree = ast.parse(source)
    names = _imported_names(tree)
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and (dotted := _dotted(node)):
            head, dot, tail = dotted.partition(".")
            full = names.get(head, head) + dot + tail
            if full in _CLOCKED:
                found.add(full)
    return found


def test_nobody_asks_the_host_for_the_time(package: Path, modules: list[Path]) -> None:
    uses = {(path.relative_to(package).as_posix(), use) for path in modules for use in _clocked_uses(path.read_text())}
    assert uses - _ALLOWED.keys() == set(), "use the injected Clock"
    assert _ALLOWED.keys() - uses == set(), "an exception that nothing needs any more"


def test_the_walk_sees_through_every_spelling() -> None:
    assert _clocked_uses("import time\ntime.time()") == {"time.time"}
    assert _clocked_uses("import time as t\nx = t.sleep") == {"time.sleep"}
    assert _clocked_uses("from time import time as now\nnow()") == {"time.time"}
    assert _clocked_uses("from datetime import datetime\ndatetime.now()") == {"datetime.datetime.now"}
    assert _clocked_uses("import datetime as d\nd.datetime.utcnow()") == {"datetime.datetime.utcnow"}
    assert _clocked_uses("from asyncio import sleep\nsleep") == {"asyncio.sleep"}
    assert _clocked_uses("clock.now()\nclock.sleep(1)\ntime = 3") == set()
