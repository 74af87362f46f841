"""Telling the targets: when an alert opens, every few hours while it stays open, and when it closes."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec
import structlog

from waypost.alerts.model import Alert, StoredTarget, TargetKind, Telling, TellingKind
from waypost.alerts.ports import AlertBoard, AlertCall, AlertMail, AlertStore, TargetStore, TellingStore
from waypost.alerts.rules import Limits, headline, summary
from waypost.alerts.targets import open_secret, open_target
from waypost.kernel.backoff import Random, delay
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Refused, Unavailable
from waypost.kernel.ids import show
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.vault import Keyring
from waypost.kernel.work import Work

_log: Final = structlog.stdlib.get_logger()
_AT_ONCE: Final = 50
_LEASE: Final = timedelta(minutes=2)
_MOST_ATTEMPTS: Final = 8


class Tell:
    """A chore."""

    def __init__(
        self,
        *,
        work: Work,
        board: AlertBoard,
        alerts: AlertStore,
        targets: TargetStore,
        tellings: TellingStore,
        mail: AlertMail,
        call: AlertCall,
        keyring: Keyring,
        limits: Limits,
        clock: Clock,
        random: Random,
    ) -> None:
        self._work = work
        self._board = board
        self._alerts = alerts
        self._targets = targets
        self._tellings = tellings
        self._mail = mail
        self._call = call
        self._keyring = keyring
        self._limits = limits
        self._clock = clock
        self._random = random

    async def __call__(self) -> None:
        for tenant_id in await self._board.tenants_to_tell(self._clock.now()):
            await self._plan(tenant_id)
            async with self._work.begin(tenant_id) as tx:
                now = self._clock.now()
                taken = await self._tellings.take(tx, now, now + _LEASE, _AT_ONCE)
            for telling in taken:
                await self._tell(tenant_id, telling)

    async def _plan(self, tenant_id: str) -> None:
        """Who is to be told what. Whoever plans holds the alert, so nobody is told twice."""
        async with self._work.begin(tenant_id) as tx:
            now = self._clock.now()
            targets = await self._targets.all(tx)
            for alert in await self._alerts.due(tx, now, _AT_ONCE):
                hearing = [target.id for target in targets if target.hears(alert.kind)]
                kind = _kind_of(alert)
                if kind is TellingKind.CLOSED and alert.told == 0:
                    hearing = []
                await self._tellings.add(tx, hearing, alert.id, alert.told + 1, kind, now)
                again_at = now + self._limits.repeat if alert.is_open else None
                await self._alerts.note_told(tx, alert.id, again_at, told=bool(hearing))

    async def _tell(self, tenant_id: str, telling: Telling) -> None:
        async with self._work.begin(tenant_id) as tx:
            target = await self._targets.find(tx, telling.target_id)
            alert = None if telling.kind is TellingKind.TEST else await self._alerts.find(tx, telling.alert_id)
            if target is None or (alert is None and telling.kind is not TellingKind.TEST):
                await self._tellings.done(tx, telling)
                return
            key = await self._keyring.of(tx)
            led, secret = open_target(key, tenant_id, target), open_secret(key, tenant_id, target)
        fault = await self._say(tenant_id, telling, target, led, secret, alert)
        async with self._work.begin(tenant_id) as tx:
            now = self._clock.now()
            await self._targets.note_outcome(tx, target.id, now, fault)
            if fault is None:
                await self._tellings.done(tx, telling)
            elif telling.attempts + 1 >= _MOST_ATTEMPTS or telling.kind is TellingKind.TEST:
                await self._tellings.done(tx, telling)
                _log.error("alert not told", action="alert_not_told", tenant=tenant_id, fault=fault)
            else:
                await self._tellings.put_off(tx, telling, now + delay(telling.attempts + 1, self._random))

    async def _say(
        self, tenant_id: str, telling: Telling, target: StoredTarget, led: str, secret: str, alert: Alert | None
    ) -> str | None:
        """A fault in a word, or None."""
        message_id = f"{show('alr', telling.alert_id)}-{telling.n}"
        now = self._clock.now()
        if target.kind is TargetKind.WEBHOOK:
            body = msgspec.json.encode(event_of(tenant_id, telling, alert, now))
            return await self._call.post(led, secret, message_id, now, body)
        try:
            async with self._work.begin(tenant_id) as tx:
                key = f"alert:{message_id}:{target.id.hex}"
                await self._mail.send(tx, led, _headline(telling, alert), words_of(tenant_id, alert), key)
        except Unavailable:
            raise
        except Refused as refused:
            return refused.code
        except Exception as error:
            _log.error("alert mail failed", action="chore_failed", chore="tell_alerts", kind=type(error).__name__)
            return "failed"
        return None


def _kind_of(alert: Alert) -> TellingKind:
    if not alert.is_open:
        return TellingKind.CLOSED
    return TellingKind.REPEATED if alert.told else TellingKind.OPENED


def _headline(telling: Telling, alert: Alert | None) -> str:
    return "Test: an alert of Waypost" if alert is None else headline(alert, telling.kind)


def event_of(tenant_id: str, telling: Telling, alert: Alert | None, now: datetime) -> Mapping[str, JsonValue]:
    """What a webhook is told. Never an address, never a secret."""
    data: dict[str, JsonValue] = {"tenant": tenant_id}
    if alert is not None:
        data |= {
            "alert_id": show("alr", alert.id),
            "kind": alert.kind.value,
            "subject": alert.subject,
            "summary": summary(alert),
            "facts": dict(alert.facts),
            "opened_at": alert.opened_at.isoformat(),
            "closed_at": None if alert.closed_at is None else alert.closed_at.isoformat(),
        }
    return {"type": f"alert.{telling.kind.value}", "timestamp": now.isoformat(), "data": data}


def words_of(tenant_id: str, alert: Alert | None) -> str:
    if alert is None:
        return "This is a test. When something needs a person, Waypost will write here."
    lines = [summary(alert), "", f"Tenant: {tenant_id}", f"Since: {alert.opened_at:%Y-%m-%d %H:%M} UTC"]
    if alert.closed_at is not None:
        lines.append(f"Until: {alert.closed_at:%Y-%m-%d %H:%M} UTC")
    lines += [f"{name.replace('_', ' ').capitalize()}: {value}" for name, value in alert.facts.items()]
    return "\n".join(lines)
