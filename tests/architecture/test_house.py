"""The rooms of the house and their names: a newcomer guesses a path and is right."""

import ast
import configparser
from pathlib import Path

import pytest

_DRAWERS = {
    "base",
    "common",
    "core",
    "helper",
    "helpers",
    "lib",
    "libs",
    "manager",
    "misc",
    "shared",
    "stuff",
    "tools",
    "util",
    "utils",
}

_SURFACES = {"api", "cli", "console", "smtp", "testing", "workers"}
_STRUCTURE = {"adapters", "bootstrap", "client", "kernel", "settings"}

_LONGEST = 400
_LONGER_WITH_REASON: dict[str, str] = {
    "adapters/postgres/resolvers.sql": "every function that looks across tenants stands in this one file",
    "adapters/postgres/routines.sql": "every function inside the database that a tenant's statements call",
}

_SQL_WITHOUT_PYTHON: dict[str, str] = {
    "fan_out_routines": "functions inside the database, installed by migrate.py",
    "inbox_routines": "functions inside the database, installed by migrate.py",
    "pause_routines": "functions inside the database, installed by migrate.py",
    "resolvers": "functions inside the database, installed by migrate.py",
    "routines": "functions inside the database, installed by migrate.py",
    "schema": "the whole schema as it stands, for people and for the test that replay equals it",
}
_SPOKEN_BY_OTHERS = {"work": "entering a tenant within a transaction is the same statement for everyone"}
_ENDPOINTS_WITHOUT_SLICE: dict[str, str] = {
    "settings_limits": "what a tenant lets out, counted by delivery",
    "operations": "what delivery lets people do: pause, look at the queue, send dead letters again",
    "sender_accounts": "what senders are made of",
    "webhooks": "the tenants' side of the outbox, which is a word of ours",
    "events": "what triggers are told",
    "timers": "what triggers have planned",
    "seen": "what ends an escalation, under the path of its notification",
    "topics": "what preferences are about",
    "consents": "what preferences remember of people's words, and what follows from them",
    "explain": "what the gate would say, asked through notifications",
    "inbox_posts": "what is posted to inboxes",
    "inbox_access": "who may read an inbox: tokens and settings",
    "me": "a recipient's own inbox",
    "lists": "named sets of recipients",
    "recipient_addresses": "how a recipient is reached, under the recipient's path",
    "erasures": "proof that a recipient was erased",
    "template_versions": "what a template says, under the template's path",
    "template_trials": "templates tried out: previews, differences, findings",
    "me_preferences": "a recipient's own preferences",
}


@pytest.fixture(scope="session")
def slices(package: Path) -> set[str]:
    rooms = {path.name for path in package.iterdir() if (path / "__init__.py").exists()}
    return rooms - _SURFACES - _STRUCTURE


def test_there_are_no_drawers(package: Path, modules: list[Path]) -> None:
    named = {part.removesuffix(".py").strip("_") for path in modules for part in path.relative_to(package).parts}
    assert named & _DRAWERS == set()


def test_files_hold_one_idea(package: Path) -> None:
    long = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*")
        if path.suffix in {".py", ".sql"} and "migrations" not in path.parts and path.name != "schema.sql"
        if len(path.read_text().splitlines()) > _LONGEST
    }
    assert long == _LONGER_WITH_REASON.keys()


def test_every_room_is_furnished(package: Path) -> None:
    bare = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*")
        if path.is_dir() and path.name != "__pycache__"
        if not any(
            child.is_file() and child.name != "__init__.py"
            for child in path.rglob("*")
            if "__pycache__" not in child.parts
        )
    ]
    assert bare == []


def test_every_slice_says_what_it_is_about(package: Path, slices: set[str]) -> None:
    for name in slices:
        assert (package / name / "__init__.py").read_text().startswith('"""'), name


def _loaded_stems(path: Path) -> set[str]:
    return {
        str(node.args[0].value)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "load"
        if node.args and isinstance(node.args[0], ast.Constant)
    }


def test_statements_and_stores_share_their_stem(package: Path, slices: set[str]) -> None:
    postgres = package / "adapters" / "postgres"
    sql = {path.stem for path in postgres.glob("*.sql")}
    python = {path.stem for path in postgres.glob("*.py")}
    assert sql - python <= _SQL_WITHOUT_PYTHON.keys()
    assert (python & slices) - sql == set()
    for path in postgres.glob("*.py"):
        spoken = _loaded_stems(path) - _SPOKEN_BY_OTHERS.keys() - {path.stem}
        assert spoken == set(), f"{path.name} speaks through {path.stem}.sql alone"


def test_endpoints_share_their_stem_with_a_slice(package: Path, slices: set[str]) -> None:
    declaring = {
        path.stem
        for path in (package / "api").glob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id == "ENDPOINTS"
    }
    assert declaring
    assert declaring - slices == _ENDPOINTS_WITHOUT_SLICE.keys()


def test_unit_tests_share_their_stem_with_what_they_test(root: Path, package: Path, slices: set[str]) -> None:
    tested = {path.name for path in (root / "tests" / "unit").iterdir() if path.is_dir() and path.name != "__pycache__"}
    adapters = {path.name for path in (package / "adapters").iterdir() if path.is_dir()}
    assert tested <= slices | _STRUCTURE | _SURFACES | adapters


def test_the_import_contract_knows_every_slice(root: Path, slices: set[str]) -> None:
    contract = configparser.ConfigParser()
    contract.read(root / ".importlinter")
    silent = contract["importlinter:contract:no-io"]["source_modules"].split()
    assert set(silent) == {f"waypost.{name}" for name in slices | {"kernel"}}
    layers = contract["importlinter:contract:layers"]["layers"]
    assert "(" not in layers, "every level stands, so none is optional"


def test_test_files_have_names_of_their_own(root: Path) -> None:
    seen: dict[str, Path] = {}
    for path in (root / "tests").rglob("test_*.py"):
        assert path.name not in seen, f"{path} and {seen[path.name]}"
        seen[path.name] = path
    assert list((root / "tests").rglob("__init__.py")) == []
