"""Every example in the documents that is marked `<!-- runs -->` runs, and answers as the page says.

The blocks of a page run in order, in one shell. A JSON block after one shows the last answer: every field it shows must
be in the real one, with a value of the same kind; `…` stands for what differs each time.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

_ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(
    r"^<!-- runs -->\n```(?P<language>bash|python)\n(?P<code>.*?)^```\n(?:\n```json\n(?P<answer>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)
_PAGES = [
    path
    for path in sorted([_ROOT / "README.md", *(_ROOT / "docs").glob("*.md"), *(_ROOT / "examples").rglob("*.md")])
    if _BLOCK.search(path.read_text())
]
_END = "-- end of block --"


class Server(Protocol):
    @property
    def environment(self) -> dict[str, str]: ...


@dataclass(frozen=True)
class _Example:
    code: str
    answer: object


def _examples(text: str) -> list[_Example]:
    found = []
    for block in _BLOCK.finditer(text):
        code = block["code"]
        if block["language"] == "python":
            code = f"python - <<'END_OF_PYTHON'\n{code}END_OF_PYTHON\n"
        found.append(_Example(code=code, answer=json.loads(block["answer"]) if block["answer"] else None))
    return found


def _last_json(output: str) -> object:
    decoder = json.JSONDecoder()
    last: object = None
    place = output.find("{")
    while place >= 0:
        last, end = decoder.raw_decode(output, place)
        place = output.find("{", end)
    return last


def _unlike(shown: object, real: object, place: str = "") -> list[str]:
    """Where the real answer differs from the shown one, by pointer."""
    if isinstance(shown, dict):
        if not isinstance(real, dict):
            return [f"{place} is no object"]
        return [
            fault
            for key, value in shown.items()
            for fault in (_unlike(value, real[key], f"{place}/{key}") if key in real else [f"{place}/{key} is missing"])
        ]
    if isinstance(shown, list):
        if not isinstance(real, list) or (shown and not real):
            return [f"{place} is no list, or empty"]
        return [fault for one in shown for fault in min((_unlike(one, got, f"{place}/0") for got in real), key=len)]
    if shown is None or real is None:
        return []
    if isinstance(shown, str) and isinstance(real, str):
        prefix = re.match(r"[a-z]+_(?=01K…|…)", shown)
        return [] if not prefix or real.startswith(prefix[0]) else [f"{place} does not begin with {prefix[0]}"]
    return [] if type(shown) is type(real) else [f"{place} is of another kind"]


def _shell(server: Server) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
    return {**inherited, **server.environment, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


@pytest.mark.parametrize("page", _PAGES, ids=lambda path: path.relative_to(_ROOT).as_posix())
def test_the_page_s_examples_run(page: Path, server: Server, tmp_path: Path) -> None:
    if not shutil.which("curl") or not shutil.which("bash"):
        pytest.skip("the examples need curl and bash")
    examples = _examples(page.read_text())
    script = "set -eu -o pipefail\n" + "".join(f"{one.code}\nprintf '\\n%s\\n' '{_END}'\n" for one in examples)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=_shell(server),
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    outputs = done.stdout.split(_END)
    for example, output in zip(examples, outputs, strict=False):
        if example.answer is not None:
            assert _unlike(example.answer, _last_json(output)) == [], output


@pytest.mark.parametrize("program", sorted((_ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_the_example_program_runs(program: Path, server: Server, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=tmp_path,
        env=_shell(server),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_comparison_sees_what_is_wrong() -> None:
    assert _unlike({"a": 1}, {"a": 2, "b": 3}) == []
    assert _unlike({"a": 1}, {"b": 3}) == ["/a is missing"]
    assert _unlike({"a": [{"b": "x"}]}, {"a": []}) == ["/a is no list, or empty"]
    assert _unlike({"id": "ntf_01K…"}, {"id": "req_01KA"}) == ["/id does not begin with ntf_"]
    assert _unlike({"a": 1}, {"a": "1"}) == ["/a is of another kind"]
    assert _last_json('{"a": 1}\n{"b": {}}\n') == {"b": {}}
    assert len(_PAGES) >= 8
