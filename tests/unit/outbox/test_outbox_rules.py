"""Pure decisions: what an answer means, when to try again, how fast, whom to tell, in which order."""

import base64
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from waypost.kernel.errors import Refused
from waypost.outbox.catalogue import CATALOGUE
from waypost.outbox.describe import event_id
from waypost.outbox.model import OutboxKind, Told
from waypost.outbox.patterns import kinds_of, read_patterns
from waypost.outbox.ports import Held
from waypost.outbox.publish import HELD_UP, plan
from waypost.outbox.rules import FULL_PACE, PATIENCE, after_attempt, asked_wait, lane_after, must_disable, shown
from waypost.outbox.signing import headers_of, mint_secret
from waypost.outbox.webhook_model import Answer, CallFault, DeliveryState, Lane

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
OK, BAD = Answer(status=200, fault=None), Answer(status=500, fault=None)


def test_every_kind_has_a_type_with_an_example_that_is_true() -> None:
    import msgspec

    assert set(OutboxKind) == set(CATALOGUE)
    names = [entry.name for entry in CATALOGUE.values()]
    assert len(set(names)) == len(names)
    for entry in CATALOGUE.values():
        data = msgspec.convert(entry.example, entry.data, strict=False)
        assert msgspec.to_builtins(data).keys() == entry.example.keys(), entry.name
        assert entry.sentence.endswith(".")


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_success_is_any_2xx(status: int) -> None:
    state, _ = after_attempt(
        Answer(status=status, fault=None), tries=1, now=NOW, give_up_at=NOW, random=lambda: 0.5
    )  # fmt: skip
    assert state is DeliveryState.DELIVERED


@given(
    st.floats(0, 0.999),
    st.sampled_from([301, 307, 400, 401, 404, 429, 500, 503, None]),
)
def test_tries_go_on_for_three_days_and_the_last_is_at_their_end(chance: float, status: int | None) -> None:
    answer = Answer(status=status, fault=None if status else CallFault.TIMEOUT)
    now, tries, give_up_at = NOW, 1, NOW + PATIENCE
    while True:
        state, due = after_attempt(answer, tries=tries, now=now, give_up_at=give_up_at, random=lambda: chance)
        if state is DeliveryState.FAILED:
            break
        assert state is DeliveryState.WAITING
        assert now < due <= give_up_at
        now, tries = due, tries + 1
        if tries > 500:
            return
    assert now == give_up_at
    assert tries >= 8


def test_retry_after_in_seconds_or_as_a_date_within_reason() -> None:
    def asked(said: str, status: int = 429) -> timedelta | None:
        return asked_wait(Answer(status=status, fault=None, retry_after=said), NOW)

    assert asked("120") == timedelta(minutes=2)
    assert asked("Thu, 15 Jan 2026 12:10:00 GMT", 503) == timedelta(minutes=10)
    assert asked("999999999") == asked("99999999") or asked("99999999") == timedelta(hours=6)
    assert asked("Thu, 15 Jan 2025 12:10:00 GMT") == timedelta(0)
    assert asked("soon") is None
    assert asked("-5") is None
    assert asked("120", status=500) is None


def test_an_endpoint_that_fails_is_probed_and_one_that_is_back_speeds_up() -> None:
    lane = Lane(pace=FULL_PACE, failures=0, not_before=NOW)
    for _ in range(4):
        lane = lane_after(lane, [BAD, BAD], NOW, lambda: 0.9)
    assert lane.pace == 1
    assert lane.not_before > NOW + timedelta(seconds=20)
    paces: list[int] = []
    while lane.pace < FULL_PACE:
        lane = lane_after(lane, [OK], NOW, lambda: 0.5)
        paces.append(lane.pace)
        assert lane.failures == 0
        assert lane.not_before == (NOW + timedelta(seconds=1) if lane.pace < FULL_PACE else NOW)
    assert paces == [2, 4, 8, 16, 32, 64]
    assert lane_after(lane, [BAD, OK], NOW, lambda: 0.5).pace == FULL_PACE


def test_three_days_of_failure_and_not_a_moment_less() -> None:
    assert not must_disable(None, NOW)
    assert not must_disable(NOW - PATIENCE + timedelta(seconds=1), NOW)
    assert must_disable(NOW - PATIENCE, NOW)


@given(st.binary(max_size=5_000))
def test_foreign_words_are_short_and_printable(body: bytes) -> None:
    words = shown(body)
    assert len(words) <= 500
    assert words.isprintable()
    words.encode()


def test_addresses_in_foreign_words_are_masked() -> None:
    assert "jane" not in shown(b"no mailbox <jane@example.com> here")


def test_patterns() -> None:
    everything = kinds_of(["*"])
    assert OutboxKind.NOTIFICATION_DISPATCHED in everything
    assert OutboxKind.WEBHOOK_ENDPOINT_TEST not in everything
    assert kinds_of(["suppression.*"]) == {OutboxKind.SUPPRESSION_ADDED, OutboxKind.SUPPRESSION_RELEASED}
    assert kinds_of(["notification.failed"]) == {OutboxKind.NOTIFICATION_FAILED}
    assert read_patterns(["a.b", "*"][1:], "/events") == ("*",)
    for wrong in (["no.such"], ["notification"], ["noti*"], ["*.failed"], [""], ["webhook_endpoint.test"], []):
        with pytest.raises(Refused):
            read_patterns(wrong, "/events")
    with pytest.raises(Refused) as refused:
        read_patterns(["*", "no.such"], "/events")
    assert refused.value.errors[0].pointer == "/events/1"


@given(st.binary(max_size=200).map(lambda raw: base64.b64encode(raw)))
def test_signatures_are_those_of_the_standard(body: bytes) -> None:
    secrets = [mint_secret(), mint_secret()]
    headers = headers_of(secrets, "evt_1", datetime.now(UTC), body)
    for secret in secrets:
        Webhook(secret).verify(body, headers, json_parse=False)
    assert len(base64.b64decode(secrets[0].removeprefix("whsec_"))) == 32


def told(subject: UUID, after: int, kind: int = 1) -> Told:
    return Told(at=NOW + timedelta(microseconds=after), kind=kind, subject_id=subject, n=0, row=after)


def test_an_event_s_id_is_made_of_what_happened() -> None:
    event = told(uuid4(), 1)
    assert event_id("acme", event) == event_id("acme", told(event.subject_id, 1))
    others = {event_id("acme", told(event.subject_id, 2)), event_id("acme", told(event.subject_id, 1, 2)),
              event_id("globex", event), event_id("acme", told(uuid4(), 1))}  # fmt: skip
    assert len(others | {event_id("acme", event)}) == 5


def test_what_a_broker_refused_holds_up_its_own_subject_for_an_hour() -> None:
    one, other = uuid4(), uuid4()
    failed = Held(told=told(one, 1), tries=1, since=NOW, due=NOW + timedelta(minutes=5))
    first = plan([told(one, 2), told(other, 3), told(one, 4)], [failed], NOW)
    assert first.go == [(told(other, 3), False)]
    assert [held.told for held in first.wait] == [told(one, 2), told(one, 4)]
    held = [failed, *first.wait]
    later = NOW + HELD_UP
    retried = plan([], held, later)
    assert retried.go == [(told(one, 1), False)], "the one in front is tried; those behind see what comes of it"
    still = [Held(told=told(one, 1), tries=2, since=NOW, due=later + timedelta(minutes=30)), *first.wait]
    overtaking = plan([], still, later)
    assert overtaking.go == [(told(one, 2), True), (told(one, 4), True)]
    gone = plan([], [Held(told=wait.told, tries=0, since=NOW, due=NOW) for wait in first.wait], later)
    assert gone.go[0] == (told(one, 2), False)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=30))
def test_nothing_overtakes_within_an_hour(script: list[tuple[int, bool]]) -> None:
    """Whatever is new or held: of one subject only the first may go, unless nothing is held about it."""
    subjects = [UUID(int=number + 1) for number in range(4)]
    news = [told(subjects[subject], place) for place, (subject, is_held) in enumerate(script) if not is_held]
    held = [
        Held(told=told(subjects[subject], place - 100), tries=1, since=NOW, due=NOW)
        for place, (subject, is_held) in enumerate(script)
        if is_held
    ]
    made = plan(news, held, NOW)
    blocked = {one.told.subject_id for one in held}
    assert not any(overtakes for _, overtakes in made.go)
    for subject in blocked:
        going = [event for event, _ in made.go if event.subject_id == subject]
        assert going == [min((one.told for one in held if one.told.subject_id == subject), key=lambda one: one.at)]
    free = [event for event in news if event.subject_id not in blocked]
    assert [event for event, _ in made.go if event.subject_id not in blocked] == free
    assert len(made.wait) + len(free) == len(news)
