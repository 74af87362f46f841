"""What the API answers about templates and their versions."""

from datetime import datetime
from typing import Any

import msgspec

from waypost.client.answers import JsonObject


class Template(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    key: str
    channel: str
    kind: str
    owner: str
    category: str
    topic: str | None
    default_locale: str
    name: str
    revision: int
    created_at: datetime
    updated_at: datetime
    published_at: datetime | None
    archived_at: datetime | None


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    level: str
    pointer: str
    code: str
    message: str


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    findings: tuple[Finding, ...]


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    by: str
    at: datetime


class LocaleSource(msgspec.Struct, frozen=True, kw_only=True):
    body: str
    subject: str = ""
    preheader: str | None = None
    format: str = "html"
    text: str | None = None
    direction: str = "ltr"


class TemplateVersion(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    semver: str
    state: str
    source: str
    profile: str
    layout: str | None
    locales: dict[str, LocaleSource]
    fallback_chain: tuple[str, ...]
    variables_schema: JsonObject | None
    samples: dict[str, JsonObject]
    tracking: dict[str, bool | None] = {}
    created_at: datetime
    published_at: datetime | None
    approval: Approval | None = None
    provenance: JsonObject = {}
    findings: tuple[Finding, ...] = ()
    """Told when a version is drafted or published."""


class VersionChange(msgspec.Struct, frozen=True, kw_only=True):
    pointer: str
    before: Any
    after: Any
    unified: str | None


class VersionDiff(msgspec.Struct, frozen=True, kw_only=True):
    before: str = msgspec.field(name="from")
    after: str = msgspec.field(name="to")
    changes: tuple[VersionChange, ...]
    unified: str


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    locale: str
    direction: str
    subject: str
    text: str
    html: str | None = None
    preheader: str | None = None
    json: str | None = None
    findings: tuple[Finding, ...] = ()
