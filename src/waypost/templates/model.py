"""Templates, versions and content."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

import msgspec

from waypost.kernel.attachments import FileRef
from waypost.kernel.jsontypes import JsonObject as JsonObject
from waypost.kernel.jsontypes import JsonValue as JsonValue
from waypost.kernel.tenancy import PLATFORM
from waypost.kernel.tracking import UNSAID, Tracking
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


class Content(msgspec.Struct, frozen=True, kw_only=True, gc=False):
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
    tracking: Tracking = UNSAID
    """What the version says about opens and clicks."""
    files: tuple[FileRef, ...] = ()
    """Images that the HTML shows, and files that go along with every message."""


@dataclass(frozen=True, kw_only=True, slots=True)
class InlineSource:
    """The content of a call that must be compiled first."""

    source: LocaleSource
    profile: Profile
    field: str
    """What the caller named the body (`mjml`, `markdown`, `html`)."""


class TemplateKind(StrEnum):
    MESSAGE = "message"
    LAYOUT = "layout"
    """Stands around messages and other layouts."""
    PARTIAL = "partial"
    """Is included by messages, layouts and other partials."""


class Origin(StrEnum):
    """Who wrote a version."""

    PLATFORM = "platform"
    TENANT = "tenant"
    AI_DRAFTED = "ai_drafted"
    """A model did: a named person approves it before it is published."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Template:
    id: UUID
    owner: str
    """The tenant it belongs to: the reader's own, or the platform."""
    key: str
    channel: Channel
    kind: TemplateKind
    category: Category
    topic: str | None
    default_locale: str
    name: str
    revision: int
    """Grows with every change of the template or its versions."""
    created_at: datetime
    updated_at: datetime
    published_at: datetime | None
    """When a version was first published."""
    archived_at: datetime | None

    @property
    def is_platforms(self) -> bool:
        return self.owner == PLATFORM


@dataclass(frozen=True, kw_only=True, slots=True)
class Provenance:
    """Where the words of a model came from."""

    model: str | None = None
    prompt: str | None = None
    """A reference to the prompt, never the prompt itself."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Approval:
    by: str
    """A person's name."""
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """What an author writes for one version."""

    locales: Mapping[str, LocaleSource]
    layout: str | None = None
    profile: Profile = Profile.JINJA
    fallback_chain: tuple[str, ...] = ()
    variables_schema: JsonObject | None = None
    samples: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    """Variables to preview with, by name."""
    tracking: Tracking = UNSAID
    """What is noticed of its readers, unless a call says otherwise."""
    files: tuple[FileRef, ...] = ()
    """What goes along in every locale."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    """A version of a template, as its author sees it. Nothing of what was written ever changes."""

    id: UUID
    template_id: UUID
    owner: str
    number: int
    """The order in which versions were made."""
    semver: str
    state: VersionState
    written: Written
    origin: Origin
    provenance: Provenance
    created_by: UUID | None
    """The key that stored it."""
    approval: Approval | None
    created_at: datetime
    published_at: datetime | None
    """When it was last published."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wording:
    """A version in one locale, compiled."""

    id: UUID
    """Names the content for the renderer: equal ids mean equal content."""
    content: Content
    mentioned: frozenset[str]
    """What it reads, as `ports.ContentReport` says."""


@dataclass(frozen=True, kw_only=True, slots=True)
class House:
    """The tenant, as contents see it."""

    name: str
    locale: str | None
    """Of people of whom nothing better is known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sendable:
    """A version as sending needs it."""

    id: UUID
    wordings: Mapping[str, Wording]
    """By locale. The content of a call has one, under the empty locale, for everyone."""
    template: Template | None = None
    """None for the content of a call."""
    house: House | None = None
    """None where the content says nothing of the tenant."""
    variables_schema: JsonObject | None = None
    fallback_chain: tuple[str, ...] = ()


TRANSITIONS: Final = {
    VersionState.DRAFT: frozenset({VersionState.ACTIVE, VersionState.ARCHIVED}),
    VersionState.ACTIVE: frozenset({VersionState.ARCHIVED}),
    VersionState.ARCHIVED: frozenset({VersionState.ACTIVE}),
    VersionState.INLINE: frozenset[VersionState](),
}
"""What was archived can be published again, just as it was. Content never changes once it is stored; its state does."""
