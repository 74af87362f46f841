"""Logging, set up once per process: one line per event, JSON or for people, with secrets and addresses masked."""

import logging
import re
import sys
from typing import Final

import structlog
from structlog.typing import EventDict, WrappedLogger

from waypost.settings import Settings

_MASKS: Final = (
    (re.compile(r"\bwp_(test|live|platform)_[A-Za-z0-9_-]{8,}"), r"wp_\1_***"),
    (re.compile(r"(?i)\b(bearer|basic) [A-Za-z0-9._~+/=-]{8,}"), r"\1 ***"),
    (re.compile(r"://([^\s:/@]*):[^\s/@]+@"), r"://\1:***@"),
    (re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]+@[\w-]+(?:\.[\w-]+)+"), "***@***"),
)


def mask(text: str) -> str:
    """The text without what looks like a key, a password in a URL, or a mail address."""
    for pattern, shown in _MASKS:
        text = pattern.sub(shown, text)
    return text


def _mask_event(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {name: mask(value) if isinstance(value, str) else value for name, value in event.items()}


def is_for_people(settings: Settings) -> bool:
    """Whether lines are coloured words rather than JSON."""
    return settings.log_format == "pretty" or (settings.log_format == "auto" and sys.stderr.isatty())


def configure(settings: Settings, *, process: str) -> None:
    """Called once, before anything logs. Lines go to standard error."""

    def name_process(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        event["process"] = process
        return event

    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        name_process,
        structlog.processors.format_exc_info,
        _mask_event,
    ]
    pretty = is_for_people(settings)
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
        if pretty
        else structlog.processors.JSONRenderer(ensure_ascii=False)
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared[:-2], structlog.stdlib.ExtraAdder(), *shared[-2:]],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel((settings.log_level or "info").upper())
    # While the database is away, the pool would write a traceback at every try; what that means is logged by us.
    logging.getLogger("asyncpg").setLevel("ERROR")
    logging.getLogger("asyncio").setLevel("WARNING")
