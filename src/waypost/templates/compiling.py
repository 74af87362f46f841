"""From what an author wrote to what is sent: layouts and partials looked up, every locale compiled once.

Only published layouts and partials are found, the tenant's own before the platform's; a draft or another tenant's has
no name here. What was found is worked into the content, so publishing another layout later changes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from waypost.kernel.errors import FieldError, Refused
from waypost.kernel.tenancy import PLATFORM
from waypost.kernel.vault import Keyring
from waypost.kernel.work import Transaction
from waypost.templates import sealing
from waypost.templates.fragments import MOST_FRAGMENTS, missing_names, referenced_names
from waypost.templates.model import Content, Format, Fragment, LocaleSource, Template, TemplateKind, Written
from waypost.templates.ports import ContentReport, Renderer
from waypost.templates.rules import choose_locale
from waypost.templates.stores import DraftStore, VersionStore


@dataclass(frozen=True, kw_only=True, slots=True)
class Compiled:
    """One locale, ready to be sent."""

    content: Content
    mentioned: frozenset[str]
    warnings: tuple[FieldError, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Piece:
    """A published layout or partial with all its locales."""

    template: Template
    written: Written

    def in_locale(self, locale: str, tenant_locale: str | None) -> Fragment:
        chosen = choose_locale(
            self.written.locales,
            recipient=locale,
            chain=self.written.fallback_chain,
            tenant=tenant_locale,
            default=self.template.default_locale,
        )
        return _as_fragment(self.written.locales[chosen], self.written)


class Compiler:
    def __init__(self, *, drafts: DraftStore, versions: VersionStore, renderer: Renderer, keyring: Keyring) -> None:
        self._drafts = drafts
        self._versions = versions
        self._renderer = renderer
        self._keyring = keyring

    async def compile(
        self, tx: Transaction, template: Template, written: Written, locales: Sequence[str] | None = None
    ) -> dict[str, Compiled]:
        """Every locale, or those asked for. Refuses with a pointer to each fault (`/locales/de/body`)."""
        tenant_locale = (await self._versions.house(tx)).locale
        pieces: dict[str, _Piece] = {}
        compiled: dict[str, Compiled] = {}
        errors: list[FieldError] = []
        for locale in locales or tuple(written.locales):
            source = replace(written.locales[locale], locale=locale)
            fragments, faults = await self._gather(tx, template, written, locale, pieces, tenant_locale)
            if not faults:
                report = await self._try(tx, template, written, source, fragments)
                faults = list(report.errors)
                if report.content is not None and not faults:
                    compiled[locale] = Compiled(
                        content=structs.replace(report.content, files=written.files, tracking=written.tracking),
                        mentioned=report.mentioned,
                        warnings=_below(locale, report.warnings, template.kind, written),
                    )
            errors += _below(locale, faults, template.kind, written)
        if errors:
            # What is wrong with the layout is wrong in every locale, and said once.
            errors = list(dict.fromkeys(errors))
            raise Refused("The content cannot be rendered.", code=errors[0].code, errors=errors)
        return compiled

    async def _try(
        self,
        tx: Transaction,
        template: Template,
        written: Written,
        source: LocaleSource,
        fragments: Mapping[str, Fragment],
    ) -> ContentReport:
        """A layout or partial is tried out in the smallest message that uses it."""
        layout = written.layout
        if template.kind is not TemplateKind.MESSAGE:
            is_layout = template.kind is TemplateKind.LAYOUT
            layout = template.key if is_layout else None
            alone = "0" if source.format is Format.JSON else "-"
            source = replace(source, subject="-", body=alone if is_layout else _including(template.key, source.format))
        return await self._renderer.compile(
            tx.tenant_id, source, profile=written.profile, layout=layout, fragments=fragments
        )

    async def _gather(
        self,
        tx: Transaction,
        template: Template,
        written: Written,
        locale: str,
        pieces: dict[str, _Piece],
        tenant_locale: str | None,
    ) -> tuple[dict[str, Fragment], list[FieldError]]:
        """All that this source refers to, and what that refers to, until nothing is missing."""
        source = written.locales[locale]
        words = source.body + (source.text or "")
        own = template.key if template.kind is not TemplateKind.MESSAGE else None
        found: dict[str, Fragment] = {}
        if own is not None:
            found[own] = _as_fragment(source, written)
        while wanted := missing_names(words, written.layout, found):
            if len(found) + len(wanted) > MOST_FRAGMENTS:
                message = f"A message is made of at most {MOST_FRAGMENTS} layouts and partials."
                return {}, [FieldError(pointer="/body", code="too_many", message=message)]
            await self._look_up(tx, template, sorted(wanted - pieces.keys()), pieces)
            unknown = sorted(wanted - pieces.keys())
            if unknown:
                return {}, [_unknown(name, written) for name in unknown]
            for name in wanted:
                found[name] = pieces[name].in_locale(locale, tenant_locale)
        way = _find_cycle(own, words, written.layout, found)
        if way is not None:
            shown = " → ".join(f"`{name}`" for name in way[way.index(way[-1]) :])
            by_layout = way[1] == written.layout and way[1] not in referenced_names(words)
            pointer = "/layout" if by_layout else "/body"
            message = f"Layouts and partials go round in a circle: {shown}."
            return {}, [FieldError(pointer=pointer, code="cyclic_layout", message=message)]
        return found, []

    async def _look_up(
        self, tx: Transaction, template: Template, names: Sequence[str], pieces: dict[str, _Piece]
    ) -> None:
        if not names:
            return
        for found, sealed in await self._drafts.fragments(tx, template.channel, names):
            key = await (self._keyring.of_platform(tx) if sealed.owner == PLATFORM else self._keyring.of(tx))
            pieces[found.key] = _Piece(template=found, written=sealing.open_version(key, sealed).written)


def _as_fragment(source: LocaleSource, written: Written) -> Fragment:
    return Fragment(body=source.body, format=source.format, profile=written.profile, layout=written.layout)


def _find_cycle(
    own: str | None, words: str, layout: str | None, fragments: Mapping[str, Fragment]
) -> tuple[str, ...] | None:
    """The names from the source to where the way comes round: the last one stands in it twice."""

    def edges(name: str) -> list[str]:
        if name == (own or ""):
            return sorted(referenced_names(words)) + ([layout] if layout else [])
        fragment = fragments[name]
        return sorted(referenced_names(fragment.body)) + ([fragment.layout] if fragment.layout else [])

    done: set[str] = set()

    def walk(name: str, path: tuple[str, ...]) -> tuple[str, ...] | None:
        if name in path:
            return (*path, name)
        if name in done:
            return None
        for following in edges(name):
            found = walk(following, (*path, name))
            if found is not None:
                return found
        done.add(name)
        return None

    return walk(own or "", ())


def _including(name: str, format_: Format) -> str:
    inner = f'{{% include "{name}" %}}'
    if format_ is Format.MJML:
        return f"<mjml><mj-body>{inner}</mj-body></mjml>"
    return inner


def _unknown(name: str, written: Written) -> FieldError:
    pointer = "/layout" if name == written.layout else "/body"
    message = f"There is no published layout or partial `{name}` on this channel."
    return FieldError(pointer=pointer, code="unknown_partial", message=message)


def _below(locale: str, faults: Sequence[FieldError], kind: TemplateKind, written: Written) -> tuple[FieldError, ...]:
    """Pointed at from the version's root; the layout belongs to all locales."""
    below: list[FieldError] = []
    for fault in faults:
        # A layout is tried out as the layout of a message: where the slot is missing, its own body is meant.
        is_own = kind is TemplateKind.LAYOUT and fault.code == "no_content_slot"
        if fault.pointer == "/layout" and written.layout is not None and not is_own:
            pointer = "/layout"
        elif kind is not TemplateKind.MESSAGE:
            pointer = f"/locales/{locale}/body"
        else:
            pointer = f"/locales/{locale}{fault.pointer}"
        below.append(FieldError(pointer=pointer, code=fault.code, message=fault.message))
    return tuple(below)
