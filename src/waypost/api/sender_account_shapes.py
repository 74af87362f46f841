"""What requests and answers about sender accounts look like."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from waypost.api.shapes import CategoryWord, Moment, PageQuery, Shape, ShownCategory
from waypost.kernel import ids
from waypost.kernel.vocabulary import CATEGORIES, Category
from waypost.senders.accounts import AccountView
from waypost.senders.connection import AccountKind, AuthMode, TlsMode
from waypost.senders.fields import AccountChanges, AccountFields
from waypost.senders.model import Account, Day, Pace, ShownStatus, Stage, StatusReason
from waypost.senders.vendors import Trial
from waypost.senders.warmup import DEFAULT_SCHEDULE, next_stage_on

KindWord = Literal["smtp", "gmail"]
TlsWord = Literal["required", "opportunistic", "off", "implicit"]
AuthWord = Literal["none", "plain", "login", "xoauth2"]
Name = Annotated[str, Meta(description="For people; each account has its own.")]
DisplayName = Annotated[str, Meta(description="Stands beside the address in From.")]
FromAddress = Annotated[str, Meta(description="Stands in From where a message names nobody.")]
Categories = Annotated[list[CategoryWord], Meta(description="What it is for; null or absent: everything.")]
DailyLimit = Annotated[int, Meta(description="Messages a day, in UTC; null: no limit.")]
BatchSize = Annotated[int, Meta(description="With a delay, how many go out together.")]
DelayMs = Annotated[int, Meta(description="Milliseconds between two sends, on average.")]
ProviderLimits = Annotated[
    dict[str, int],
    Meta(description="Messages an hour by mailbox provider (`gmail`, `microsoft`, `yahoo`, `icloud`, …) or domain."),
]
Adaptive = Annotated[bool, Meta(description="Learn how fast each mailbox provider may be written to, starting slowly.")]
Secret = Annotated[
    str,
    Meta(description="A password, a bearer token, or a service account's key file. Never shown again."),
]


class StageShape(Shape):
    limit: Annotated[int, Meta(description="Messages a day.")]
    delay_ms: int = 0
    batch_size: int = 50
    days: Annotated[int, Meta(description="How long the stage lasts at least.")] = 7


class WarmUpShape(Shape):
    """Left empty, it is the usual schedule: 50, 100, 250, 500, 1,000 and 2,000 a day, a week each."""

    stages: list[StageShape] | None = None


class NewSenderAccount(Shape):
    kind: KindWord
    name: Name
    from_address: FromAddress
    display_name: DisplayName = ""
    categories: Categories | None = None
    daily_limit: DailyLimit | None = None
    batch_size: BatchSize = 50
    delay_ms: DelayMs = 0
    provider_limits: ProviderLimits | None = None
    adaptive: Adaptive = False
    warmup: WarmUpShape | None = None
    host: Annotated[str, Meta(description="Of an SMTP server.")] = ""
    port: Annotated[int, Meta(description="0: 465 with implicit TLS, else 587.")] = 0
    tls: TlsWord = "required"
    auth: AuthWord = "none"
    username: str = ""
    secret: Secret | None = None
    subject: Annotated[str, Meta(description="The mailbox that a service account acts for.")] = ""
    helo_name: str = ""
    max_connections: int = 10
    messages_per_connection: int = 100


class SenderAccountChange(Shape):
    """What is left out stays as it is. A secret takes the place of the one before."""

    name: Name | UnsetType = UNSET
    from_address: FromAddress | UnsetType = UNSET
    display_name: DisplayName | UnsetType = UNSET
    categories: Categories | UnsetType | None = UNSET
    daily_limit: DailyLimit | UnsetType | None = UNSET
    batch_size: BatchSize | UnsetType = UNSET
    delay_ms: DelayMs | UnsetType = UNSET
    provider_limits: ProviderLimits | UnsetType = UNSET
    adaptive: Adaptive | UnsetType = UNSET
    warmup: WarmUpShape | UnsetType | None = UNSET
    host: str | UnsetType = UNSET
    port: int | UnsetType = UNSET
    tls: TlsWord | UnsetType = UNSET
    auth: AuthWord | UnsetType = UNSET
    username: str | UnsetType = UNSET
    secret: Secret | UnsetType = UNSET
    subject: str | UnsetType = UNSET
    helo_name: str | UnsetType = UNSET
    max_connections: int | UnsetType = UNSET
    messages_per_connection: int | UnsetType = UNSET


class AccountQuery(PageQuery):
    archived: Annotated[bool, Meta(description="Archived ones too.")] = False


class TodayView(Shape):
    sent: int
    bounced: int
    errors: int
    deferred: Annotated[int, Meta(description="Put off by their servers; they come again, and do not count.")]
    reserved: Annotated[int, Meta(description="Taken of the limit: sent, and on its way.")]
    limit: Annotated[int, Meta(description="The lower of the daily limit and the stage's.")] | None
    remaining: int | None
    limit_reached: bool
    next_reset: Moment


class WarmUpView(Shape):
    stage: Annotated[int, Meta(description="From 1; null once finished.")] | None
    stages: list[StageShape]
    started_on: Annotated[list[str], Meta(description="When each stage so far began.")]
    next_stage_on: Annotated[str, Meta(description="The earliest day of the next stage.")] | None
    finished_on: str | None


class PaceView(Shape):
    provider: str
    per_hour: Annotated[float, Meta(description="The learned rate; null: none.")] | None
    limit: Annotated[int, Meta(description="The set one.")] | None
    taken_this_hour: int
    next_at: Moment | None
    slowed_at: Annotated[Moment, Meta(description="When the provider last asked to slow down.")] | None


class HealthView(Shape):
    bounce_rate: float | None
    error_rate: float | None
    errors_in_a_row: int


class SenderAccountView(Shape):
    id: str
    kind: AccountKind
    name: str
    display_name: str
    from_address: str
    domain: str
    categories: list[ShownCategory] | None
    daily_limit: int | None
    batch_size: int
    delay_ms: int
    provider_limits: dict[str, int]
    adaptive: bool
    host: str
    port: int
    tls: TlsMode
    auth: AuthMode
    username: str
    subject: str
    helo_name: str
    max_connections: int
    messages_per_connection: int
    has_secret: bool
    secret_is_reference: bool
    status: ShownStatus
    status_reason: StatusReason | None
    status_at: Moment
    today: TodayView
    next_send_at: Annotated[Moment, Meta(description="While it waits between two batches.")] | None
    warmup: WarmUpView | None
    paces: list[PaceView]
    health: HealthView
    version: int
    created_at: Moment
    updated_at: Moment


class TrialView(Shape):
    ok: bool
    message: str
    reason: str | None
    reply: Annotated[str, Meta(description="The server's own words, cleaned.")] | None
    encrypted: bool


class DayView(Shape):
    day: str
    sent: int
    bounced: int
    errors: int
    deferred: int


class Days(Shape):
    items: list[DayView]


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


def fields_of_new(new: NewSenderAccount) -> AccountFields:
    return AccountFields(
        kind=AccountKind(new.kind),
        name=new.name,
        from_address=new.from_address,
        display_name=new.display_name,
        categories=_categories(new.categories),
        daily_limit=new.daily_limit,
        batch_size=new.batch_size,
        delay_ms=new.delay_ms,
        provider_limits=new.provider_limits or {},
        adaptive=new.adaptive,
        warmup=_schedule(new.warmup),
        host=new.host,
        port=new.port,
        tls=TlsMode(new.tls),
        auth=AuthMode(new.auth),
        username=new.username,
        subject=new.subject,
        helo_name=new.helo_name,
        max_connections=new.max_connections,
        messages_per_connection=new.messages_per_connection,
    )


def changes_of(change: SenderAccountChange) -> AccountChanges:
    given = AccountChanges()
    for name in ("name", "from_address", "display_name", "daily_limit", "batch_size", "delay_ms", "provider_limits",
                 "adaptive", "host", "port", "username", "subject", "helo_name", "max_connections",
                 "messages_per_connection"):  # fmt: skip
        if (value := getattr(change, name)) is not UNSET:
            given[name] = value
    if change.categories is not UNSET:
        given["categories"] = _categories(change.categories)
    if change.warmup is not UNSET:
        given["warmup"] = _schedule(change.warmup)
    if change.tls is not UNSET:
        given["tls"] = TlsMode(change.tls)
    if change.auth is not UNSET:
        given["auth"] = AuthMode(change.auth)
    return given


def _categories(words: Sequence[str] | None) -> frozenset[Category] | None:
    return None if words is None else frozenset(CATEGORIES[word] for word in words)


def _schedule(warmup: WarmUpShape | None) -> tuple[Stage, ...] | None:
    if warmup is None:
        return None
    if warmup.stages is None:
        return DEFAULT_SCHEDULE
    return tuple(
        Stage(limit=one.limit, delay_ms=one.delay_ms, batch_size=one.batch_size, days=one.days) for one in warmup.stages
    )


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
