"""Sender accounts, joined: for those who manage them, and for the worker that sends by them."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final
from uuid import UUID

from waypost.adapters.postgres.alerts import PgAlerts
from waypost.adapters.postgres.audit import PgAuditStore
from waypost.adapters.postgres.outbox import PgOutbox
from waypost.adapters.postgres.sender_capacity import PgSenderCapacity
from waypost.adapters.postgres.senders import PgSenderAccounts, PgSenderBoard, PgWaitingMail
from waypost.adapters.postgres.work import PgWork
from waypost.alerts.alarms import Alarms
from waypost.alerts.model import AlertKind
from waypost.alerts.ports import Alarm
from waypost.bootstrap.account_pool import AccountPool
from waypost.bootstrap.domains import ProvedNames, places_of
from waypost.bootstrap.inputs import inputs_of
from waypost.bootstrap.outbound import guard_of
from waypost.bootstrap.vendor_senders import VendorSenders
from waypost.channels.ports import EmailSender
from waypost.domains.standing import DomainBook
from waypost.kernel.clock import Clock
from waypost.kernel.errors import FieldError
from waypost.kernel.ids import show
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.vault import Keyring
from waypost.kernel.work import Transaction
from waypost.notifications.reserving import SenderCapacity
from waypost.outbox.model import News, OutboxKind
from waypost.outbox.ports import Outbox
from waypost.senders.accounts import Accounts
from waypost.senders.aftermath import Aftermath
from waypost.senders.connection import LONGEST_SECRET, AccountConnection
from waypost.senders.desk import Desk
from waypost.senders.model import AccountStatus
from waypost.senders.sender_desk import Senders
from waypost.senders.stopping import Stopping
from waypost.senders.vendors import Trial, Vendors
from waypost.senders.ways import Ways
from waypost.settings import Settings
from waypost.tenants.audit import Audit

_LONGEST_TRIAL: Final = 20.0
"""Seconds: whoever asks for a trial waits for its end, inside a transaction."""
_KINDS: Final = {
    AccountStatus.ACTIVE: OutboxKind.SENDER_ACCOUNT_RESUMED,
    AccountStatus.PAUSED: OutboxKind.SENDER_ACCOUNT_PAUSED,
    AccountStatus.SUSPENDED: OutboxKind.SENDER_ACCOUNT_SUSPENDED,
    AccountStatus.ARCHIVED: OutboxKind.SENDER_ACCOUNT_ARCHIVED,
}
_ALERTS: Final = {
    AccountStatus.PAUSED: AlertKind.ACCOUNT_PAUSED,
    AccountStatus.SUSPENDED: AlertKind.ACCOUNT_SUSPENDED,
}


class AccountOutbox:
    """Implements `senders.stopping.AccountEvents`."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    async def tell(self, tx: Transaction, account_id: UUID, status: AccountStatus) -> None:
        await self._outbox.append(tx, [News(kind=_KINDS[status], subject_id=account_id)])


class AccountAlarms:
    """Implements `senders.ports.AccountNews`: whoever is to be alerted hears of an account that stopped by itself."""

    def __init__(self, alarms: Alarm) -> None:
        self._alarms = alarms

    async def stopped(
        self, tx: Transaction, account_id: UUID, status: AccountStatus, facts: Mapping[str, JsonValue]
    ) -> None:
        await self._alarms.open(tx, _ALERTS[status], show("acc", account_id), facts)

    async def running(self, tx: Transaction, account_id: UUID) -> None:
        for kind in _ALERTS.values():
            await self._alarms.close(tx, kind, show("acc", account_id))


class InstallationSecrets:
    """Implements `senders.ports.SecretReferences`: `env:NAME` and `file:/path`, which only a platform key may name."""

    def read(self, reference: str) -> str:
        scheme, _, name = reference.partition(":")
        if scheme.lower() == "env":
            found = os.environ.get(name)
        else:
            try:
                found = Path(name).read_text(encoding="utf-8")[: LONGEST_SECRET + 1].rstrip("\r\n")
            except (OSError, ValueError):
                found = None
        if not found:
            raise LookupError("There is no such secret.")
        return found


class PatientVendors:
    """Implements `senders.vendors.Vendors`: a trial ends when whoever asked for it cannot wait any longer."""

    def __init__(self, vendors: Vendors) -> None:
        self._vendors = vendors

    def faults_of(self, connection: AccountConnection, *, pointer: str = "") -> Sequence[FieldError]:
        return self._vendors.faults_of(connection, pointer=pointer)

    def open(self, connection: AccountConnection, *, trusted: bool) -> EmailSender:
        return self._vendors.open(connection, trusted=trusted)

    async def test(self, connection: AccountConnection, *, trusted: bool) -> Trial:
        try:
            async with asyncio.timeout(_LONGEST_TRIAL):
                return await self._vendors.test(connection, trusted=trusted)
        except TimeoutError:
            return Trial(ok=False, words=f"The server has not let us in within {_LONGEST_TRIAL:.0f} seconds.")


def vendors_of(settings: Settings, clock: Clock) -> VendorSenders:
    """To be closed in the end."""
    return VendorSenders(settings, guard=guard_of(settings), clock=clock)


def join_senders(
    settings: Settings,
    *,
    vendors: Vendors,
    keyring: Keyring,
    audit: Audit,
    book: DomainBook,
    ring: Callable[[], None],
    clock: Clock,
) -> Senders:
    """`ring`: wakes the workers."""
    store = PgSenderAccounts()
    return Senders(
        accounts=Accounts(
            store=store,
            vendors=PatientVendors(vendors),
            references=InstallationSecrets(),
            names=ProvedNames(book, places_of(settings).default_address),
            stopping=_stopping(clock),
            waiting=PgWaitingMail(clock=clock, ring=ring),
            keyring=keyring,
            audit=audit,
            clock=clock,
        ),
        ways=Ways(accounts=store, platform_sends=settings.smtp_url is not None),
    )


def pool_of(vendors: Vendors, *, work: PgWork, keyring: Keyring, clock: Clock) -> AccountPool:
    return AccountPool(
        work=work,
        accounts=PgSenderAccounts(),
        keyring=keyring,
        references=InstallationSecrets(),
        vendors=vendors,
        clock=clock,
    )


def capacity_of(
    *, work: PgWork, keyring: Keyring, clock: Clock, is_paused: Callable[[UUID], bool] | None = None
) -> SenderCapacity:
    capacity = PgSenderCapacity()
    return SenderCapacity(
        desk=Desk(
            work=work,
            accounts=PgSenderAccounts(),
            capacity=capacity,
            board=PgSenderBoard(work),
            clock=clock,
            is_paused=is_paused,
        ),
        aftermath=Aftermath(work=work, capacity=capacity, stopping=_stopping(clock), clock=clock),
        work=work,
        keyring=keyring,
        inputs=inputs_of(keyring, clock),
    )


def _stopping(clock: Clock) -> Stopping:
    return Stopping(
        store=PgSenderAccounts(),
        events=AccountOutbox(PgOutbox()),
        audit=PgAuditStore(),
        news=AccountAlarms(Alarms(store=PgAlerts(), clock=clock)),
        clock=clock,
    )
