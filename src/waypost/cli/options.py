"""Options of commands, made from the table of settings: every option is a setting and spelled like it."""

import inspect
import os
import re
from collections.abc import Callable
from typing import Annotated, Any, Final

import typer

from waypost.settings import Setting, Settings, load, table

_PLACES: Final = ("data_dir", "config")
_KEYED: Final = frozenset({"api", "database", "mail", "smtp-in", "worker"})


def settable(*groups: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command an option for each setting of the groups, and the settings as its first argument."""
    wanted = {*groups, "place"} if _KEYED & {*groups} else {*groups}
    rows = [row for row in table() if row.about.group in wanted or row.name in _PLACES]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        _, *own = inspect.signature(command, eval_str=True).parameters.values()

        def with_settings(**given: Any) -> None:
            chosen = {row.name: given.pop(row.name) for row in rows}
            command(load(os.environ, chosen), **given)

        parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
        parameters += [_parameter(row) for row in rows]
        with_settings.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
        with_settings.__name__ = command.__name__
        with_settings.__doc__ = command.__doc__
        return with_settings

    return decorate


def _parameter(row: Setting) -> inspect.Parameter:
    panel = "Settings (each also as an environment variable)"
    # A bracket before a small letter would be taken for markup, and `waypost[otel]` lose its extra.
    sentence = re.sub(r"\[(?=[a-z])", r"\\[", row.about.sentence)
    text = f"{sentence} [{row.variable}; default: {row.shown_default}]"
    option = typer.Option(row.option, help=text, show_default=False, rich_help_panel=panel)
    annotation = Annotated[str | None, option]
    return inspect.Parameter(row.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def hand_over(module: str, settings: Settings) -> None:
    """Becomes the named process: same id, same terminal, but without the memory of the command line."""
    import sys

    environment = {**os.environ, **settings.environment()}
    os.execve(sys.executable, [sys.executable, "-P", "-m", module], environment)  # noqa: S606 — our own interpreter
