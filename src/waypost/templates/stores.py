"""What templates need from the system of record, and from their neighbours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from uuid import UUID

from waypost.kernel.tenancy import Scope
from waypost.kernel.vocabulary import Category, Channel
from waypost.kernel.work import Transaction
from waypost.templates.model import (
    Approval,
    House,
    JsonObject,
    JsonValue,
    Origin,
    Profile,
    Provenance,
    Template,
    VersionState,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class SealedVersion:
    """A version as it lies in the store. Those of the platform are sealed under the platform's key."""

    id: UUID
    owner: str
    template_id: UUID
    number: int
    semver: str
    state: VersionState
    sources: bytes = field(repr=False)
    sources_hash: bytes
    """Keyed, so that it tells nothing to who reads the database."""
    locales: tuple[str, ...]
    fallback_chain: tuple[str, ...]
    profile: Profile
    variables_schema: JsonObject | None
    origin: Origin
    provenance: Provenance
    created_by: UUID | None
    approval: Approval | None
    created_at: datetime
    published_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SealedContent:
    """What is sent in one locale. The inline content of a call has the empty locale."""

    owner: str
    version_id: UUID
    locale: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class ActiveRow:
    """What is sent now for a key and channel: the tenant's own, else the platform's."""

    template: Template
    house: House
    version_id: UUID
    locales: tuple[str, ...]
    fallback_chain: tuple[str, ...]
    variables_schema: JsonObject | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Numbers:
    """The version numbers of one template."""

    taken: tuple[str, ...]
    published: tuple[str, ...]


class VersionStore(Protocol):
    """Contents as sending needs them."""

    async def active(self, tx: Transaction, key: str, channel: Channel) -> ActiveRow | None: ...

    async def contents(self, tx: Transaction, wanted: Sequence[tuple[UUID, str | None]]) -> Sequence[SealedContent]:
        """Of versions in locales, as far as they are there; inline content whatever the locale."""
        ...

    async def schemas(self, tx: Transaction, ids: Sequence[UUID]) -> Mapping[UUID, JsonObject | None]: ...

    async def keep_inline(self, tx: Transaction, version_id: UUID, content: bytes, hash_: bytes, at: datetime) -> UUID:
        """The id under which this content is kept: the one given, or of an earlier one with the same content."""
        ...

    async def house(self, tx: Transaction) -> House: ...


class TemplateStore(Protocol):
    """Templates as their authors see them. Reading finds the tenant's own, then the platform's published ones;
    writing reaches the tenant's own only."""

    async def add(self, tx: Transaction, template: Template) -> bool:
        """False where the tenant has a template of this key and channel already."""
        ...

    async def find(self, tx: Transaction, key: str, channel: Channel) -> Template | None: ...

    async def lock(self, tx: Transaction, key: str, channel: Channel) -> Template | None:
        """The tenant's own, locked until the transaction ends."""
        ...

    async def page(self, tx: Transaction, owner: str, before: UUID | None, limit: int) -> Sequence[Template]:
        """Newest first; without those that are archived."""
        ...

    async def change(self, tx: Transaction, template: Template) -> None:
        """All of it but what never changes. The template must be locked."""
        ...


class DraftStore(Protocol):
    """The versions of a template."""

    async def numbers(self, tx: Transaction, template_id: UUID) -> Numbers: ...

    async def add(self, tx: Transaction, version: SealedVersion) -> int:
        """Its place in the order of versions. The template must be locked."""
        ...

    async def find(self, tx: Transaction, template: Template, semver: str | None) -> SealedVersion | None:
        """The version of this number, or the active one."""
        ...

    async def page(
        self, tx: Transaction, template: Template, before: int | None, limit: int
    ) -> Sequence[SealedVersion]:
        """Newest first."""
        ...

    async def approve(self, tx: Transaction, version_id: UUID, approval: Approval) -> None: ...

    async def add_contents(self, tx: Transaction, contents: Sequence[SealedContent]) -> None: ...

    async def move(self, tx: Transaction, version: SealedVersion, state: VersionState, at: datetime) -> None:
        """Into a state; what was active until now is archived by activating another. The template must be locked."""
        ...

    async def fragments(
        self, tx: Transaction, channel: Channel, names: Sequence[str]
    ) -> Sequence[tuple[Template, SealedVersion]]:
        """The active versions of layouts and partials: of each name the tenant's own, else the platform's."""
        ...


class Topical(Protocol):
    @property
    def category(self) -> Category: ...


class Topics(Protocol):
    async def find(self, tx: Transaction, key: str) -> Topical | None: ...


class Audit(Protocol):
    async def record(
        self,
        tx: Transaction,
        scope: Scope,
        action: str,
        subject: str,
        detail: Mapping[str, JsonValue] | None = None,
    ) -> None: ...
