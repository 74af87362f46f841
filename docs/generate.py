"""Writes the pages that are made from the code: `make docs`. A test fails while a page is behind the code."""

from itertools import groupby
from pathlib import Path

from waypost.settings import Setting, table

_HEADINGS = {
    "place": "Where state lives",
    "api": "The API",
    "database": "The database",
    "mail": "Sending mail",
    "worker": "The worker",
    "log": "Logs",
    "client": "The command line",
}

_OPENING = """\
# Settings

A setting has one name in three spellings: `port` in the TOML file, `WAYPOST_PORT` in the environment, `--port` on the
command line. The command line wins over the environment, the environment over the file. The file is `waypost.toml` in
the data directory, or the one that `WAYPOST_CONFIG` names. Everything is checked at start; a setting that does not
exist or cannot be right stops the start with one line that says which and what to do. Durations are written `500ms`,
`30s`, `2m`, `1h`. Secrets are never shown in logs.
"""


def settings_page() -> str:
    parts = [_OPENING]
    for group, rows in groupby(table(), key=lambda row: row.about.group):
        parts.append(f"\n## {_HEADINGS[group]}\n\n| setting | default | what it does |\n| --- | --- | --- |\n")
        parts.extend(_line(row) for row in rows)
    parts.append("\nThis page is made from the code by `make docs`.\n")
    return "".join(parts)


def _line(row: Setting) -> str:
    default = row.shown_default if row.about.otherwise else f"`{row.shown_default}`"
    return f"| `{row.variable}` | {default} | {row.about.sentence} |\n"


PAGES = {"settings.md": settings_page}


if __name__ == "__main__":
    for name, write in PAGES.items():
        Path(__file__).with_name(name).write_text(write(), encoding="utf-8")
