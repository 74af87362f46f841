"""Writes the pages that are made from the code: `make docs`. A test fails while a page is behind the code."""

import importlib
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import typer.main
from typer.core import TyperArgument, TyperGroup, TyperOption

from waypost.cli.main import app
from waypost.settings import Setting, table

_HEADINGS = {
    "place": "Where state lives",
    "api": "The API",
    "database": "The database",
    "mail": "Sending mail",
    "smtp-in": "Taking mail",
    "crew": "Several workers",
    "worker": "The worker",
    "relay": "Webhooks and brokers",
    "alerts": "Alerts",
    "log": "Logs",
    "client": "The command line",
}

_SETTINGS = """\
# Settings

A setting has one name in three spellings: `port` in the TOML file, `WAYPOST_PORT` in the environment, `--port` on the
command line. The command line wins over the environment, the environment over the file. The file is `waypost.toml` in
the data directory, or the one that `WAYPOST_CONFIG` names. Everything is checked at start; a setting that does not
exist or cannot be right stops the start with one line that says which and what to do. Durations are written `500ms`,
`30s`, `2m`, `1h`. Secrets are never shown in logs.
"""

_COMMANDS = """\
# The command line

`waypost --help` lists the commands, `waypost send --help` the options of one. Commands that speak to a server find it
and its keys in `dev.env` of the data directory (`./.waypost`), unless `WAYPOST_URL` and `WAYPOST_API_KEY` say
otherwise. `--json` answers for programs. Every [setting](settings.md) that concerns a command is also an option of it:
`--port` is `WAYPOST_PORT`.

<!-- runs -->
```bash
waypost send --to jane@example.com --subject "Hello" --text "Sent from the shell." --wait 10
waypost mailbox list --limit 3
waypost tail --lines 5 --count 1
```
"""

_README = "../README.md"
_SPEED = "<!-- speed: made by `make docs` from the last kept run -->"
_END_OF_SPEED = "<!-- end of speed -->"
_CLOSING = "\nThis page is made from the code by `make docs`.\n"


def settings_page() -> str:
    parts = [_SETTINGS]
    for group, rows in groupby(table(), key=lambda row: row.about.group):
        parts.append(f"\n## {_HEADINGS[group]}\n\n| setting | default | what it does |\n| --- | --- | --- |\n")
        parts.extend(_setting_line(row) for row in rows)
    return "".join([*parts, _CLOSING])


def _setting_line(row: Setting) -> str:
    default = row.shown_default if row.about.otherwise else f"`{row.shown_default}`"
    return f"| `{row.variable}` | {default} | {row.about.sentence} |\n"


def commands_page() -> str:
    parts = [_COMMANDS]
    settings = {row.option for row in table()}
    for path, command in _commands("waypost", typer.main.get_command(app)):
        parts.append(f"\n## `{path}`\n\n{command.help}\n")
        own = [one for one in command.params if not settings & set(one.opts)]
        if own:
            parts.extend(["\n| | |\n| --- | --- |\n", *(_parameter_line(one) for one in own)])
    return "".join([*parts, _CLOSING])


def _commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(command, TyperGroup):
        for name, below in command.commands.items():
            yield from _commands(f"{path} {name}", below)
    else:
        yield path, command


def _parameter_line(one: TyperArgument | TyperOption) -> str:
    name = one.metavar or str(one.name).upper() if isinstance(one, TyperArgument) else ", ".join(one.opts)
    return f"| `{name}` | {one.help or ''} |\n"


def _beside(module: str, page: str) -> str:
    """A page that is written by a module beside this one."""
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        return getattr(importlib.import_module(module), page)()
    finally:
        sys.path.pop(0)


def _measured(page: str) -> str:
    """From the benchmarks' last kept run; they lie beside the package, not in it."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    try:
        return getattr(importlib.import_module("benchmarks.page"), page)()
    finally:
        sys.path.pop(0)


def readme() -> str:
    """The README with its table of speeds renewed; everything else in it is written by hand."""
    before, _, rest = (Path(__file__).parent / _README).read_text(encoding="utf-8").partition(_SPEED)
    after = rest.partition(_END_OF_SPEED)[2]
    return f"{before}{_SPEED}\n\n{_measured('speed_table')}\n{_END_OF_SPEED}{after}"


PAGES = {
    "settings.md": settings_page,
    "command-line.md": commands_page,
    "performance.md": lambda: _measured("performance_page"),
    "metrics.md": lambda: _beside("telemetry_pages", "metrics_page") + _CLOSING,
    "webhook-events.md": lambda: _beside("event_page", "events_page") + _CLOSING,
    "retries.md": lambda: _beside("retry_page", "retries_page") + _CLOSING,
    "log-actions.md": lambda: _beside("telemetry_pages", "actions_page") + _CLOSING,
    _README: readme,
}


if __name__ == "__main__":
    for name, write in PAGES.items():
        (Path(__file__).parent / name).write_text(write(), encoding="utf-8")
