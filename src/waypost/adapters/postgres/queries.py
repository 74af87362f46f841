"""Reads named statements from the `.sql` file beside a store, and refuses one that does not say whose rows it touches.

-- name: suppress
-- tenant: row                       (or: tenant: all <why it may look across tenants>)
-- Why this statement exists, in a sentence.
insert into …
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

_NAME: Final = re.compile(r"-- name: *(.*)")
_TENANT: Final = re.compile(r"-- tenant: *(.*)")
_TENANCY: Final = re.compile(r"row|all \S.*")
_IDENTIFIER: Final = re.compile(r"[a-z][a-z0-9_]*")
_QUOTED: Final = re.compile(r"\$(\w*)\$.*?\$\1\$|'(?:[^']|'')*'|--[^\n]*", re.DOTALL)


class StatementError(Exception):
    """A `.sql` file breaks the rules of this loader. Raised at import, so a broken file never starts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    name: str
    tenancy: str
    """`row`, or `all` with the reason."""
    why: str
    text: str


class Statements(Mapping[str, str]):
    """The statements of one file, by name."""

    def __init__(self, stem: str, described: Mapping[str, Statement]) -> None:
        self.stem = stem
        self.described = described

    def __getitem__(self, name: str) -> str:
        return self.described[name].text

    def __iter__(self) -> Iterator[str]:
        return iter(self.described)

    def __len__(self) -> int:
        return len(self.described)


def load(stem: str) -> Statements:
    return parse(stem, files("waypost.adapters.postgres").joinpath(f"{stem}.sql").read_text(encoding="utf-8"))


def parse(stem: str, text: str) -> Statements:
    head, *blocks = re.split(r"^(?=-- name:)", text, flags=re.MULTILINE)
    if any(line.strip() and not line.startswith("--") for line in head.splitlines()) or _TENANT.search(head):
        raise StatementError(f"{stem}.sql: a statement has no name.")
    described: dict[str, Statement] = {}
    for block in blocks:
        statement = _read_block(stem, block)
        if statement.name in described:
            raise StatementError(f"{stem}.sql: {statement.name} is there twice.")
        described[statement.name] = statement
    return Statements(stem, described)


def _read_block(stem: str, block: str) -> Statement:
    lines = block.strip().splitlines()
    name = _NAME.fullmatch(lines[0].strip())
    if name is None or not _IDENTIFIER.fullmatch(name[1]):
        raise StatementError(f"{stem}.sql: a statement's name must be lower case with underscores.")
    where = f"{stem}.sql, {name[1]}"
    tenancy = _TENANT.fullmatch(lines[1].strip()) if len(lines) > 1 else None
    if tenancy is None or not _TENANCY.fullmatch(tenancy[1]):
        raise StatementError(f"{where}: say `-- tenant: row` or `-- tenant: all <reason>` below the name.")
    body = 2
    while body < len(lines) and lines[body].startswith("--"):
        body += 1
    why = " ".join(line.removeprefix("--").strip() for line in lines[2:body]).strip()
    if not why.endswith((".", "?", "!", ")")):
        raise StatementError(f"{where}: say in a sentence why this statement exists.")
    sql = "\n".join(lines[body:]).strip().removesuffix(";")
    bare = _QUOTED.sub("", sql)
    if not bare.strip():
        raise StatementError(f"{where}: there is no statement.")
    if ";" in bare or _TENANT.search(sql):
        raise StatementError(f"{where}: there is a second statement without a name.")
    # The mark shows in pg_stat_activity and pg_stat_statements which statement of which file is running.
    return Statement(name=name[1], tenancy=tenancy[1], why=why, text=f"/* {stem}.{name[1]} */ {sql}")
