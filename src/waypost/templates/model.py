"""Templates, versions and content."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from waypost.kernel.jsontypes import JsonObject as JsonObject
from waypost.kernel.jsontypes import JsonValue as JsonValue
from waypost.kernel.vocabulary import Category, Channel


class VersionState(StrEnum):
    DRAFT = "draft"
    ACTIVE = "active"
    ARCHIVED = "archived"
    INLINE = "inline"
    """The content of a call, stored once per distinct content, without a template."""


class Profile(StrEnum):
    """The template language of a version."""

    JINJA = "jinja"
    LIQUID = "liquid"


class Format(StrEnum):
    """What an author writes; markdown and MJML become HTML once, when they are published."""

    HTML = "html"
    MJML = "mjml"
    MARKDOWN = "markdown"
    TEXT = "text"
    JSON = "json"


class Direction(StrEnum):
    LTR = "ltr"
    RTL = "rtl"


@dataclass(frozen=True, kw_only=True, slots=True)
class LocaleSource:
    """What an author wrote for one locale."""

    subject: str = ""
    preheader: str | None = None
    body: str
    format: Format
    text: str | None = None
    """The text part beside an HTML body; derived where it is missing."""
    direction: Direction = Direction.LTR
    locale: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Fragment:
    """A published layout or partial of the tenant, by the name under which sources refer to it."""

    body: str
    format: Format
    profile: Profile
    layout: str | None = None
    """The layout around this layout."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Content:
    """What is rendered for one message in one locale, ready for the template engine: layouts, partials, markdown, MJML
    and CSS are already worked in. `html`, `text` or both, or `json`; the text part is derived where it is missing."""

    subject: str = ""
    html: str | None = None
    text: str | None = None
    json: str | None = None
    preheader: str | None = None
    """For who shows a message in a list; in `html` it is already worked in."""
    profile: Profile = Profile.JINJA
    direction: Direction = Direction.LTR
    locale: str | None = None
    """The language that the content is written in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Template:
    id: UUID
    key: str
    channel: Channel
    category: Category
    name: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    id: UUID
    template_id: UUID | None
    number: int | None
    state: VersionState
    content: Content
    variables_schema: JsonObject | None
    created_at: datetime
    published_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ActiveVersion:
    """A template with the version that is sent now."""

    template: Template
    version: Version


TRANSITIONS: Final = {
    VersionState.DRAFT: frozenset({VersionState.ACTIVE}),
    VersionState.ACTIVE: frozenset({VersionState.ARCHIVED}),
    VersionState.ARCHIVED: frozenset[VersionState](),
    VersionState.INLINE: frozenset[VersionState](),
}
"""Content never changes once it is stored; only its state does."""
