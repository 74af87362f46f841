"""Domains, joined to their stores, to DNS and to those who are told."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from waypost.adapters.dkim.keys import DkimKeys
from waypost.adapters.dkim.signer import DkimSigner
from waypost.adapters.dns.resolver import DnsResolver
from waypost.adapters.postgres.alerts import PgAlerts
from waypost.adapters.postgres.domains import PgDomains, PgDueDomains
from waypost.adapters.postgres.outbox import PgOutbox
from waypost.adapters.postgres.work import PgWork
from waypost.alerts.alarms import Alarms
from waypost.alerts.model import AlertKind
from waypost.alerts.ports import Alarm
from waypost.domains.desk import DomainDesk
from waypost.domains.looking import look_at_operators
from waypost.domains.manage import Domains
from waypost.domains.model import Check, CheckResult, Domain
from waypost.domains.ports import DomainEvent, DomainNews
from waypost.domains.rules import Places, may_send_as, not_verified, read_name
from waypost.domains.standing import DomainBook
from waypost.domains.verify import Recheck, Verify
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Refused
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
        if event in _KINDS:
            await self._outbox.append(tx, [News(kind=_KINDS[event], subject_id=domain.id)])
        for other in self._others:
            await other.tell(tx, domain, event)


class DomainAlarms:
    """Implements `domains.ports.DomainNews`: whoever is to be alerted hears of a domain as soon as it fails."""

    def __init__(self, alarms: Alarm) -> None:
        self._alarms = alarms

    async def tell(self, tx: Transaction, domain: Domain, event: DomainEvent) -> None:
        if event in (DomainEvent.VERIFIED, DomainEvent.REMOVED):
            await self._alarms.close(tx, AlertKind.DOMAIN_LOST, domain.name)
            return
        failed = " ".join(check.name for check in domain.checks if check.result is CheckResult.FAILED)
        facts = {"state": domain.state.value, "failed": failed}
        await self._alarms.open(tx, AlertKind.DOMAIN_LOST, domain.name, facts)


class ProvedNames:
    """Implements `senders.ports.SenderNames` by the one rule of who may send as whom."""

    def __init__(self, book: DomainBook, default_address: str) -> None:
        self._book = book
        self._default_address = default_address

    async def check(self, tx: Transaction, address: str, pointer: str) -> None:
        if not may_send_as(address, await self._book.of(tx), self._default_address):
            raise not_verified(pointer)


def places_of(settings: Settings) -> Places:
    return Places(
        message_domain=settings.message_domain,
        default_from=settings.default_from,
        return_path_host=settings.return_path_host or settings.message_domain,
        tracking_host=settings.tracking_host or urlsplit(settings.api_url).hostname or settings.message_domain,
        spf_include=settings.spf_include,
    )


async def examine_default_domain(settings: Settings) -> tuple[str, Sequence[Check]]:
    """The domain that messages without a sender come from, and what DNS says about it; nothing of a name that is not
    public."""
    places = places_of(settings)
    name = places.default_address.rpartition("@")[2]
    try:
        read_name(name)
    except Refused:
        return name, ()
    return name, await look_at_operators(name, DnsResolver(settings.dns_servers), places)


def book_of(clock: Clock) -> DomainBook:
    return DomainBook(PgDomains(), clock)


def join_domains(
    settings: Settings,
    *,
    keyring: Keyring,
    audit: Audit,
    book: DomainBook,
    clock: Clock,
) -> DomainDesk:
    places = places_of(settings)
    return DomainDesk(
        manage=Domains(
            store=PgDomains(),
            keys=DkimKeys(),
            keyring=keyring,
            places=places,
            book=book,
            news=_news(clock),
            audit=audit,
            clock=clock,
        ),
        verify=_verify(settings, audit=audit, book=book, clock=clock),
    )


def recheck_of(settings: Settings, *, work: PgWork, audit: Audit, clock: Clock) -> Recheck:
    verify = _verify(settings, audit=audit, book=book_of(clock), clock=clock)
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


def _news(clock: Clock) -> OutboxDomainNews:
    return OutboxDomainNews([DomainAlarms(Alarms(store=PgAlerts(), clock=clock))])


def _verify(settings: Settings, *, audit: Audit, book: DomainBook, clock: Clock) -> Verify:
    return Verify(
        store=PgDomains(),
        dns=DnsResolver(settings.dns_servers),
        places=places_of(settings),
        book=book,
        news=_news(clock),
        audit=audit,
        clock=clock,
    )
