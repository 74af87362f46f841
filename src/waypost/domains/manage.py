"""Domains as a tenant sees them: claimed, shown with their records, given new keys, removed."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from waypost.domains.model import Algorithm, DkimKey, DnsRecord, Domain, DomainState, KeyState, Purpose
from waypost.domains.ports import DomainEvent, DomainNews, DomainStore, KeyMaker
from waypost.domains.records import records_of
from waypost.domains.rules import HOURLY, Places, read_name
from waypost.domains.standing import DomainBook
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, NotFound, refuse
from waypost.kernel.ids import mint, show
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.paging import Page, decode_id_cursor, encode_id_cursor, page_of, read_limit
from waypost.kernel.tenancy import PLATFORM, Permission, Scope
from waypost.kernel.vault import Keyring, place
from waypost.kernel.work import Transaction
from waypost.tenants.audit import Audit

MOST_DOMAINS: Final = 50
OVERLAP_DAYS: Final = 7
LONGEST_OVERLAP_DAYS: Final = 90
KEY_PLACE: Final = "dkim_key"
_LISTING: Final = "domains"
_SELECTOR_LETTERS: Final = "abcdefghjkmnpqrstuvwxyz23456789"


@dataclass(frozen=True, kw_only=True, slots=True)
class DomainView:
    domain: Domain
    records: Sequence[DnsRecord]


class Domains:
    def __init__(
        self,
        *,
        store: DomainStore,
        keys: KeyMaker,
        keyring: Keyring,
        places: Places,
        book: DomainBook,
        news: DomainNews,
        audit: Audit,
        clock: Clock,
    ) -> None:
        self._store = store
        self._keys = keys
        self._keyring = keyring
        self._places = places
        self._book = book
        self._news = news
        self._audit = audit
        self._clock = clock

    async def create(
        self, tx: Transaction, scope: Scope, *, name: str, purposes: Sequence[Purpose] = (Purpose.FROM,)
    ) -> DomainView:
        """Claims a name. It may be used once its records have been seen."""
        scope.demand(Permission.DOMAINS_MANAGE)
        spelled, wanted = read_name(name), _read_purposes(purposes)
        if spelled in self._places.reserved and tx.tenant_id != PLATFORM:
            raise refuse("/name", "domain_reserved", "This domain belongs to the operator of this installation.")
        if await self._store.count(tx) >= MOST_DOMAINS:
            raise Conflict(f"A tenant has at most {MOST_DOMAINS} domains.", code="too_many_domains")
        now = self._clock.now()
        algorithms = tuple(Algorithm) if Purpose.FROM in wanted else ()
        domain = Domain(
            id=mint(self._clock),
            name=spelled,
            purposes=wanted,
            state=DomainState.PENDING,
            proof=secrets.token_hex(16),
            keys=tuple([await self._new_key(tx, algorithm) for algorithm in algorithms]),
            checks=(),
            failures=0,
            overlap_days=OVERLAP_DAYS,
            checked_at=None,
            verified_at=None,
            failing_since=None,
            next_check_at=now + HOURLY,
            version=1,
            created_at=now,
            updated_at=now,
        )
        if not await self._store.add(tx, domain):
            raise Conflict("You have this domain already.", code="domain_exists")
        words = " ".join(sorted(wanted))
        await self._note(tx, scope, "created", domain.id, {"name": spelled, "purposes": words})
        return self._view(domain)

    async def get(self, tx: Transaction, scope: Scope, domain_id: UUID) -> DomainView:
        scope.demand(Permission.DOMAINS_READ)
        return self._view(await self._find(tx, domain_id))

    async def page(self, tx: Transaction, scope: Scope, cursor: str | None, limit: int | None) -> Page[DomainView]:
        """Newest first."""
        scope.demand(Permission.DOMAINS_READ)
        size = read_limit(limit)
        found = await self._store.page(tx, decode_id_cursor(_LISTING, cursor), size + 1)
        return page_of(found, size, lambda last: encode_id_cursor(_LISTING, last.id)).map(self._view)

    async def rotate_keys(
        self, tx: Transaction, scope: Scope, domain_id: UUID, *, overlap_days: int = OVERLAP_DAYS
    ) -> DomainView:
        """A new key beside each that signs. It takes over once its record is seen; the old record stays for the
        overlap."""
        scope.demand(Permission.DOMAINS_MANAGE)
        if not 1 <= overlap_days <= LONGEST_OVERLAP_DAYS:
            raise refuse("/overlap", "out_of_range", f"The overlap is from one to {LONGEST_OVERLAP_DAYS} days.")
        domain = await self._find(tx, domain_id, for_change=True)
        signing = [key.algorithm for key in domain.keys if key.state is KeyState.ACTIVE]
        if not signing:
            raise Conflict("None of its keys signs yet: set the records of those it has.", code="no_active_key")
        if any(key.state is KeyState.NEXT and key.algorithm in signing for key in domain.keys):
            raise Conflict("A rotation is under way: set the records of the new keys.", code="rotation_underway")
        fresh = [await self._new_key(tx, algorithm) for algorithm in signing]
        now = self._clock.now()
        changed = replace(
            domain,
            keys=(*domain.keys, *fresh),
            overlap_days=overlap_days,
            next_check_at=min(domain.next_check_at, now + HOURLY),
            version=domain.version + 1,
            updated_at=now,
        )
        await self._store.change(tx, changed)
        detail: dict[str, JsonValue] = {"selectors": " ".join(key.selector for key in fresh)}
        await self._note(tx, scope, "keys_rotated", domain_id, detail)
        return self._view(changed)

    async def remove(self, tx: Transaction, scope: Scope, domain_id: UUID) -> None:
        """Nothing more is sent from it, and its keys are destroyed."""
        scope.demand(Permission.DOMAINS_MANAGE)
        domain = await self._find(tx, domain_id, for_change=True)
        await self._store.remove(tx, domain_id)
        self._book.forget(tx.tenant_id)
        await self._news.tell(tx, domain, DomainEvent.REMOVED)
        await self._note(tx, scope, "removed", domain_id, {"name": domain.name})

    async def _new_key(self, tx: Transaction, algorithm: Algorithm) -> DkimKey:
        key_id, pair = mint(self._clock), await self._keys.make(algorithm)
        tenant_key = await self._keyring.of(tx)
        word = "".join(secrets.choice(_SELECTOR_LETTERS) for _ in range(8))
        return DkimKey(
            id=key_id,
            algorithm=algorithm,
            # Nobody else's record can stand in its place by chance, whoever else claims the name.
            selector=f"wp{word}-{algorithm.value}",
            public_key=pair.public_key,
            private_key=tenant_key.seal(pair.private_key, place(KEY_PLACE, tx.tenant_id, key_id)),
            state=KeyState.NEXT,
            found=None,
            created_at=self._clock.now(),
        )

    async def _find(self, tx: Transaction, domain_id: UUID, *, for_change: bool = False) -> Domain:
        found = await self._store.find(tx, domain_id, for_change=for_change)
        if found is None:
            raise NotFound("There is no such domain.")
        return found

    def _view(self, domain: Domain) -> DomainView:
        return DomainView(domain=domain, records=records_of(domain, self._places))

    async def _note(
        self, tx: Transaction, scope: Scope, what: str, domain_id: UUID, detail: dict[str, JsonValue]
    ) -> None:
        await self._audit.record(tx, scope, f"domain.{what}", show("dom", domain_id), detail)


def _read_purposes(purposes: Sequence[Purpose]) -> frozenset[Purpose]:
    wanted = frozenset(purposes)
    if not wanted:
        raise refuse("/purposes", "required", "Say what the domain is for: from, tracking or return_path.")
    if Purpose.TRACKING in wanted and len(wanted) > 1:
        message = "Tracking needs a name of its own, such as `links.example.com`: its CNAME allows nothing beside it."
        raise refuse("/purposes", "tracking_stands_alone", message)
    return wanted
