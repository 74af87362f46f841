"""Templates themselves: make, read, list, change and archive them. What they say is in their versions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from msgspec import UNSET, UnsetType

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, refuse
from waypost.kernel.ids import mint, show
from waypost.kernel.paging import Page, decode_id_cursor, encode_id_cursor, page_of, read_limit
from waypost.kernel.tenancy import PLATFORM, Permission, Scope
from waypost.kernel.vocabulary import Category, Channel
from waypost.kernel.work import Transaction
from waypost.templates.lookup import Lookup
from waypost.templates.model import JsonValue, Template, TemplateKind, VersionState
from waypost.templates.rules import read_key, read_locale, read_name
from waypost.templates.stores import Audit, DraftStore, TemplateStore, Topics

_LISTING: Final = "templates"


@dataclass(frozen=True, kw_only=True, slots=True)
class NewTemplate:
    key: str
    channel: Channel
    category: Category
    topic: str | None = None
    default_locale: str = "en"
    name: str | None = None
    """The key, where it is left out."""
    kind: TemplateKind = TemplateKind.MESSAGE


@dataclass(frozen=True, kw_only=True, slots=True)
class TemplateChange:
    """What is left out stays as it is; None takes the topic away."""

    name: str | UnsetType = UNSET
    category: Category | UnsetType = UNSET
    topic: str | UnsetType | None = UNSET
    default_locale: str | UnsetType = UNSET


class Catalog:
    def __init__(
        self,
        *,
        store: TemplateStore,
        drafts: DraftStore,
        lookup: Lookup,
        topics: Topics,
        clock: Clock,
        audit: Audit,
    ) -> None:
        self._store = store
        self._drafts = drafts
        self._lookup = lookup
        self._topics = topics
        self._clock = clock
        self._audit = audit

    async def create(self, tx: Transaction, scope: Scope, new: NewTemplate) -> Template:
        scope.demand(Permission.TEMPLATES_WRITE)
        now = self._clock.now()
        key = read_key(new.key, "/key")
        template = Template(
            id=mint(self._clock),
            owner=tx.tenant_id,
            key=key,
            channel=new.channel,
            kind=new.kind,
            category=new.category,
            topic=new.topic,
            default_locale=read_locale(new.default_locale, "/default_locale"),
            name=read_name(key if new.name is None else new.name, "/name"),
            revision=1,
            created_at=now,
            updated_at=now,
            published_at=None,
            archived_at=None,
        )
        await self._check_topic(tx, template)
        if not await self._store.add(tx, template):
            raise Conflict("There is a template of this key and channel already.", code="template_exists")
        detail = {"category": template.category.word, "kind": template.kind.value, "topic": template.topic}
        await self.record(tx, scope, "template.created", template, detail)
        return template

    async def get(self, tx: Transaction, scope: Scope, key: str, channel: Channel) -> Template:
        """The tenant's own; else the platform's, if it is published."""
        scope.demand(Permission.TEMPLATES_READ)
        return await self._lookup.template(tx, key, channel)

    async def page(
        self, tx: Transaction, scope: Scope, cursor: str | None, limit: int | None, *, platforms: bool = False
    ) -> Page[Template]:
        """Newest first: the tenant's own, or those that the platform offers."""
        scope.demand(Permission.TEMPLATES_READ)
        size, owner = read_limit(limit), PLATFORM if platforms else tx.tenant_id
        listing = f"{_LISTING}:platform" if platforms else _LISTING
        found = await self._store.page(tx, owner, decode_id_cursor(listing, cursor), size + 1)
        return page_of(found, size, lambda template: encode_id_cursor(listing, template.id))

    async def change(
        self,
        tx: Transaction,
        scope: Scope,
        key: str,
        channel: Channel,
        change: TemplateChange,
        *,
        revision: int | None = None,
    ) -> Template:
        scope.demand(Permission.TEMPLATES_WRITE)
        template = await self._lookup.own(tx, key, channel, revision)
        wanted = replace(
            template,
            name=template.name if change.name is UNSET else read_name(change.name, "/name"),
            category=template.category if change.category is UNSET else change.category,
            topic=template.topic if change.topic is UNSET else change.topic,
            default_locale=template.default_locale
            if change.default_locale is UNSET
            else read_locale(change.default_locale, "/default_locale"),
        )
        if wanted == template:
            return template
        if wanted.category is not template.category and template.published_at is not None:
            message = "People rely on the category of what was published; make a template of another key."
            raise refuse("/category", "category_fixed", message)
        await self._check_topic(tx, wanted)
        await self._check_default(tx, template, wanted)
        changed = await self.touch(tx, wanted)
        detail = {"name": changed.name, "topic": changed.topic, "default_locale": changed.default_locale}
        await self.record(tx, scope, "template.changed", changed, {**detail, "category": changed.category.word})
        return changed

    async def archive(
        self, tx: Transaction, scope: Scope, key: str, channel: Channel, *, revision: int | None = None
    ) -> Template:
        """Sent no longer and no longer listed; the platform's of the same key takes its place. Publishing brings it
        back."""
        scope.demand(Permission.TEMPLATES_WRITE)
        template = await self._lookup.own(tx, key, channel, revision)
        if template.archived_at is not None:
            return template
        active = await self._drafts.find(tx, template, None)
        if active is not None:
            await self._drafts.move(tx, active, VersionState.ARCHIVED, self._clock.now())
        archived = await self.touch(tx, replace(template, archived_at=self._clock.now()))
        detail = {"semver": active.semver if active else None}
        await self.record(tx, scope, "template.archived", archived, detail)
        return archived

    async def touch(self, tx: Transaction, template: Template) -> Template:
        """Something about the template, which is locked, has changed."""
        changed = replace(template, revision=template.revision + 1, updated_at=self._clock.now())
        await self._store.change(tx, changed)
        return changed

    async def record(
        self, tx: Transaction, scope: Scope, action: str, template: Template, detail: Mapping[str, JsonValue]
    ) -> None:
        about: dict[str, JsonValue] = {"key": template.key, "channel": template.channel.word, **detail}
        await self._audit.record(tx, scope, action, show("tpl", template.id), about)

    async def _check_topic(self, tx: Transaction, template: Template) -> None:
        if template.topic is None:
            return
        key = read_key(template.topic, "/topic")
        topic = await self._topics.find(tx, key)
        if topic is None:
            raise refuse("/topic", "unknown_topic", "There is no topic of this key.")
        if topic.category is not template.category:
            message = f"This topic belongs to {topic.category.word}, and the template does not."
            raise refuse("/topic", "topic_mismatch", message)

    async def _check_default(self, tx: Transaction, template: Template, wanted: Template) -> None:
        if wanted.default_locale == template.default_locale:
            return
        active = await self._drafts.find(tx, template, None)
        if active is not None and wanted.default_locale not in active.locales:
            message = "What is published now is not written in this locale."
            raise refuse("/default_locale", "missing_default_locale", message)
