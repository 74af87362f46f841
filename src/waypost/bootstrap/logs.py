"""Logging, set up once per process: one line per event, JSON or for people, with secrets and addresses masked."""

import json
import logging
import re
import sys
from contextlib import suppress
from typing import Final, TextIO

import msgspec
import structlog
from structlog.typing import EventDict, WrappedLogger

from waypost.settings import Settings

_MASKS: Final = (
    ("wp_", re.compile(r"\bwp_(test|live|platform)_[A-Za-z0-9_-]{8,}"), r"wp_\1_***"),
    (" ", re.compile(r"(?i)\b(bearer|basic) [A-Za-z0-9._~+/=-]{8,}"), r"\1 ***"),
    ("://", re.compile(r"://([^\s:/@]*):[^\s/@]+@"), r"://\1:***@"),
    ("@", re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]+@[\w-]+(?:\.[\w-]+)+"), "***@***"),
)
"""Each with what must be in a text for it to be worth a closer look, which most texts are not."""


def mask(text: str) -> str:
    """The text without what looks like a key, a password in a URL, or a mail address."""
    for sign, pattern, shown in _MASKS:
        if sign in text:
            text = pattern.sub(shown, text)
    return text


def _mask_event(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {name: mask(value) if isinstance(value, str) else value for name, value in event.items()}


class _Lines:
    """What our own loggers write to: the finished line, without the ceremony that libraries' loggers go through."""

    def __init__(self, stream: TextIO, name: str) -> None:
        self.name = name
        self._stream = stream

    def write(self, line: str) -> None:
        # Nothing is refused because nobody reads the log any more.
        with suppress(OSError, ValueError):
            self._stream.write(line + "\n")

    debug = info = warning = error = critical = exception = write


def _json_line(logger: WrappedLogger, method: str, event: EventDict) -> str:
    line = _as_json(event)
    # Of a line without any of the signs none of its texts needs a closer look.
    return _as_json(_mask_event(logger, method, event)) if any(sign in line for sign, _, _ in _MASKS) else line


def _as_json(event: EventDict) -> str:
    try:
        return msgspec.json.encode(event, enc_hook=repr).decode()
    except (ValueError, OverflowError):
        # Half a surrogate pair, or a number beyond 64 bits.
        return json.dumps(event, default=repr)


def is_for_people(settings: Settings) -> bool:
    """Whether lines are coloured words rather than JSON."""
    return settings.log_format == "pretty" or (settings.log_format == "auto" and sys.stderr.isatty())


def configure(settings: Settings, *, process: str) -> None:
    """Called once, before anything logs. Lines go to standard error."""

    def name_process(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        event["process"] = process
        return event

    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        name_process,
        structlog.processors.format_exc_info,
    ]
    written: list[structlog.typing.Processor] = [_json_line]
    if is_for_people(settings):
        written = [_mask_event, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
    level = (settings.log_level or "info").upper()
    stream = sys.stderr
    structlog.configure(
        processors=[*shared, *written],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        logger_factory=lambda *names: _Lines(stream, names[0] if names else "waypost"),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared[:-1], structlog.stdlib.ExtraAdder(), shared[-1]],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *written],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # While the database is away, the pool would write a traceback at every try; what that means is logged by us.
    logging.getLogger("asyncpg").setLevel("ERROR")
    logging.getLogger("asyncio").setLevel("WARNING")
