"""Templates to pages. Everything is escaped; only our own templates are ever loaded."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode
from uuid import UUID

from minijinja import Environment

from waypost.console import moments, words
from waypost.console.assets import Asset
from waypost.console.cookies import THEMES
from waypost.console.navigation import menu_of
from waypost.console.visit import View
from waypost.delivery.model import State
from waypost.kernel import ids
from waypost.kernel.clock import Clock
from waypost.kernel.tenancy import PLATFORM
from waypost.kernel.vocabulary import Category, Channel, Priority
from waypost.tenants.sessions import Session

_FOLDER: Final = Path(__file__).parent / "templates"


class Renderer:
    def __init__(self, *, clock: Clock, assets: Mapping[str, Asset], has_mailbox: bool) -> None:
        self._clock = clock
        self._has_mailbox = has_mailbox
        self._environment = Environment(
            templates={path.name: path.read_text() for path in sorted(_FOLDER.glob("*.html"))},
            # By our own decision, not by what a file is called.
            auto_escape_callback=lambda _name: "html",
            undefined_behavior="strict",
            trim_blocks=True,
            lstrip_blocks=True,
            debug=False,
            filters={
                "ago": self._ago,
                "clock": self._short,
                "moment": moments.in_full,
                "iso": moments.iso,
                "exact": moments.exact,
                "number": moments.grouped,
                "seconds": moments.duration,
                "quoted": _quoted,
                "query": _query,
                "shown_id": _shown_id,
                "state": _state,
                "channel": _channel,
                "category": _category,
                "priority": _priority,
                "state_tone": words.tone_of_state,
                "reason": words.reason,
                "word": words.spaced,
                "lines": str.splitlines,
            },
            globals={"assets": {name: f"/assets/{asset.name}" for name, asset in assets.items()}, "themes": THEMES},
        )

    def page(self, view: View, session: Session | None, *, theme: str, path: str) -> str:
        scope = session.scope if session else None
        around = {
            "theme": theme,
            "path": path,
            "session": session,
            "tenant": scope.tenant_id if scope else "",
            "is_platform": scope is not None and scope.tenant_id == PLATFORM,
            "mode": scope.mode.value if scope else "",
            "may": sorted(permission.value for permission in scope.permissions) if scope else [],
            "menu": menu_of(scope, path, has_mailbox=self._has_mailbox) if scope else [],
            "proof": session.form_proof if session else "",
        }
        return self._environment.render_template(view.template, **around, **view.shows)

    def _ago(self, moment: datetime) -> str:
        return moments.ago(moment, self._clock.now())

    def _short(self, moment: datetime) -> str:
        return moments.short(moment, self._clock.now())


def _quoted(text: str) -> str:
    """One segment of a path."""
    return quote(text, safe="")


def _query(fields: Mapping[str, str]) -> str:
    return urlencode({name: value for name, value in fields.items() if value})


def _shown_id(value: UUID, prefix: str) -> str:
    return ids.show(prefix, value)


# A number is all that is left of one of our words when a template reads it.


def _state(number: int) -> str:
    return State(number).word


def _channel(number: int) -> str:
    return Channel(number).word


def _category(number: int) -> str:
    return Category(number).word


def _priority(number: int) -> str:
    return Priority(number).word
