"""The first page: what went out, how it stands, how long it waited."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from waypost.console import moments
from waypost.console.chart import Chart, Series, draw
from waypost.console.visit import Page, Redirect, Shown, View, Visit, page
from waypost.delivery.model import State
from waypost.kernel.tenancy import Permission
from waypost.notifications.activity import MOST_COUNTED, Activity, Lane, Window

_WINDOWS: Final = {window.word: window for window in Window}
_NAMES: Final = {"1h": "hour", "24h": "24 hours", "7d": "7 days", "30d": "30 days"}
_STEPS: Final = {"1h": "minute", "24h": "half hour", "7d": "three hours", "30d": "twelve hours"}
_STACK: Final = (
    ("Dispatched", "good", (State.DISPATCHED, State.DELIVERED)),
    ("Waiting", "busy", (State.QUEUED, State.DISPATCHING)),
    ("Suppressed", "held", (State.SUPPRESSED,)),
    ("Failed", "bad", (State.FAILED, State.BOUNCED)),
    ("Unconfirmed", "doubt", (State.UNCONFIRMED,)),
    ("Cancelled or expired", "calm", (State.CANCELLED, State.EXPIRED)),
)


@page("GET", "/", None)
async def home(visit: Visit) -> Shown:
    scope = visit.scope
    if scope.is_platform:
        return Redirect(to="/tenants")
    if Permission.NOTIFICATIONS_READ not in scope.permissions:
        return View(template="welcome.html")
    window = _WINDOWS.get(visit.asked("window") or "", Window.HOUR)
    activity = await visit.app.notifications.activity.look(visit.tx, scope, window)
    bars = activity.bars
    totals = {label: sum(bar.states.get(state, 0) for bar in bars for state in states) for label, _, states in _STACK}
    shows = {
        "window": window.word,
        "windows": [(word, _NAMES[word]) for word in _WINDOWS],
        "window_name": _NAMES[window.word],
        "step_name": _STEPS[window.word],
        "at": activity.at,
        "accepted": sum(bar.accepted for bar in bars),
        "is_floor": any(bar.is_floor for bar in bars),
        "most_counted": MOST_COUNTED,
        "totals": totals,
        "shares": {label: _share(count, sum(bar.accepted for bar in bars)) for label, count in totals.items()},
        "charts": [_throughput(activity), _states(activity), _waits(activity)],
        "lanes": [_lane(lane, activity.at) for lane in activity.lanes if lane.due or lane.later],
        "due": sum(lane.due for lane in activity.lanes),
        "later": sum(lane.later for lane in activity.lanes),
        "oldest": _oldest(activity),
    }
    return View(template="home.html", shows=shows)


PAGES: Final[tuple[Page, ...]] = (home,)


def _share(part: int, whole: int) -> str:
    """Never rounded to all or nothing where it is neither."""
    if not part or not whole:
        return "none"
    percent = min(max(100 * part / whole, 0.1), 99.9 if part < whole else 100.0)
    return f"{percent:.1f} %" if percent < 100 else "all"


def _oldest(activity: Activity) -> str:
    dues = [lane.oldest_due for lane in activity.lanes if lane.oldest_due is not None]
    return moments.duration(max(0.0, (activity.at - min(dues)).total_seconds())) if dues else ""


def _lane(lane: Lane, now: datetime) -> dict[str, object]:
    return {
        "channel": lane.channel.word,
        "priority": lane.priority.word,
        "due": lane.due,
        "later": lane.later,
        "oldest": moments.duration((now - lane.oldest_due).total_seconds()) if lane.oldest_due else "–",
    }


def _starts(activity: Activity) -> list[str]:
    form = "%H:%M" if activity.window in (Window.HOUR, Window.DAY) else "%-d %b %H:%M"
    return [bar.start.strftime(form) for bar in activity.bars]


def _marks(activity: Activity) -> list[str]:
    """Five of the beginnings, at equal distances, and the end."""
    form = "%H:%M" if activity.window in (Window.HOUR, Window.DAY) else "%-d %b"
    first, span = activity.bars[0].start, activity.window.step * activity.window.bars
    return [(first + span * place / 4).strftime(form) for place in range(5)]


def _throughput(activity: Activity) -> Chart:
    values = [float(bar.accepted) for bar in activity.bars]
    total, busiest = int(sum(values)), int(max(values))
    step, name = _STEPS[activity.window.word], _NAMES[activity.window.word]
    return draw(
        id_="throughput",
        title="Throughput",
        says=f"{total:,} messages accepted in the last {name}; at most {busiest:,} in one {step}.",
        starts=_starts(activity),
        marks=_marks(activity),
        series=[Series(label="Accepted", tone="accent", values=values)],
        show=_count,
        kind="area",
    )


def _states(activity: Activity) -> Chart:
    series = [
        Series(
            label=label,
            tone=tone,
            values=[float(sum(bar.states.get(state, 0) for state in states)) for bar in activity.bars],
        )
        for label, tone, states in _STACK
    ]
    spoken = ", ".join(f"{int(sum(one.values)):,} {one.label.lower()}" for one in series if sum(one.values))
    return draw(
        id_="states",
        title="How they stand",
        says=f"Of those accepted in the last {_NAMES[activity.window.word]}: {spoken or 'none'}.",
        starts=_starts(activity),
        marks=_marks(activity),
        series=_without_empty(series),
        show=_count,
    )


def _waits(activity: Activity) -> Chart:
    longest = [bar.waits.longest if bar.waits else 0.0 for bar in activity.bars]
    median = [bar.waits.median if bar.waits else 0.0 for bar in activity.bars]
    return draw(
        id_="waits",
        title="Time in the queue",
        says=f"Messages waited at most {moments.duration(max(longest))} for their first attempt.",
        starts=_starts(activity),
        marks=_marks(activity),
        series=[
            Series(label="Longest", tone="soft", values=longest),
            Series(label="Median", tone="accent", values=median),
        ],
        show=moments.duration,
        kind="overlay",
    )


def _without_empty(series: Sequence[Series]) -> list[Series]:
    return [one for one in series if any(one.values)] or [series[0]]


def _count(number: float) -> str:
    return f"{number:,.0f}"
