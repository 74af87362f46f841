"""SQL stands in `.sql` files, each statement named, explained, bound to its tenancy, and used."""

import ast
import re
from pathlib import Path

from waypost.adapters.postgres.queries import Statements, load

_SQL_IN_PYTHON = re.compile(
    r"\s*(?:select\b.+\bfrom\b|select\s+[\w.]+\(|insert\s+into\b|update\s+\w+\s+set\b|delete\s+from\b|with\s+\w+\s+as\s*\(|"
    r"(?:create|alter|drop|grant|revoke)\s+(?:table|index|role|database|schema|policy|function|all|select)\b)",
    re.IGNORECASE | re.DOTALL,
)

_SPOKEN_IN_PYTHON: dict[str, str] = {
    "cli/doctor/database.py": "tells the operator what to type; nothing runs it",
}
"""Modules that may hold SQL in a string, and why."""


def _stores(package: Path) -> dict[str, Statements]:
    postgres = package / "adapters" / "postgres"
    return {path.stem: load(path.stem) for path in postgres.glob("*.sql") if path.with_suffix(".py").exists()}


def test_every_statement_is_named_bound_and_explained(package: Path) -> None:
    stores = _stores(package)
    assert stores
    for stem, statements in stores.items():
        assert statements, f"{stem}.sql is empty"
        for statement in statements.described.values():
            assert statement.tenancy == "row" or statement.tenancy.startswith("all "), f"{stem}.{statement.name}"
            assert len(statement.why.split()) >= 3, f"{stem}.{statement.name} does not say why it exists"


def test_every_statement_is_called_by_the_module_of_its_name(package: Path) -> None:
    for stem, statements in _stores(package).items():
        strings = {
            node.value
            for node in ast.walk(ast.parse((package / "adapters" / "postgres" / f"{stem}.py").read_text()))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        assert set(statements) - strings == set(), f"{stem}.sql has statements that {stem}.py does not call"


def test_no_sql_is_written_in_python(package: Path, modules: list[Path]) -> None:
    speaking = set[str]()
    for path in modules:
        tree = ast.parse(path.read_text())
        documentation = {
            node.body[0].value
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or node in documentation:
                continue
            if _SQL_IN_PYTHON.match(node.value):
                speaking.add(path.relative_to(package).as_posix())
    assert speaking == _SPOKEN_IN_PYTHON.keys()


def test_the_walk_knows_sql_when_it_sees_it() -> None:
    for sql in (
        "select a from b",
        "INSERT INTO x",
        "update t set a = 1",
        "delete from t",
        "with a as (select",
        "create role x",
    ):
        assert _SQL_IN_PYTHON.match(sql), sql
    for prose in ("select one of these", "update it", "with care", "create a tenant", "delete this"):
        assert not _SQL_IN_PYTHON.match(prose), prose
