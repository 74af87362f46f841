"""Publishing: compile once, freeze, and send from now on."""

from dataclasses import replace

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, FieldError, Refused
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.templates import sealing
from waypost.templates.catalog import Catalog
from waypost.templates.compiling import Compiler
from waypost.templates.drafting import Drafted
from waypost.templates.lint import Finding, Level, lint
from waypost.templates.lookup import Lookup
from waypost.templates.model import Origin, Template, TemplateKind, Version, VersionState
from waypost.templates.rules import check_transition
from waypost.templates.stores import DraftStore, SealedContent


class Publish:
    def __init__(
        self, *, store: DraftStore, catalog: Catalog, lookup: Lookup, compiler: Compiler, clock: Clock
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._lookup = lookup
        self._compiler = compiler
        self._clock = clock

    async def __call__(
        self,
        tx: Transaction,
        scope: Scope,
        key: str,
        channel: Channel,
        number: str,
        *,
        revision: int | None = None,
    ) -> Drafted:
        """From now on this version is sent, and what was sent until now is archived.

        What was published before is published again just as it was then: a way back that surprises nobody."""
        scope.demand(Permission.TEMPLATES_WRITE)
        template = await self._lookup.own(tx, key, channel, revision)
        sealed = await self._lookup.sealed(tx, template, number)
        check_transition(sealed.state, VersionState.ACTIVE)
        version = sealing.open_version(await self._lookup.key(tx, sealed.owner), sealed)
        if version.origin is Origin.AI_DRAFTED and version.approval is None:
            raise Conflict("A model wrote this: a named person must approve it first.", code="approval_needed")
        again = version.published_at is not None
        findings = () if again else await self._freeze(tx, template, version)
        now = self._clock.now()
        await self._store.move(tx, sealed, VersionState.ACTIVE, now)
        published = await self._catalog.touch(
            tx, replace(template, published_at=template.published_at or now, archived_at=None)
        )
        detail = {"semver": number, "again": again, "approver": version.approval.by if version.approval else None}
        await self._catalog.record(tx, scope, "template.published", published, detail)
        return Drafted(
            version=replace(version, state=VersionState.ACTIVE, published_at=now),
            template=published,
            findings=findings,
        )

    async def _freeze(self, tx: Transaction, template: Template, version: Version) -> tuple[Finding, ...]:
        if template.default_locale not in version.written.locales:
            message = "The template's default locale is not among these, so some people would get nothing."
            error = FieldError(pointer="/locales", code="missing_default_locale", message=message)
            raise Refused(message, code=error.code, errors=[error])
        compiled = await self._compiler.compile(tx, template, version.written)
        findings = tuple(lint(template, version.written, compiled))
        faults = [finding for finding in findings if finding.level is Level.ERROR]
        if faults:
            errors = [FieldError(pointer=each.pointer, code=each.code, message=each.message) for each in faults]
            raise Refused("The content must be mended before it is published.", code="lint_failed", errors=errors)
        if template.kind is TemplateKind.MESSAGE:
            key = await self._lookup.key(tx, template.owner)
            await self._store.add_contents(
                tx,
                [
                    SealedContent(
                        owner=template.owner,
                        version_id=version.id,
                        locale=locale,
                        content=sealing.seal_content(
                            key, template.owner, version.id, locale, each.content, each.mentioned
                        ),
                    )
                    for locale, each in compiled.items()
                ],
            )
        return findings
