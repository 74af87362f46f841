"""What requests and answers about sender accounts look like."""

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from waypost.api.shapes import CategoryWord, Moment, PageQuery, Shape, ShownCategory
from waypost.kernel.vocabulary import CATEGORIES, Category
from waypost.senders.connection import AccountKind, AuthMode, TlsMode
from waypost.senders.fields import AccountChanges, AccountFields
from waypost.senders.model import ShownStatus, Stage, StatusReason
from waypost.senders.warmup import DEFAULT_SCHEDULE

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
    next: None = None


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
