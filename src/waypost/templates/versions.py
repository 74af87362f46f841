"""Versions as sending needs them: the active one of a template, the inline content of a call, and contents by id."""

from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime
from typing import Final, TypeVar
from uuid import UUID

from waypost.kernel.clock import Clock
from waypost.kernel.ids import mint
from waypost.kernel.vault import Keyring, TenantKey
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.templates import sealing
from waypost.templates.model import ActiveVersion, Content, Version, VersionState
from waypost.templates.ports import Renderer, SealedVersion, VersionStore
from waypost.templates.rules import check_shape, refused_below

_MOST_REMEMBERED: Final = 2_000


class Versions:
    """Remembers which names a content reads and where inline content lies: neither changes, and asking takes a trip."""

    def __init__(self, *, store: VersionStore, renderer: Renderer, keyring: Keyring, clock: Clock) -> None:
        self._store = store
        self._renderer = renderer
        self._keyring = keyring
        self._clock = clock
        self._mentioned: OrderedDict[tuple[str, bytes | UUID], frozenset[str]] = OrderedDict()
        self._kept: OrderedDict[tuple[str, bytes], UUID] = OrderedDict()

    async def find_active(self, tx: Transaction, key: str, channel: Channel) -> ActiveVersion | None:
        found = await self._store.active(tx, key, channel)
        if found is None:
            return None
        template, sealed = found
        tenant_key = await self._keyring.of(tx)
        return ActiveVersion(template=template, version=sealing.open_version(tenant_key, tx.tenant_id, sealed))

    async def load(self, tx: Transaction, ids: Sequence[UUID]) -> Sequence[Version]:
        """Those of the ids that exist, in no order."""
        if not ids:
            return []
        tenant_key = await self._keyring.of(tx)
        return [sealing.open_version(tenant_key, tx.tenant_id, each) for each in await self._store.load(tx, ids)]

    async def store_inline(
        self, tx: Transaction, content: Content, *, pointer: str, channel: Channel = Channel.EMAIL
    ) -> tuple[Version, frozenset[str]]:
        """Keeps a call's content, once per distinct content, and tells which names it reads. Refuses bad content."""
        check_shape(content, channel, pointer)
        tenant_key = await self._keyring.of(tx)
        content_hash = sealing.hash_of(tenant_key, content)
        mentioned = await self._read_names(tx, content_hash, content, pointer)
        now = self._clock.now()
        version = Version(
            id=await self._keep_inline(tx, tenant_key, content, content_hash, now),
            template_id=None,
            number=None,
            state=VersionState.INLINE,
            content=content,
            variables_schema=None,
            created_at=now,
            published_at=None,
        )
        return version, mentioned

    async def _keep_inline(
        self, tx: Transaction, tenant_key: TenantKey, content: Content, content_hash: bytes, now: datetime
    ) -> UUID:
        known = self._kept.get((tx.tenant_id, content_hash))
        if known is not None:
            return known
        version_id = mint(self._clock)
        sealed = SealedVersion(
            id=version_id,
            template_id=None,
            number=None,
            state=VersionState.INLINE,
            content=sealing.seal(tenant_key, tx.tenant_id, version_id, content),
            content_hash=content_hash,
            variables_schema=None,
            created_at=now,
        )
        kept = await self._store.keep_inline(tx, sealed)
        if kept != version_id:
            # Stored by a transaction that has ended: ours may still be rolled back, and is not remembered.
            _remember(self._kept, (tx.tenant_id, content_hash), kept)
        return kept

    async def mentioned(self, tx: Transaction, version: Version) -> frozenset[str]:
        """The top-level names that the version's content reads."""
        return await self._read_names(tx, version.id, version.content, "")

    async def _read_names(
        self, tx: Transaction, known_as: bytes | UUID, content: Content, pointer: str
    ) -> frozenset[str]:
        place = (tx.tenant_id, known_as)
        names = self._mentioned.get(place)
        if names is None:
            report = await self._renderer.check(tx.tenant_id, content)
            if report.errors:
                code = report.errors[0].code
                raise refused_below(pointer, report.errors, detail="The content cannot be rendered.", code=code)
            names = report.mentioned
            _remember(self._mentioned, place, names)
        return names


Name = TypeVar("Name")
Known = TypeVar("Known")


def _remember(shelf: OrderedDict[Name, Known], name: Name, known: Known) -> None:
    shelf[name] = known
    if len(shelf) > _MOST_REMEMBERED:
        shelf.popitem(last=False)
