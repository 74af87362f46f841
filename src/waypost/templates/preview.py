"""What a version becomes for someone, stored or not. Nothing is sent and nothing is kept."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec

from waypost.kernel.blobs import Blobs
from waypost.kernel.clock import Clock
from waypost.kernel.errors import NotFound, refuse
from waypost.kernel.ids import mint
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.recipients.records import Recipients
from waypost.templates.compiling import Compiled, Compiler
from waypost.templates.context import Reader, build_context
from waypost.templates.drafting import Drafts
from waypost.templates.inline_images import images_of, with_images
from waypost.templates.lint import OPT_OUT_NAMES, Finding, lint
from waypost.templates.lookup import Lookup
from waypost.templates.model import Direction, House, JsonObject, JsonValue, Template, TemplateKind, Written
from waypost.templates.ports import RenderedParts, Renderer, RenderFailure, RenderJob
from waypost.templates.rules import choose_locale, read_locale, refused_below
from waypost.templates.sealing import open_content
from waypost.templates.stores import VersionStore

_WAY_OUT: Final = "https://preview.invalid/"
"""Stands for the recipient's own link, which is made when a message is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class For:
    """Whom to show it for."""

    variables: JsonObject | None = None
    """Those of the sample, where they are left out."""
    sample: str | None = None
    """One of the version's samples; its first, where neither is given."""
    recipient: str | None = None
    """Someone real, by the caller's id."""
    locale: str | None = None
    """Of the content; the recipient's, where it is left out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    locale: str
    direction: Direction
    parts: RenderedParts
    findings: tuple[Finding, ...]
    locales: tuple[str, ...]


class Preview:
    def __init__(
        self,
        *,
        lookup: Lookup,
        drafts: Drafts,
        compiler: Compiler,
        versions: VersionStore,
        recipients: Recipients,
        renderer: Renderer,
        blobs: Blobs,
        clock: Clock,
    ) -> None:
        self._lookup = lookup
        self._drafts = drafts
        self._compiler = compiler
        self._versions = versions
        self._recipients = recipients
        self._renderer = renderer
        self._blobs = blobs
        self._clock = clock

    async def stored(
        self, tx: Transaction, scope: Scope, key: str, channel: Channel, number: str | None, whom: For
    ) -> Shown:
        """A version of this number, or the active one. What was published is shown as it is sent, with the layouts of
        that day."""
        scope.demand(Permission.TEMPLATES_READ)
        template = await self._lookup.template(tx, key, channel)
        version = await self._lookup.version(tx, template, number)
        frozen = version.id if version.published_at is not None and template.kind is TemplateKind.MESSAGE else None
        return await self._show(tx, scope, template, version.written, whom, frozen=frozen)

    async def unsaved(
        self, tx: Transaction, scope: Scope, key: str, channel: Channel, written: Written, whom: For
    ) -> Shown:
        """What is being written, before it is stored."""
        scope.demand(Permission.TEMPLATES_READ)
        template = await self._lookup.template(tx, key, channel)
        return await self._show(tx, scope, template, await self._drafts.read(template, written), whom)

    async def _show(
        self,
        tx: Transaction,
        scope: Scope,
        template: Template,
        written: Written,
        whom: For,
        *,
        frozen: UUID | None = None,
    ) -> Shown:
        reader = await self._reader(tx, scope, whom)
        house = await self._versions.house(tx)
        locale = self._locale(template, written, whom, reader, house)
        compiled = await self._frozen(tx, template, frozen, locale) if frozen else None
        if compiled is None:
            compiled = (await self._compiler.compile(tx, template, written, [locale]))[locale]
        variables = _variables(written, whom)
        if written.variables_schema is not None:
            faults = await self._renderer.validate(written.variables_schema, variables)
            if faults:
                detail = "The variables do not fit the template."
                raise refused_below("/variables", faults, detail=detail, code="invalid_variables")
        rendered = await self._render(tx, compiled, variables, reader, locale, house)
        parts = await self._with_images(tx, template, written, rendered)
        return Shown(
            locale=locale,
            direction=written.locales[locale].direction,
            parts=parts,
            findings=tuple(lint(template, written, {locale: compiled})),
            locales=tuple(sorted(written.locales)),
        )

    async def _with_images(
        self, tx: Transaction, template: Template, written: Written, parts: RenderedParts
    ) -> RenderedParts:
        images = images_of(parts.html, written.files)
        if parts.html is None or not images:
            return parts
        key = await self._lookup.key(tx, template.owner)
        contents = await self._blobs.open(tx, template.owner, key, [file.digest for file in images.values()])
        return msgspec.structs.replace(parts, html=with_images(parts.html, images, contents))

    async def _frozen(self, tx: Transaction, template: Template, version_id: UUID, locale: str) -> Compiled | None:
        key = await self._lookup.key(tx, template.owner)
        for sealed in await self._versions.contents(tx, [(version_id, locale)]):
            wording = open_content(key, sealed)
            return Compiled(content=wording.content, mentioned=wording.mentioned, warnings=())
        return None

    async def _reader(self, tx: Transaction, scope: Scope, whom: For) -> Reader | None:
        if whom.recipient is None:
            return None
        try:
            found = await self._recipients.get(tx, scope, whom.recipient)
        except NotFound:
            raise refuse("/recipient", "unknown_recipient", "There is no recipient of this id.") from None
        return Reader(id=found.id, locale=found.locale, timezone=found.timezone, attributes=found.attributes)

    def _locale(self, template: Template, written: Written, whom: For, reader: Reader | None, house: House) -> str:
        if whom.locale is not None:
            wanted = read_locale(whom.locale, "/locale")
            if wanted not in written.locales:
                raise refuse("/locale", "unknown_locale", "The version has no such locale.")
            return wanted
        return choose_locale(
            written.locales,
            recipient=reader.locale if reader else None,
            chain=written.fallback_chain if reader else (),
            tenant=house.locale if reader else None,
            default=template.default_locale,
        )

    async def _render(
        self,
        tx: Transaction,
        compiled: Compiled,
        variables: JsonObject,
        reader: Reader | None,
        locale: str,
        house: House,
    ) -> RenderedParts:
        context = build_context(
            compiled.mentioned,
            variables=variables,
            reader=reader,
            tenant={"id": tx.tenant_id, "name": house.name},
        )
        for name in OPT_OUT_NAMES & compiled.mentioned:
            context.setdefault(name, _WAY_OUT)
        job = RenderJob(
            tenant_id=tx.tenant_id,
            version_id=mint(self._clock),
            content=compiled.content,
            context=context,
            locale=(reader.locale if reader else None) or locale,
            timezone=reader.timezone if reader else None,
        )
        (answer,) = await self._renderer.render([job])
        if isinstance(answer, RenderFailure):
            raise refuse("/variables", answer.code, answer.message)
        return answer


def _variables(written: Written, whom: For) -> JsonObject:
    if whom.sample is not None:
        sample = written.samples.get(whom.sample)
        if sample is None:
            raise refuse("/sample", "unknown_sample", "The version has no sample of this name.")
        return {**sample, **(whom.variables or {})}
    if whom.variables is not None:
        return whom.variables
    return next(iter(written.samples.values()), dict[str, JsonValue]())
