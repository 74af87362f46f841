"""Writing templates: create one, add drafts, publish a draft, look at any version, try it with sample variables."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, NotFound, refuse
from waypost.kernel.ids import mint, show
from waypost.kernel.paging import (
    Page,
    decode_cursor,
    decode_id_cursor,
    encode_cursor,
    encode_id_cursor,
    page_of,
    read_limit,
)
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import Keyring
from waypost.kernel.vocabulary import Category, Channel
from waypost.kernel.work import Transaction
from waypost.templates import sealing
from waypost.templates.model import Content, JsonObject, JsonValue, Template, Version, VersionState
from waypost.templates.ports import (
    Audit,
    RenderedParts,
    Renderer,
    RenderFailure,
    RenderJob,
    SealedVersion,
    TemplateStore,
)
from waypost.templates.rules import check_shape, check_transition, read_key, read_name, refused_below

_LISTING: Final = "templates"
_HIGHEST_NUMBER: Final = 2**31 - 1


class Templates:
    def __init__(
        self, *, store: TemplateStore, renderer: Renderer, keyring: Keyring, clock: Clock, audit: Audit
    ) -> None:
        self._store = store
        self._renderer = renderer
        self._keyring = keyring
        self._clock = clock
        self._audit = audit

    async def create(
        self, tx: Transaction, scope: Scope, *, key: str, channel: Channel, category: Category, name: str
    ) -> Template:
        scope.demand(Permission.TEMPLATES_WRITE)
        now = self._clock.now()
        template = Template(
            id=mint(self._clock),
            key=read_key(key, "/key"),
            channel=channel,
            category=category,
            name=read_name(name, "/name"),
            created_at=now,
            updated_at=now,
        )
        if not await self._store.add(tx, template):
            raise Conflict("There is a template of this key and channel already.", code="template_exists")
        await self._record(tx, scope, "template.created", template, {"category": category.word})
        return template

    async def add_draft(
        self,
        tx: Transaction,
        scope: Scope,
        *,
        key: str,
        channel: Channel,
        content: Content,
        variables_schema: JsonObject | None,
    ) -> Version:
        """A new version, checked and not yet sent by anyone."""
        scope.demand(Permission.TEMPLATES_WRITE)
        template = await self._find(tx, key, channel, for_change=True)
        check_shape(content, channel, "/content")
        await self._check_content(tx, content)
        await self._check_schema(variables_schema)
        tenant_key = await self._keyring.of(tx)
        version_id = mint(self._clock)
        sealed = SealedVersion(
            id=version_id,
            template_id=template.id,
            number=None,
            state=VersionState.DRAFT,
            content=sealing.seal(tenant_key, tx.tenant_id, version_id, content),
            content_hash=sealing.hash_of(tenant_key, content),
            variables_schema=variables_schema,
            created_at=self._clock.now(),
        )
        number = await self._store.add_draft(tx, sealed)
        await self._record(tx, scope, "template.drafted", template, {"number": number})
        return sealing.open_version(tenant_key, tx.tenant_id, replace(sealed, number=number))

    async def publish(self, tx: Transaction, scope: Scope, *, key: str, channel: Channel, number: int) -> Version:
        """From now on this draft is sent; what was sent until now is archived."""
        scope.demand(Permission.TEMPLATES_WRITE)
        template = await self._find(tx, key, channel, for_change=True)
        version = await self._version(tx, template, number)
        check_transition(version.state, VersionState.ACTIVE)
        await self._check_content(tx, version.content)
        now = self._clock.now()
        await self._store.activate(tx, template.id, version.id, now)
        await self._record(tx, scope, "template.published", template, {"number": number})
        return replace(version, state=VersionState.ACTIVE, published_at=now)

    async def get(self, tx: Transaction, scope: Scope, *, key: str, channel: Channel) -> Template:
        scope.demand(Permission.TEMPLATES_READ)
        return await self._find(tx, key, channel)

    async def page(self, tx: Transaction, scope: Scope, cursor: str | None, limit: int | None) -> Page[Template]:
        """Newest first."""
        scope.demand(Permission.TEMPLATES_READ)
        size = read_limit(limit)
        found = await self._store.page(tx, decode_id_cursor(_LISTING, cursor), size + 1)
        return page_of(found, size, lambda template: encode_id_cursor(_LISTING, template.id))

    async def version(self, tx: Transaction, scope: Scope, *, key: str, channel: Channel, number: int) -> Version:
        scope.demand(Permission.TEMPLATES_READ)
        return await self._version(tx, await self._find(tx, key, channel), number)

    async def versions(
        self, tx: Transaction, scope: Scope, *, key: str, channel: Channel, cursor: str | None, limit: int | None
    ) -> Page[Version]:
        """Newest first."""
        scope.demand(Permission.TEMPLATES_READ)
        template, size = await self._find(tx, key, channel), read_limit(limit)
        listing = f"versions:{template.id.hex}"
        position = decode_cursor(listing, cursor)
        before = int(position) if position is not None and position.isdecimal() and len(position) < 10 else None
        found = await self._store.versions(tx, template.id, before, size + 1)
        tenant_key = await self._keyring.of(tx)
        page = page_of(found, size, lambda sealed: encode_cursor(listing, str(sealed.number)))
        return page.map(lambda sealed: sealing.open_version(tenant_key, tx.tenant_id, sealed))

    async def preview(
        self,
        tx: Transaction,
        scope: Scope,
        *,
        key: str,
        channel: Channel,
        number: int | None,
        variables: JsonObject,
    ) -> RenderedParts:
        """What the version, or the active one, becomes with these variables. Nothing is sent."""
        scope.demand(Permission.TEMPLATES_READ)
        version = await self._version(tx, await self._find(tx, key, channel), number)
        if version.variables_schema is not None:
            faults = await self._renderer.validate(version.variables_schema, variables)
            if faults:
                detail = "The variables do not fit the template."
                raise refused_below("/variables", faults, detail=detail, code="invalid_variables")
        job = RenderJob(tenant_id=tx.tenant_id, version_id=version.id, content=version.content, context=variables)
        (answer,) = await self._renderer.render([job])
        if isinstance(answer, RenderFailure):
            raise refuse("/variables", answer.code, answer.message)
        return answer

    async def _find(self, tx: Transaction, key: str, channel: Channel, *, for_change: bool = False) -> Template:
        template = await self._store.find(tx, key, channel, for_change=for_change)
        if template is None:
            raise NotFound("There is no template of this key and channel.", code="template_not_found")
        return template

    async def _version(self, tx: Transaction, template: Template, number: int | None) -> Version:
        is_possible = number is None or 1 <= number <= _HIGHEST_NUMBER
        sealed = await self._store.version(tx, template.id, number) if is_possible else None
        if sealed is None:
            words = "no published version yet" if number is None else "no version of this number"
            raise NotFound(f"This template has {words}.", code="version_not_found")
        return sealing.open_version(await self._keyring.of(tx), tx.tenant_id, sealed)

    async def _check_content(self, tx: Transaction, content: Content) -> None:
        report = await self._renderer.check(tx.tenant_id, content)
        if report.errors:
            detail = "The content cannot be rendered."
            raise refused_below("/content", report.errors, detail=detail, code=report.errors[0].code)

    async def _check_schema(self, schema: JsonObject | None) -> None:
        faults = await self._renderer.check_schema(schema) if schema is not None else ()
        if faults:
            detail = "The schema of the variables cannot be used."
            raise refused_below("/variables_schema", faults, detail=detail, code=faults[0].code)

    async def _record(
        self, tx: Transaction, scope: Scope, action: str, template: Template, detail: Mapping[str, JsonValue]
    ) -> None:
        about = {"key": template.key, "channel": template.channel.word, **detail}
        await self._audit.record(tx, scope, action, show("tpl", template.id), about)
