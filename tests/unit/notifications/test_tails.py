"""Files on their way out: encoded once, bounded together, and missed where they are gone."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import MasterKey
from waypost.kernel.attachments import FileRef
from waypost.kernel.blobs import Blobs, SealedBlob, digest_of
from waypost.kernel.tenancy import PLATFORM
from waypost.notifications import tails
from waypost.notifications.model import Payload
from waypost.notifications.sender import SenderIdentity
from waypost.notifications.tails import Luggage, Tails

VAULT = LocalVault(MasterKey(bytes(32)))


@dataclass
class Tx:
    tenant_id: str


class Store:
    """A few blobs in memory, by owner and address."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, bytes], bytes] = {}
        self.reads = 0

    async def touch(self, tx: Tx, until: Mapping[bytes, object]) -> set[bytes]:
        return {address for address in until if (tx.tenant_id, address) in self.kept}

    async def add(self, tx: Tx, blobs: Sequence[SealedBlob]) -> None:
        self.kept |= {(tx.tenant_id, blob.address): blob.sealed for blob in blobs}

    async def add_uses(self, tx: Tx, uses: Sequence[tuple[bytes, UUID]]) -> None: ...

    async def read(self, tx: Tx, owner: str, addresses: Sequence[bytes]) -> Mapping[bytes, bytes]:
        self.reads += 1
        return {one: self.kept[owner, one] for one in addresses if (owner, one) in self.kept}


class House:
    """Keys and transactions of everyone."""

    def __init__(self) -> None:
        self._keys = {name: VAULT.tenant_key(name, VAULT.new_tenant_key(name)) for name in ("acme", "globex", PLATFORM)}

    @asynccontextmanager
    async def begin(self, tenant_id: str) -> AsyncIterator[Tx]:
        yield Tx(tenant_id)

    async def of(self, tx: Tx) -> Any:
        return self._keys[tx.tenant_id]

    async def of_platform(self, tx: Tx) -> Any:
        return self._keys[PLATFORM]


def made() -> tuple[Any, Any, Any, Any]:
    store, house = Store(), House()
    blobs: Any = Blobs(store)  # type: ignore[arg-type]
    return Tails(work=house, blobs=blobs, keyring=house), blobs, house, store  # type: ignore[arg-type]


async def keep(blobs: Any, house: Any, owner: str, content: bytes, name: str, content_id: str | None = None) -> FileRef:
    digest = digest_of(content)
    await blobs.keep(Tx(owner), await house.of(Tx(owner)), {digest: content}, {digest: None})
    return FileRef(digest, name, "application/pdf", len(content), content_id)


async def test_a_tail_is_made_once_and_holds_the_platform_s_images_too() -> None:
    maker, blobs, house, store = made()
    own = await keep(blobs, house, "acme", b"invoice", "a.pdf")
    logo = await keep(blobs, house, PLATFORM, b"logo", "logo.png", "logo")
    luggage = Luggage("acme", (logo,), (own,), has_html=True)
    first = await maker.make([luggage, luggage])
    assert b"aW52b2ljZQ==" in (first[luggage] or b"")
    assert b"Content-ID: <logo>" in (first[luggage] or b"")
    reads = store.reads
    assert await maker.make([luggage]) == first
    assert store.reads == reads


async def test_a_file_that_is_gone_or_another_s_is_missed() -> None:
    maker, blobs, house, _ = made()
    theirs = await keep(blobs, house, "globex", b"secret", "a.pdf")
    mine = Luggage("acme", (), (theirs,), has_html=False)
    assert await maker.make([mine]) == {mine: None}


async def test_what_does_not_fit_waits(monkeypatch: Any) -> None:
    monkeypatch.setattr(tails, "MOST_HELD", 100_000)
    monkeypatch.setattr(tails, "_MOST_KEPT", 50_000)
    maker, blobs, house, _ = made()
    refs = [await keep(blobs, house, "acme", bytes([n]) * 40_000, f"{n}.pdf") for n in range(4)]
    wanted = [Luggage("acme", (), (ref,), has_html=False) for ref in refs]
    assert list(await maker.make(wanted)) == wanted[:1]
    assert list(await maker.make(wanted[1:])) == wanted[1:2]
    monkeypatch.setattr(tails, "MOST_HELD", 10)
    assert list(await maker.make(wanted[2:])) == wanted[2:3], "one always goes, however large"


def test_complaints_are_counted_by_words_and_kind_and_tenant_unless_the_caller_counts() -> None:
    identity = SenderIdentity(default_from="a@example.com", message_domain="example.com", sends_for_real=True)
    ours = (("List-Id", "<news.acme.example.com>"), ("Feedback-ID", "v:news:acme:waypost"))
    plain = identity.head(UUID(int=1), Payload(address="b@example.com", context={}), "d", ours)
    assert plain.headers == (("Auto-Submitted", "auto-generated"), *ours)
    own = Payload(address="b@example.com", context={}, headers=(("feedback-id", "x:y:z:acme"), ("list-id", "<a.b>")))
    head = identity.head(UUID(int=1), own, "d", ours)
    assert head.headers == (("Auto-Submitted", "auto-generated"), ours[0], ("feedback-id", "x:y:z:acme"))
