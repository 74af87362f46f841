"""How much a tenant lets out: rate limits and the cap on marketing."""

from typing import Annotated, Final, cast

from msgspec import Meta

from waypost.api.endpoint import Call, Endpoint, endpoint
from waypost.api.shapes import ChannelWord, NoBody, NoQuery, Shape
from waypost.delivery.limits import Cap, Limits, Rate
from waypost.kernel.durations import Duration, read_duration
from waypost.kernel.errors import refuse
from waypost.kernel.tenancy import Permission

_Count = Annotated[int, Meta(ge=1, le=1_000_000_000, examples=[1000])]


class RateShape(Shape, omit_defaults=True):
    minute: Annotated[_Count, Meta(description="Messages per minute.")] | None = None
    day: Annotated[_Count, Meta(description="Messages per day, in UTC.")] | None = None


class CapShape(Shape):
    """A marketing message that would be one too many ends as `suppressed`, with the reason `frequency_cap`."""

    max: Annotated[int, Meta(ge=1, le=100, description="Messages to one recipient.", examples=[3])]
    per: Annotated[str, Meta(max_length=40, description="The window, which slides: up to `90d`.", examples=["7d"])]


class LimitsShape(Shape, omit_defaults=True):
    """What is over a rate waits for room; nothing is dropped. What is left out has no limit."""

    tenant: RateShape | None = None
    channels: Annotated[dict[ChannelWord, RateShape], Meta(description="For each channel.")] | None = None
    recipient: Annotated[RateShape, Meta(description="For each recipient, over all channels.")] | None = None
    marketing_cap: CapShape | None = None


_EXAMPLE: Final = {
    "tenant": {"minute": 1000},
    "channels": {"email": {"day": 50000}},
    "recipient": {"day": 20},
    "marketing_cap": {"max": 3, "per": "7d"},
}


@endpoint(
    "GET",
    "/v1/settings/limits",
    Permission.SETTINGS_READ,
    summary="Read the limits",
    answer=LimitsShape,
    answer_example=_EXAMPLE,
)
async def get_limits(call: Call[NoBody, NoQuery]) -> LimitsShape:
    """Rate limits and the cap on marketing."""
    return _shown(await call.app.limits.get(call.tx, call.scope))


@endpoint(
    "PUT",
    "/v1/settings/limits",
    Permission.SETTINGS_WRITE,
    summary="Set the limits",
    body=LimitsShape,
    answer=LimitsShape,
    audited=True,
    refusals={422: ["invalid_duration"]},
    body_example=_EXAMPLE,
    answer_example=_EXAMPLE,
)
async def put_limits(call: Call[LimitsShape, NoQuery]) -> LimitsShape:
    """All of them: what is left out has no limit. In force at once, also for what is queued already."""
    return _shown(await call.app.limits.put(call.tx, call.scope, _limits_of(call.body)))


def _limits_of(body: LimitsShape) -> Limits:
    cap = None
    if body.marketing_cap is not None:
        per = read_duration(body.marketing_cap.per)
        if per is None:
            raise refuse("/marketing_cap/per", "invalid_duration", "Write a duration such as `7d`, `12h` or `90m`.")
        cap = Cap(max=body.marketing_cap.max, seconds=round(per.elapsed.total_seconds()))
    rates = {word: _rate(shape) for word, shape in (body.channels or {}).items()}
    return Limits(
        tenant=_rate(body.tenant),
        channels={word: rate for word, rate in rates.items() if rate != Rate()},
        recipient=_rate(body.recipient),
        marketing_cap=cap,
    )


def _rate(shape: RateShape | None) -> Rate:
    return Rate(minute=shape.minute, day=shape.day) if shape else Rate()


def _shown(limits: Limits) -> LimitsShape:
    cap = limits.marketing_cap
    channels = {word: RateShape(minute=rate.minute, day=rate.day) for word, rate in limits.channels.items()}
    return LimitsShape(
        tenant=_shape(limits.tenant),
        channels=cast("dict[ChannelWord, RateShape]", channels) or None,
        recipient=_shape(limits.recipient),
        marketing_cap=CapShape(max=cap.max, per=str(_duration(cap.seconds))) if cap else None,
    )


def _shape(rate: Rate) -> RateShape | None:
    return None if rate == Rate() else RateShape(minute=rate.minute, day=rate.day)


def _duration(seconds: int) -> Duration:
    days, rest = divmod(seconds, 86_400)
    return Duration(days=days, seconds=rest)


ENDPOINTS: Final[tuple[Endpoint, ...]] = (get_limits, put_limits)
