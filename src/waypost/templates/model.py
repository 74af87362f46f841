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


@dataclass(frozen=True, kw_only=True, slots=True)
class Content:
    """What is rendered for one message: `html`, `text` or both; the text part is derived when it is missing."""

    subject: str
    html: str | None = None
    text: str | None = None


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
