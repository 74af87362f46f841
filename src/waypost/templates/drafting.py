"""The versions of a template: write one, read them, compare two, approve what a model wrote."""

from dataclasses import dataclass, replace
from typing import Final

from waypost.kernel.attachments import FileLimits, FileRef, NewFile, check_files, type_of
from waypost.kernel.blobs import Blobs, digest_of
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, FieldError, Refused, refuse
from waypost.kernel.ids import mint
from waypost.kernel.paging import Page, decode_number_cursor, encode_cursor, page_of, read_limit
from waypost.kernel.tenancy import PLATFORM, Permission, Scope
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.templates import sealing, semver
from waypost.templates.catalog import Catalog
from waypost.templates.compiling import Compiler
from waypost.templates.diff import Change, diff_versions, unified
from waypost.templates.lint import Finding, lint
from waypost.templates.lookup import Lookup
from waypost.templates.model import (
    Approval,
    JsonObject,
    Origin,
    Provenance,
    Template,
    TemplateKind,
    Version,
    VersionState,
    Written,
)
from waypost.templates.ports import Renderer
from waypost.templates.rules import (
    check_transition,
    check_written,
    read_locale,
    read_name,
    refused_below,
    spell_locales,
)
from waypost.templates.stores import DraftStore, SealedVersion

NO_PROVENANCE: Final = Provenance()
_LONGEST_REFERENCE: Final = 500
_FILE_LIMITS: Final = FileLimits(each=512 * 1024, together=700 * 1024)
"""Every message of the version carries them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewVersion:
    written: Written
    semver: str | None = None
    """The next minor one, where it is left out."""
    is_ai_drafted: bool = False
    provenance: Provenance = NO_PROVENANCE
    files: tuple[NewFile, ...] = ()
    """Further images that its HTML shows, and files that go along with every message."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Drafted:
    version: Version
    template: Template
    findings: tuple[Finding, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    before: Version
    after: Version
    changes: list[Change]
    unified: str


class Drafts:
    def __init__(
        self,
        *,
        store: DraftStore,
        catalog: Catalog,
        lookup: Lookup,
        compiler: Compiler,
        renderer: Renderer,
        blobs: Blobs,
        clock: Clock,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._lookup = lookup
        self._compiler = compiler
        self._renderer = renderer
        self._blobs = blobs
        self._clock = clock

    async def add(
        self,
        tx: Transaction,
        scope: Scope,
        key: str,
        channel: Channel,
        new: NewVersion,
        *,
        revision: int | None = None,
    ) -> Drafted:
        """A new version: checked in every locale, stored for ever, and not yet sent by anyone."""
        scope.demand(Permission.TEMPLATES_WRITE)
        template = await self._lookup.own(tx, key, channel, revision)
        numbers = await self._store.numbers(tx, template.id)
        number = semver.choose(new.semver, numbers.taken, numbers.published, "/semver")
        files = _read_files(template, new.files)
        written = replace(await self.read(template, new.written), files=(*new.written.files, *files))
        provenance = _read_provenance(new)
        compiled = await self._compiler.compile(tx, template, written)
        tenant_key = await self._lookup.key(tx, template.owner)
        contents = {file.digest: given.content or b"" for file, given in zip(files, new.files, strict=True)}
        if contents:
            await self._blobs.keep(tx, tenant_key, contents, dict.fromkeys(contents))
        version_id = mint(self._clock)
        sealed = SealedVersion(
            id=version_id,
            owner=template.owner,
            template_id=template.id,
            number=0,
            semver=number,
            state=VersionState.DRAFT,
            sources=sealing.seal_written(tenant_key, template.owner, version_id, written),
            sources_hash=sealing.hash_written(tenant_key, written),
            locales=tuple(sorted(written.locales)),
            fallback_chain=written.fallback_chain,
            profile=written.profile,
            variables_schema=written.variables_schema,
            origin=_origin(template, new),
            provenance=provenance,
            created_by=scope.key_id,
            approval=None,
            created_at=self._clock.now(),
            published_at=None,
        )
        sealed = replace(sealed, number=await self._store.add(tx, sealed))
        changed = await self._catalog.touch(tx, template)
        detail = {"semver": number, "source": sealed.origin.value, "model": provenance.model}
        await self._catalog.record(tx, scope, "template.drafted", changed, detail)
        version = sealing.open_version(tenant_key, sealed)
        return Drafted(version=version, template=changed, findings=tuple(lint(template, written, compiled)))

    async def get(
        self, tx: Transaction, scope: Scope, key: str, channel: Channel, number: str | None
    ) -> tuple[Template, Version]:
        """The version of this number, or the active one."""
        scope.demand(Permission.TEMPLATES_READ)
        template = await self._lookup.template(tx, key, channel)
        return template, await self._lookup.version(tx, template, number)

    async def page(
        self, tx: Transaction, scope: Scope, key: str, channel: Channel, cursor: str | None, limit: int | None
    ) -> Page[Version]:
        """Newest first."""
        scope.demand(Permission.TEMPLATES_READ)
        template, size = await self._lookup.template(tx, key, channel), read_limit(limit)
        listing = f"versions:{template.id.hex}"
        found = await self._store.page(tx, template, decode_number_cursor(listing, cursor), size + 1)
        tenant_key = await self._lookup.key(tx, template.owner)
        page = page_of(found, size, lambda sealed: encode_cursor(listing, str(sealed.number)))
        return page.map(lambda sealed: sealing.open_version(tenant_key, sealed))

    async def compare(
        self, tx: Transaction, scope: Scope, key: str, channel: Channel, before: str, after: str
    ) -> Comparison:
        scope.demand(Permission.TEMPLATES_READ)
        template = await self._lookup.template(tx, key, channel)
        old, new = await self._lookup.version(tx, template, before), await self._lookup.version(tx, template, after)
        changes = diff_versions(old.written, new.written)
        return Comparison(before=old, after=new, changes=changes, unified=unified(old.written, new.written))

    async def lint(self, tx: Transaction, scope: Scope, key: str, channel: Channel, number: str) -> list[Finding]:
        scope.demand(Permission.TEMPLATES_READ)
        template = await self._lookup.template(tx, key, channel)
        version = await self._lookup.version(tx, template, number)
        compiled = await self._compiler.compile(tx, template, version.written)
        return lint(template, version.written, compiled)

    async def approve(
        self, tx: Transaction, scope: Scope, key: str, channel: Channel, number: str, *, approver: str
    ) -> Version:
        """Someone has read what a model wrote and stands for it, by name."""
        scope.demand(Permission.TEMPLATES_APPROVE)
        name = read_name(approver, "/approver")
        template = await self._lookup.own(tx, key, channel, None)
        version = await self._lookup.version(tx, template, number)
        if version.origin is not Origin.AI_DRAFTED:
            raise Conflict("Only what a model wrote needs an approval.", code="no_approval_needed")
        if version.approval is not None:
            return version
        approval = Approval(by=name, at=self._clock.now())
        await self._store.approve(tx, version.id, approval)
        changed = await self._catalog.touch(tx, template)
        detail = {"semver": version.semver, "approver": name, "model": version.provenance.model}
        await self._catalog.record(tx, scope, "template.approved", changed, detail)
        return replace(version, approval=approval)

    async def archive(
        self,
        tx: Transaction,
        scope: Scope,
        key: str,
        channel: Channel,
        number: str,
        *,
        revision: int | None = None,
    ) -> tuple[Template, Version]:
        """Gives up a draft, or stops sending what is sent now without a successor."""
        scope.demand(Permission.TEMPLATES_WRITE)
        template = await self._lookup.own(tx, key, channel, revision)
        sealed = await self._lookup.sealed(tx, template, number)
        check_transition(sealed.state, VersionState.ARCHIVED)
        await self._store.move(tx, sealed, VersionState.ARCHIVED, self._clock.now())
        changed = await self._catalog.touch(tx, template)
        detail = {"semver": number, "state_before": sealed.state.value}
        await self._catalog.record(tx, scope, "template.version_archived", changed, detail)
        opened = sealing.open_version(await self._lookup.key(tx, sealed.owner), sealed)
        return changed, replace(opened, state=VersionState.ARCHIVED)

    async def read(self, template: Template, written: Written) -> Written:
        """What an author wrote, with every locale in its one spelling; refused where it cannot be right."""
        spelled = replace(
            written,
            locales=spell_locales(written.locales, "/locales"),
            fallback_chain=tuple(
                read_locale(tag, f"/fallback_chain/{place}") for place, tag in enumerate(written.fallback_chain)
            ),
        )
        check_written(spelled, channel=template.channel, kind=template.kind, default_locale=template.default_locale)
        await self._check_schema(spelled.variables_schema)
        return spelled

    async def _check_schema(self, schema: JsonObject | None) -> None:
        faults = await self._renderer.check_schema(schema) if schema is not None else ()
        if faults:
            detail = "The schema of the variables cannot be used."
            raise refused_below("/variables_schema", faults, detail=detail, code=faults[0].code)


def _read_files(template: Template, given: tuple[NewFile, ...]) -> tuple[FileRef, ...]:
    if given and (template.channel is not Channel.EMAIL or template.kind is not TemplateKind.MESSAGE):
        raise refuse("/files", "wrong_channel", "Only messages that are emails carry files.")
    errors = list(check_files(given, _FILE_LIMITS, pointer="/files"))
    errors += [
        FieldError(pointer=f"/files/{place}/content", code="required", message="A template holds its files itself.")
        for place, file in enumerate(given)
        if file.content is None
    ]
    if errors:
        raise Refused("The files must be mended.", code=errors[0].code, errors=errors)
    return tuple(
        FileRef(digest_of(file.content or b""), file.filename, type_of(file), len(file.content or b""), file.content_id)
        for file in given
    )


def _origin(template: Template, new: NewVersion) -> Origin:
    if new.is_ai_drafted:
        return Origin.AI_DRAFTED
    return Origin.PLATFORM if template.owner == PLATFORM else Origin.TENANT


def _read_provenance(new: NewVersion) -> Provenance:
    given = new.provenance
    if not new.is_ai_drafted:
        if given != NO_PROVENANCE:
            raise refuse("/provenance", "unknown_field", "Only what a model wrote has a provenance.")
        return given
    if given.model is None:
        raise refuse("/provenance/model", "required", "Name the model that wrote it.")
    read_name(given.model, "/provenance/model")
    if given.prompt is not None and not (1 <= len(given.prompt) <= _LONGEST_REFERENCE and given.prompt.isprintable()):
        message = f"A reference to the prompt has 1 to {_LONGEST_REFERENCE} printable characters."
        raise refuse("/provenance/prompt", "invalid_reference", message)
    return given
