"""Pure decisions about deliveries: what an answer means, when to try again, how fast, and when to stop."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

from waypost.kernel.address import mask_within
from waypost.kernel.backoff import Random, delay
from waypost.outbox.webhook_model import Answer, DeliveryState, Lane

PATIENCE: Final = timedelta(days=3)
"""How long an event is tried, and how long an endpoint may fail before it is disabled."""
RETRY_STEPS: Final = (
    timedelta(seconds=10),
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=6),
    timedelta(hours=12),
)
FULL_PACE: Final = 64
_PROBE_STEPS: Final = (timedelta(seconds=10), timedelta(seconds=30), timedelta(minutes=2), timedelta(minutes=5))
_FAILURES_TO_PROBE: Final = 5
_RAMP: Final = timedelta(seconds=1)
_LONGEST_ASKED: Final = timedelta(hours=6)
_MOST_SHOWN: Final = 500


def is_success(answer: Answer) -> bool:
    return answer.status is not None and 200 <= answer.status < 300


def is_gone(answer: Answer) -> bool:
    return answer.status == 410


def asked_wait(answer: Answer, now: datetime) -> timedelta | None:
    """What 429 and 503 say in Retry-After, within reason."""
    if answer.status not in (429, 503) or not answer.retry_after:
        return None
    said = answer.retry_after.strip()
    if said.isascii() and said.isdigit() and len(said) < 9:
        wait = timedelta(seconds=int(said))
    else:
        try:
            moment = parsedate_to_datetime(said)
        except (TypeError, ValueError):
            return None
        wait = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now
    return min(max(wait, timedelta(0)), _LONGEST_ASKED)


def after_attempt(
    answer: Answer, *, tries: int, now: datetime, give_up_at: datetime, random: Random
) -> tuple[DeliveryState, datetime]:
    """What becomes of a delivery after so many tries (from 1 on). The last try is made when its time ends."""
    if is_success(answer):
        return DeliveryState.DELIVERED, now
    if now >= give_up_at:
        return DeliveryState.FAILED, now
    wait = max(delay(tries, random, RETRY_STEPS), asked_wait(answer, now) or timedelta(0))
    return DeliveryState.WAITING, min(now + wait, give_up_at)


def lane_after(lane: Lane, answers: Sequence[Answer], now: datetime, random: Random) -> Lane:
    """An endpoint that fails is only probed; one that is back is sent 1, 2, 4, … a second until it is at full pace."""
    waits = [wait for answer in answers if (wait := asked_wait(answer, now)) is not None]
    asked = now + max(waits) if waits else now
    if not answers:
        return lane
    if any(is_success(answer) for answer in answers):
        pace = min(lane.pace * 2, FULL_PACE)
        return Lane(pace=pace, failures=0, not_before=max(asked, now + _RAMP if pace < FULL_PACE else now))
    failures = lane.failures + len(answers)
    if failures < _FAILURES_TO_PROBE:
        return Lane(pace=max(lane.pace // 2, 1), failures=failures, not_before=max(asked, now + _RAMP))
    wait = delay(failures - _FAILURES_TO_PROBE + 1, random, _PROBE_STEPS)
    return Lane(pace=1, failures=failures, not_before=max(asked, now + wait))


def must_disable(failing_since: datetime | None, now: datetime) -> bool:
    return failing_since is not None and now - failing_since >= PATIENCE


def shown(body: bytes) -> str:
    """The head of a foreign answer, fit to be kept and shown: one line, printable, without anybody's address."""
    text = body[: 4 * _MOST_SHOWN].decode("utf-8", "replace")
    words = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    return mask_within(words)[:_MOST_SHOWN]
