"""Versions as sending needs them: what is sent now for a key, the inline content of a call, and contents by id."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, TypeVar
from uuid import UUID

from waypost.kernel.clock import Clock
from waypost.kernel.errors import FieldError
from waypost.kernel.ids import mint
from waypost.kernel.tenancy import PLATFORM
from waypost.kernel.vault import Keyring, TenantKey
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.templates import sealing
from waypost.templates.model import Content, InlineSource, JsonObject, Sendable, Wording
from waypost.templates.ports import Renderer
from waypost.templates.rules import check_inline, refused_below
from waypost.templates.stores import VersionStore

_MOST_REMEMBERED: Final = 2_000
_MOST_WORDINGS: Final = 500
"""Each may be large."""


class Versions:
    """Remembers compiled contents, which names a content reads and where inline content lies: none of them changes."""

    def __init__(self, *, store: VersionStore, renderer: Renderer, keyring: Keyring, clock: Clock) -> None:
        self._store = store
        self._renderer = renderer
        self._keyring = keyring
        self._clock = clock
        self._mentioned: OrderedDict[tuple[str, bytes], frozenset[str]] = OrderedDict()
        self._kept: OrderedDict[tuple[str, bytes], UUID] = OrderedDict()
        self._compiled_inline: OrderedDict[tuple[str, bytes], Content] = OrderedDict()
        self._wordings: OrderedDict[tuple[str, UUID], Mapping[str, Wording]] = OrderedDict()

    async def find_active(self, tx: Transaction, key: str, channel: Channel) -> Sendable | None:
        """What is sent now: the tenant's own active version, else the platform's."""
        found = await self._store.active(tx, key, channel)
        if found is None:
            return None
        template = found.template
        return Sendable(
            id=found.version_id,
            wordings=await self._all_wordings(tx, template.owner, found.version_id, found.locales),
            template=template,
            house=found.house,
            variables_schema=found.variables_schema,
            fallback_chain=found.fallback_chain,
        )

    async def load(
        self, tx: Transaction, wanted: Sequence[tuple[UUID, str | None]]
    ) -> Mapping[tuple[UUID, str | None], Wording]:
        """What notifications froze: a version and the locale of its content. What is not there is left out."""
        if not wanted:
            return {}
        found: dict[tuple[UUID, str], Wording] = {}
        for sealed in await self._store.contents(tx, wanted):
            found[sealed.version_id, sealed.locale] = sealing.open_content(await self._key(tx, sealed.owner), sealed)
        answer: dict[tuple[UUID, str | None], Wording] = {}
        for version_id, locale in wanted:
            wording = found.get((version_id, locale or "")) or found.get((version_id, ""))
            if wording is not None:
                answer[version_id, locale] = wording
        return answer

    async def schema_of(self, tx: Transaction, version_id: UUID) -> JsonObject | None:
        return (await self._store.schemas(tx, [version_id])).get(version_id)

    async def store_inline(
        self, tx: Transaction, content: Content | InlineSource, *, pointer: str, channel: Channel = Channel.EMAIL
    ) -> Sendable:
        """Keeps a call's content, once per distinct content. Refuses bad content."""
        tenant_key = await self._keyring.of(tx)
        is_compiled = isinstance(content, InlineSource)
        if isinstance(content, InlineSource):
            content = await self._compiled(tx, tenant_key, content, pointer)
        check_inline(content, channel, pointer)
        content_hash = sealing.hash_content(tenant_key, content)
        mentioned = await self._read_names(tx, content_hash, content, pointer, is_compiled=is_compiled)
        version_id = await self._keep_inline(tx, tenant_key, content, content_hash, mentioned, self._clock.now())
        return Sendable(
            id=version_id,
            wordings={"": Wording(id=version_id, content=content, mentioned=mentioned)},
            house=await self._store.house(tx) if any(name.startswith("tenant") for name in mentioned) else None,
        )

    async def _compiled(self, tx: Transaction, tenant_key: TenantKey, inline: InlineSource, pointer: str) -> Content:
        place = (tx.tenant_id, sealing.hash_source(tenant_key, inline))
        known = self._compiled_inline.get(place)
        if known is None:
            report = await self._renderer.compile(tx.tenant_id, inline.source, profile=inline.profile)
            if report.content is None:
                errors = [_at_field(error, inline.field) for error in report.errors]
                raise refused_below(pointer, errors, detail="The content cannot be rendered.", code=errors[0].code)
            known = report.content
            content_hash = sealing.hash_content(tenant_key, known)
            _remember(self._mentioned, (tx.tenant_id, content_hash), report.mentioned, _MOST_REMEMBERED)
            _remember(self._compiled_inline, place, known, _MOST_WORDINGS)
        return known

    async def _all_wordings(
        self, tx: Transaction, owner: str, version_id: UUID, locales: Sequence[str]
    ) -> Mapping[str, Wording]:
        known = self._wordings.get((owner, version_id))
        if known is None:
            sealed = await self._store.contents(tx, [(version_id, locale) for locale in locales])
            key = await self._key(tx, owner)
            known = {each.locale: sealing.open_content(key, each) for each in sealed}
            _remember(self._wordings, (owner, version_id), known, _MOST_WORDINGS)
        return known

    async def _key(self, tx: Transaction, owner: str) -> TenantKey:
        return await (self._keyring.of_platform(tx) if owner == PLATFORM else self._keyring.of(tx))

    async def _keep_inline(
        self,
        tx: Transaction,
        tenant_key: TenantKey,
        content: Content,
        content_hash: bytes,
        mentioned: frozenset[str],
        now: datetime,
    ) -> UUID:
        known = self._kept.get((tx.tenant_id, content_hash))
        if known is not None:
            return known
        version_id = mint(self._clock)
        sealed = sealing.seal_content(tenant_key, tx.tenant_id, version_id, "", content, mentioned)
        kept = await self._store.keep_inline(tx, version_id, sealed, content_hash, now)
        if kept != version_id:
            # Stored by a transaction that has ended: ours may still be rolled back, and is not remembered.
            _remember(self._kept, (tx.tenant_id, content_hash), kept, _MOST_REMEMBERED)
        return kept

    async def _read_names(
        self, tx: Transaction, known_as: bytes, content: Content, pointer: str, *, is_compiled: bool
    ) -> frozenset[str]:
        place = (tx.tenant_id, known_as)
        names = self._mentioned.get(place)
        if names is None:
            report = await self._renderer.check(tx.tenant_id, content, is_compiled=is_compiled)
            if report.errors:
                code = report.errors[0].code
                raise refused_below(pointer, report.errors, detail="The content cannot be rendered.", code=code)
            names = report.mentioned
            _remember(self._mentioned, place, names, _MOST_REMEMBERED)
        return names


def _at_field(error: FieldError, field: str) -> FieldError:
    """The caller knows the body by the name they gave it."""
    pointer = f"/{field}" if error.pointer == "/body" else error.pointer
    return FieldError(pointer=pointer, code=error.code, message=error.message)


Name = TypeVar("Name")
Known = TypeVar("Known")


def _remember(shelf: OrderedDict[Name, Known], name: Name, known: Known, most: int) -> None:
    shelf[name] = known
    if len(shelf) > most:
        shelf.popitem(last=False)
