"""Sender accounts as answers, and the examples of both."""

from typing import Final

from waypost.api.sender_account_shapes import (
    DayView,
    HealthView,
    PaceView,
    SenderAccountView,
    StageShape,
    TodayView,
    TrialView,
    WarmUpView,
)
from waypost.kernel import ids
from waypost.senders.accounts import AccountView
from waypost.senders.model import Account, Day, Pace
from waypost.senders.vendors import Trial
from waypost.senders.warmup import next_stage_on

ACCOUNT_BODY: Final = {
    "kind": "smtp",
    "name": "Newsletter",
    "from_address": "news@mail.example.com",
    "display_name": "Example Shop",
    "host": "smtp.example.com",
    "auth": "plain",
    "username": "news",
    "secret": "correct horse battery staple",
    "daily_limit": 5000,
    "provider_limits": {"gmail": 500},
    "categories": ["marketing"],
}
ACCOUNT_EXAMPLE: Final = {
    "id": "acc_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q",
    "kind": "smtp",
    "name": "Newsletter",
    "display_name": "Example Shop",
    "from_address": "news@mail.example.com",
    "domain": "mail.example.com",
    "categories": ["marketing"],
    "daily_limit": 5000,
    "batch_size": 50,
    "delay_ms": 0,
    "provider_limits": {"gmail": 500},
    "adaptive": False,
    "host": "smtp.example.com",
    "port": 0,
    "tls": "required",
    "auth": "plain",
    "username": "news",
    "subject": "",
    "helo_name": "",
    "max_connections": 10,
    "messages_per_connection": 100,
    "has_secret": True,
    "secret_is_reference": False,
    "status": "active",
    "status_reason": None,
    "status_at": "2026-01-15T12:00:00Z",
    "today": {
        "sent": 1200, "bounced": 3, "errors": 0, "deferred": 14, "reserved": 1203, "limit": 5000, "remaining": 3797,
        "limit_reached": False, "next_reset": "2026-01-16T00:00:00Z",
    },
    "next_send_at": None,
    "warmup": None,
    "paces": [
        {
            "provider": "gmail", "per_hour": None, "limit": 500, "taken_this_hour": 212, "next_at": None,
            "slowed_at": None,
        }
    ],
    "health": {"bounce_rate": 0.0025, "error_rate": 0.0, "errors_in_a_row": 0},
    "version": 1,
    "created_at": "2026-01-15T12:00:00Z",
    "updated_at": "2026-01-15T12:00:00Z",
}  # fmt: skip
TRIAL_EXAMPLE: Final = {
    "ok": True, "message": "The server let us in.", "reason": None, "reply": None, "encrypted": True,
}  # fmt: skip


def account_view(view: AccountView) -> SenderAccountView:
    account, today = view.account, view.standing.today
    reached = account.connection
    return SenderAccountView(
        id=ids.show("acc", account.id),
        kind=account.kind,
        name=account.name,
        display_name=account.display_name,
        from_address=account.from_address,
        domain=account.domain,
        categories=None if account.categories is None else [one.word for one in sorted(account.categories)],
        daily_limit=account.daily_limit,
        batch_size=account.batch_size,
        delay_ms=account.delay_ms,
        provider_limits=dict(account.provider_limits),
        adaptive=account.adaptive,
        host=reached.host,
        port=reached.port,
        tls=reached.tls,
        auth=reached.auth,
        username=reached.username,
        subject=reached.subject,
        helo_name=reached.helo_name,
        max_connections=reached.max_connections,
        messages_per_connection=reached.messages_per_connection,
        has_secret=account.secret is not None,
        secret_is_reference=account.secret_is_reference,
        status=account.shown_status,
        status_reason=account.status_reason,
        status_at=account.status_at,
        today=TodayView(
            sent=today.sent,
            bounced=today.bounced,
            errors=today.errors,
            deferred=today.deferred,
            reserved=today.reserved,
            limit=view.limit,
            remaining=view.remaining,
            limit_reached=view.limit_reached,
            next_reset=view.next_reset,
        ),
        next_send_at=view.next_send_at,
        warmup=_warmup_view(account),
        paces=[_pace_view(account, pace) for pace in view.paces],
        health=HealthView(
            bounce_rate=round(today.bounced / today.answered, 4) if today.answered else None,
            error_rate=round(today.errors / today.answered, 4) if today.answered else None,
            errors_in_a_row=view.standing.state.consecutive_errors,
        ),
        version=account.version,
        created_at=account.created_at,
        updated_at=account.updated_at,
    )


def _warmup_view(account: Account) -> WarmUpView | None:
    warmup = account.warmup
    if warmup is None:
        return None
    following = next_stage_on(warmup)
    return WarmUpView(
        stage=warmup.stage,
        stages=[
            StageShape(limit=one.limit, delay_ms=one.delay_ms, batch_size=one.batch_size, days=one.days)
            for one in warmup.schedule
        ],
        started_on=[one.isoformat() for one in warmup.started_on],
        next_stage_on=None if following is None else following.isoformat(),
        finished_on=None if warmup.finished_on is None else warmup.finished_on.isoformat(),
    )


def _pace_view(account: Account, pace: Pace) -> PaceView:
    return PaceView(
        provider=pace.provider,
        per_hour=None if pace.rate is None else round(pace.rate, 1),
        limit=account.provider_limits.get(pace.provider),
        taken_this_hour=pace.taken,
        next_at=pace.next_at,
        slowed_at=pace.slowed_at,
    )


def trial_view(trial: Trial) -> TrialView:
    return TrialView(
        ok=trial.ok,
        message=trial.words,
        reason=None if trial.reason is None else trial.reason.value,
        reply=trial.reply,
        encrypted=trial.encrypted,
    )


def day_view(day: Day) -> DayView:
    return DayView(
        day=day.day.isoformat(), sent=day.sent, bounced=day.bounced, errors=day.errors, deferred=day.deferred
    )
