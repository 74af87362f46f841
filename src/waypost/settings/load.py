"""Reads the settings from the command line, the environment and the file, in this order of weight."""

import difflib
import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from waypost.kernel.errors import Misconfigured
from waypost.settings.rows import PREFIX, Setting
from waypost.settings.tree import Settings, table


def load(environment: Mapping[str, str] = os.environ, options: Mapping[str, object] | None = None) -> Settings:
    """The settings of this process. Raises `Misconfigured` with the setting's name and the remedy."""
    rows = {row.name: row for row in table()}
    values: dict[str, object] = {}
    for variable, value in environment.items():
        if variable.startswith(PREFIX) and value:
            name = variable.removeprefix(PREFIX).lower()
            values[name] = _read(_known(name, rows, variable, lambda row: row.variable), value, variable)
    for name, option in (options or {}).items():
        if option is not None:
            values[name] = _read(rows[name], str(option), rows[name].option)
    values.setdefault("data_dir", rows["data_dir"].about.read(str(rows["data_dir"].default)))
    named = cast(Path | None, values.get("config"))
    for name, value in _file(named, cast(Path, values["data_dir"]) / "waypost.toml", rows).items():
        values.setdefault(name, value)
    return Settings(**cast(dict[str, Any], values))


def _file(named: Path | None, usual: Path, rows: Mapping[str, Setting]) -> dict[str, object]:
    path = named or usual
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if named is None:
            return {}
        raise Misconfigured(f"WAYPOST_CONFIG names {path}, which does not exist.") from None
    except PermissionError:
        raise Misconfigured(f"{path} may not be read by this user: give it the right owner or mode.") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Misconfigured(f"{path} cannot be read: {error}.") from None
    values: dict[str, object] = {}
    for name, value in content.items():
        source = f"{name} in {path}"
        row = _known(name, rows, source, lambda row: row.name)
        if name in ("data_dir", "config"):
            raise Misconfigured(f"{source} comes too late: set {row.variable} or {row.option} instead.")
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise Misconfigured(f"{source} must be a text or a number.")
        values[name] = _read(row, str(value), source)
    return values


def _known(name: str, rows: Mapping[str, Setting], source: str, spell: Callable[[Setting], str]) -> Setting:
    if name not in rows:
        near = difflib.get_close_matches(name, rows, n=1, cutoff=0.5)
        remedy = f"did you mean {spell(rows[near[0]])}?" if near else "`waypost settings` lists those that exist."
        raise Misconfigured(f"{source} is not a setting: {remedy}")
    return rows[name]


def _read(row: Setting, value: str, source: str) -> object:
    try:
        return row.about.read(value.strip())
    except ValueError as error:
        raise Misconfigured(f"{source} {error}.") from None
