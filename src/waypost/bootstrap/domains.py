"""Domains, joined to their stores, to DNS and to those who are told."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from waypost.adapters.dkim.keys import DkimKeys
from waypost.adapters.dkim.signer import DkimSigner
from waypost.adapters.dns.resolver import DnsResolver
from waypost.adapters.postgres.domains import PgDomains, PgDueDomains
from waypost.adapters.postgres.outbox import PgOutbox
from waypost.adapters.postgres.work import PgWork
from waypost.domains.desk import DomainDesk
from waypost.domains.manage import Domains
from waypost.domains.model import Domain
from waypost.domains.ports import DomainEvent, DomainNews
from waypost.domains.rules import Places
from waypost.domains.standing import DomainBook
from waypost.domains.verify import Recheck, Verify
from waypost.kernel.clock import Clock
from waypost.kernel.vault import Keyring
from waypost.kernel.work import Transaction
from waypost.notifications.outgoing import Outgoing
from waypost.outbox.model import News, OutboxKind
from waypost.settings import Settings
from waypost.tenants.audit import Audit

_KINDS: Final = {
    DomainEvent.VERIFIED: OutboxKind.DOMAIN_VERIFIED,
    DomainEvent.FAILING: OutboxKind.DOMAIN_FAILING,
    DomainEvent.FAILED: OutboxKind.DOMAIN_FAILED,
}


class OutboxDomainNews:
    """Implements `domains.ports.DomainNews`: webhooks and brokers are told, then whoever else listens."""

    def __init__(self, others: Sequence[DomainNews] = ()) -> None:
        self._outbox = PgOutbox()
        self._others = others

    async def tell(self, tx: Transaction, domain: Domain, event: DomainEvent) -> None:
        await self._outbox.append(tx, [News(kind=_KINDS[event], subject_id=domain.id)])
        for other in self._others:
            await other.tell(tx, domain, event)


def places_of(settings: Settings) -> Places:
    return Places(
        message_domain=settings.message_domain,
        default_from=settings.default_from,
        return_path_host=settings.return_path_host or settings.message_domain,
        tracking_host=settings.tracking_host or urlsplit(settings.api_url).hostname or settings.message_domain,
        spf_include=settings.spf_include,
    )


def book_of(clock: Clock) -> DomainBook:
    return DomainBook(PgDomains(), clock)


def join_domains(
    settings: Settings,
    *,
    keyring: Keyring,
    audit: Audit,
    book: DomainBook,
    clock: Clock,
    also_tell: Sequence[DomainNews] = (),
) -> DomainDesk:
    places = places_of(settings)
    return DomainDesk(
        manage=Domains(
            store=PgDomains(),
            keys=DkimKeys(),
            keyring=keyring,
            places=places,
            book=book,
            audit=audit,
            clock=clock,
        ),
        verify=_verify(settings, audit=audit, book=book, clock=clock, also_tell=also_tell),
    )


def recheck_of(
    settings: Settings, *, work: PgWork, audit: Audit, clock: Clock, also_tell: Sequence[DomainNews] = ()
) -> Recheck:
    verify = _verify(settings, audit=audit, book=book_of(clock), clock=clock, also_tell=also_tell)
    return Recheck(work=work, due=PgDueDomains(work), store=PgDomains(), verify=verify, clock=clock)


def outgoing_of(settings: Settings, *, work: PgWork, keyring: Keyring, clock: Clock) -> Outgoing:
    return Outgoing(
        work=work,
        store=PgDomains(),
        keyring=keyring,
        signers=DkimSigner,
        default_from=settings.default_from,
        default_address=places_of(settings).default_address,
        clock=clock,
    )


def _verify(
    settings: Settings, *, audit: Audit, book: DomainBook, clock: Clock, also_tell: Sequence[DomainNews]
) -> Verify:
    return Verify(
        store=PgDomains(),
        dns=DnsResolver(settings.dns_servers),
        places=places_of(settings),
        book=book,
        news=OutboxDomainNews(also_tell),
        audit=audit,
        clock=clock,
    )
