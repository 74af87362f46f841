"""One turn of one endpoint: a few calls, one after the other, and what becomes of each."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

import structlog

from waypost.kernel.backoff import Random
from waypost.kernel.clock import Clock
from waypost.kernel.ids import mint, show
from waypost.kernel.vault import Keyring, TenantKey
from waypost.kernel.work import Transaction, Work
from waypost.outbox.describe import Describe, Event
from waypost.outbox.endpoints import open_secret
from waypost.outbox.envelope import webhook_body
from waypost.outbox.model import News, OutboxKind
from waypost.outbox.ports import Caller, DeliveryStore, Outbox, RelayTelemetry, UrlCheck, UrlFault
from waypost.outbox.rules import after_attempt, is_gone, is_success, lane_after, must_disable, shown
from waypost.outbox.signing import headers_of
from waypost.outbox.webhook_model import (
    Answer,
    Delivery,
    DeliveryState,
    DisabledReason,
    EndpointStatus,
    Result,
    StoredEndpoint,
    Turn,
)
from waypost.tenants.model import AuditEntry
from waypost.tenants.ports import AuditStore

_log: Final = structlog.stdlib.get_logger()
_LEASE: Final = timedelta(seconds=90)
_BEGINS_FOR: Final = 30.0
"""So long a turn begins calls. With the last one's time-out it ends well within its lease."""
_FAILURES_IN_A_ROW: Final = 3
_ACTOR: Final = "relay"
_DISABLED: Final = "webhook_endpoint.disabled"
_AGENT: Final = "Waypost-Webhooks/1"


class Send:
    def __init__(
        self,
        *,
        work: Work,
        deliveries: DeliveryStore,
        describe: Describe,
        caller: Caller,
        urls: UrlCheck,
        keyring: Keyring,
        outbox: Outbox,
        audit: AuditStore,
        telemetry: RelayTelemetry,
        clock: Clock,
        random: Random,
    ) -> None:
        self._work = work
        self._deliveries = deliveries
        self._describe = describe
        self._caller = caller
        self._urls = urls
        self._keyring = keyring
        self._outbox = outbox
        self._audit = audit
        self._telemetry = telemetry
        self._clock = clock
        self._random = random

    async def turn(self, tenant_id: str, endpoint_id: UUID) -> bool:
        """False where there was nothing to do after all."""
        now = self._clock.now()
        async with self._work.begin(tenant_id) as tx:
            turn = await self._deliveries.take_turn(tx, endpoint_id, now, now + _LEASE)
            if turn is None:
                return False
            events = await self._describe(tx, [one.told for one in turn.deliveries])
            key = await self._keyring.of(tx)
        results = await self._call_all(tenant_id, turn, events, key)
        answers = [result.answer for result in results if result.answer.status or result.answer.fault]
        async with self._work.begin(tenant_id) as tx:
            await self._note_health(tx, turn.endpoint, answers)
            lane = lane_after(turn.lane, answers, self._clock.now(), self._random)
            await self._deliveries.end_turn(tx, turn, results, turn.deliveries[len(results) :], lane)
        self._telemetry.called(answers)
        return True

    async def _call_all(
        self, tenant_id: str, turn: Turn, events: Sequence[Event | None], key: TenantKey
    ) -> list[Result]:
        """Stops early where the endpoint takes nothing, or too long; the rest is given back."""
        endpoint = turn.endpoint
        url = open_secret(key, "webhook_url", tenant_id, endpoint.id, endpoint.url)
        secrets = self._secrets(endpoint, key, tenant_id)
        refused = await self._refusal(url)
        began = self._clock.monotonic()
        failed_in_a_row = 0
        results: list[Result] = []
        for delivery, event in zip(turn.deliveries, events, strict=True):
            if failed_in_a_row >= _FAILURES_IN_A_ROW or self._clock.monotonic() - began > _BEGINS_FOR:
                break
            if event is None:
                results.append(self._nothing_left(delivery))
                continue
            answer = refused or await self._call(url, secrets, event)
            results.append(self._result(delivery, answer))
            failed_in_a_row = 0 if is_success(answer) else failed_in_a_row + 1
            if is_gone(answer):
                break
        return results

    async def _call(self, url: str, secrets: Sequence[str], event: Event) -> Answer:
        body = webhook_body(event)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": _AGENT,
            **headers_of(secrets, event.id, self._clock.now(), body),
        }
        return await self._caller.post(url, headers, body)

    async def _refusal(self, url: str) -> Answer | None:
        """What was right when it was configured may be wrong now: names and settings change."""
        try:
            await self._urls.check(url)
        except UrlFault as fault:
            return Answer(status=None, fault=fault.as_call_fault)
        return None

    def _secrets(self, endpoint: StoredEndpoint, key: TenantKey, tenant_id: str) -> list[str]:
        in_force = [open_secret(key, "webhook_secret", tenant_id, endpoint.id, endpoint.secret)]
        until = endpoint.old_secret_until
        if endpoint.old_secret is not None and until is not None and self._clock.now() < until:
            in_force.append(open_secret(key, "webhook_old_secret", tenant_id, endpoint.id, endpoint.old_secret))
        return in_force

    def _result(self, delivery: Delivery, answer: Answer) -> Result:
        now = self._clock.now()
        state, due = after_attempt(
            answer, tries=delivery.attempts + 1, now=now, give_up_at=delivery.give_up_at, random=self._random
        )
        return Result(delivery=delivery, at=now, answer=answer, shown=shown(answer.body), state=state, due=due)

    def _nothing_left(self, delivery: Delivery) -> Result:
        """What it was about is gone, and with it all there was to tell."""
        now = self._clock.now()
        nothing = Answer(status=None, fault=None)
        said = "The record of what this was about is gone."
        return Result(delivery=delivery, at=now, answer=nothing, shown=said, state=DeliveryState.FAILED, due=now)

    async def _note_health(self, tx: Transaction, endpoint: StoredEndpoint, answers: Sequence[Answer]) -> None:
        if not answers:
            return
        now = self._clock.now()
        recovered = any(is_success(answer) for answer in answers)
        failing_since = None if recovered else endpoint.failing_since or now
        reason: DisabledReason | None = None
        if is_gone(answers[-1]):
            reason = DisabledReason.GONE
        elif must_disable(failing_since, now):
            reason = DisabledReason.FAILING
        if reason is None and failing_since == endpoint.failing_since:
            return
        status = EndpointStatus.DISABLED if reason else EndpointStatus.ENABLED
        noted = await self._deliveries.note_health(
            tx, endpoint.id, failing_since=failing_since, status=status, reason=reason, at=now
        )
        if noted and reason is not None:
            await self._tell_disabled(tx, endpoint, reason)

    async def _tell_disabled(self, tx: Transaction, endpoint: StoredEndpoint, reason: DisabledReason) -> None:
        """To whoever else listens, in the audit log, and in ours."""
        await self._outbox.append(tx, [News(kind=OutboxKind.WEBHOOK_ENDPOINT_DISABLED, subject_id=endpoint.id)])
        entry = AuditEntry(
            id=mint(self._clock),
            actor=_ACTOR,
            acting_as=None,
            action=_DISABLED,
            subject=show("whe", endpoint.id),
            detail={"reason": reason.value},
            request_id=_ACTOR,
        )
        await self._audit.add(tx, tx.tenant_id, entry)
        _log.warning(
            "webhook endpoint disabled",
            action="webhook_disabled",
            tenant=tx.tenant_id,
            endpoint=show("whe", endpoint.id),
            reason=reason.value,
        )
