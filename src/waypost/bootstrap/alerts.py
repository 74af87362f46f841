"""Alerts, joined: for those who look at them, and for the processes that watch and tell."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import structlog

from waypost.adapters.outbound.http import GuardedHttp
from waypost.adapters.postgres.alerts import PgAlertBoard, PgAlerts, PgAlertTargets, PgTellings
from waypost.adapters.postgres.work import PgWork
from waypost.alerts.alarms import Alarms
from waypost.alerts.desk import AlertDesk, AlertReader
from waypost.alerts.rules import Limits
from waypost.alerts.targets import Targets
from waypost.alerts.tell import Tell
from waypost.alerts.watch import Watch
from waypost.bootstrap.outbound import guard_of, urls_of
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Unavailable, refuse
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import Keyring
from waypost.kernel.vocabulary import Category, Priority, TenantMode
from waypost.kernel.work import Transaction
from waypost.notifications.model import Once, SubmitCommand
from waypost.notifications.ports import SubmitCall
from waypost.outbox.ports import Caller, UrlCheck, UrlFault
from waypost.outbox.signing import headers_of, mint_secret
from waypost.recipients.model import RecipientFields, Target
from waypost.settings import Settings
from waypost.templates.model import Content
from waypost.tenants.audit import OPERATOR, Audit

_log: Final = structlog.stdlib.get_logger()
WATCH_EVERY: Final = 15.0
TELL_EVERY: Final = 5.0
_CONTENT: Final = Content(subject="{{ headline }}", text="{{ words }}")


class CheckedUrls:
    """Implements `alerts.ports.UrlChecker` with the check of webhook endpoints."""

    def __init__(self, urls: UrlCheck) -> None:
        self._urls = urls

    async def check(self, url: str) -> None:
        try:
            await self._urls.check(url)
        except UrlFault as fault:
            raise refuse("/url", fault.code, fault.message) from None

    def new_secret(self) -> str:
        return mint_secret()


class SignedCall:
    """Implements `alerts.ports.AlertCall`: one POST through the one way out, signed as Standard Webhooks has it."""

    def __init__(self, caller: Caller, urls: UrlCheck) -> None:
        self._caller = caller
        self._urls = urls

    async def post(self, url: str, secret: str, message_id: str, at: datetime, body: bytes) -> str | None:
        try:
            await self._urls.check(url)
        except UrlFault as fault:
            return fault.code
        headers = {"content-type": "application/json", **headers_of([secret], message_id, at, body)}
        answer = await self._caller.post(url, headers, body)
        if answer.fault is not None:
            return answer.fault.value
        return None if answer.status is not None and 200 <= answer.status < 300 else f"status_{answer.status}"


class OperationalMail:
    """Implements `alerts.ports.AlertMail`: an ordinary message of the tenant's own, of the category operational."""

    def __init__(self, submit: SubmitCall) -> None:
        self._submit = submit

    async def send(self, tx: Transaction, address: str, subject: str, text: str, key: str) -> None:
        command = SubmitCommand(
            to=(Target(fields=RecipientFields(email=address)),),
            to_is_list=False,
            content=_CONTENT,
            variables={"headline": subject, "words": text},
            category=Category.OPERATIONAL,
            priority=Priority.URGENT,
            once=Once(key=key),
        )
        await self._submit(tx, _scope(tx.tenant_id), command)


def _scope(tenant_id: str) -> Scope:
    return Scope(
        tenant_id=tenant_id,
        mode=TenantMode.LIVE,
        key_id=OPERATOR,
        key_tenant=tenant_id,
        permissions=frozenset({Permission.NOTIFICATIONS_SEND}),
        request_id="alert",
    )


def limits_of(settings: Settings) -> Limits:
    return Limits(
        stalled_after=timedelta(seconds=settings.alert_stalled_after),
        in_doubt=settings.alert_in_doubt,
        dead_letters=settings.alert_dead_letters,
        repeat=timedelta(seconds=settings.alert_repeat),
    )


def alarms_of(clock: Clock) -> Alarms:
    """For whoever finds something wrong."""
    return Alarms(store=PgAlerts(), clock=clock)


def alerts_of(settings: Settings, *, keyring: Keyring, audit: Audit, clock: Clock) -> AlertDesk:
    targets = Targets(
        store=PgAlertTargets(),
        tellings=PgTellings(),
        urls=CheckedUrls(urls_of(settings, guard_of(settings))),
        keyring=keyring,
        audit=audit,
        clock=clock,
    )
    return AlertDesk(alerts=AlertReader(PgAlerts()), targets=targets)


@dataclass(frozen=True, kw_only=True, slots=True)
class AlertChores:
    watch: Watch
    tell: Tell


@asynccontextmanager
async def open_alert_chores(
    settings: Settings, *, work: PgWork, keyring: Keyring, submit: SubmitCall, clock: Clock
) -> AsyncGenerator[AlertChores]:
    guard, board, limits = guard_of(settings), PgAlertBoard(work), limits_of(settings)
    caller = GuardedHttp(guard, clock)
    try:
        yield AlertChores(
            watch=Watch(work=work, board=board, store=PgAlerts(), alarms=alarms_of(clock), limits=limits, clock=clock),
            tell=Tell(
                work=work,
                board=board,
                alerts=PgAlerts(),
                targets=PgAlertTargets(),
                tellings=PgTellings(),
                mail=OperationalMail(submit),
                call=SignedCall(caller, urls_of(settings, guard)),
                keyring=keyring,
                limits=limits,
                clock=clock,
                random=random.random,
            ),
        )
    finally:
        await caller.close()


@asynccontextmanager
async def watching(chores: AlertChores, clock: Clock) -> AsyncGenerator[None]:
    """For a process that is no worker: somebody must notice when no worker is there."""

    async def watch() -> None:
        while True:
            await clock.sleep(2 * WATCH_EVERY)
            try:
                await chores.watch()
                await chores.tell()
            except Unavailable as error:
                _log.warning("chore waits", action="chore_waits", chore="watch_alerts", cause=error.detail)
            except Exception as error:
                _log.error("chore failed", action="chore_failed", chore="watch_alerts", kind=type(error).__name__)

    watcher = asyncio.create_task(watch())
    try:
        yield
    finally:
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)
