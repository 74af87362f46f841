"""What no file of the project may say. The forbidden words are spelled in pieces here, so that this file passes too."""

import re

_REGISTRIES = [
    "py" + "pi.",
    "python" + "hosted",
    "npm" + "js.",
    "crates" + ".io",
    "dock" + "er.io",
    "gh" + "cr.io",
    "qu" + "ay.io",
]
_MACHINE_PATH = re.compile(r"(?<![\w.~$}])/(?:wo[r]k|ro[o]t|ho[m]e/\w+)(?:/|\b)")
_UNFINISHED = re.compile(r"\b(?:TO[D]O|FIX[M]E|X[X]X)\b")


def test_no_file_names_a_package_registry(texts: dict[str, str]) -> None:
    assert [path for path, text in texts.items() if any(host in text.lower() for host in _REGISTRIES)] == []


def test_no_file_names_a_place_on_somebody_s_machine(texts: dict[str, str]) -> None:
    found = [(path, match[0]) for path, text in texts.items() for match in _MACHINE_PATH.finditer(text)]
    assert found == []


def test_nothing_is_left_for_later_in_a_comment(texts: dict[str, str]) -> None:
    found = [(path, match[0]) for path, text in texts.items() for match in _UNFINISHED.finditer(text)]
    assert found == []


def test_only_one_project_speaks_here(texts: dict[str, str]) -> None:
    assert len(texts) > 50
    assert all("\r\n" not in text or path.startswith("tests/") for path, text in texts.items())
