"""Whatever is done to a history of consent without the key is seen."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.vault.keyring import OpenTenantKey
from waypost.kernel.vocabulary import Channel
from waypost.preferences.consent_chain import first_fault, head_of, link
from waypost.preferences.model import Consent, ConsentHead, ConsentState, NewConsent

SIGN = OpenTenantKey(b"k" * 32).sign
ADA, BOB = UUID(int=1), UUID(int=2)
START = datetime(2026, 1, 15, 12, tzinfo=UTC)
SAID = [ConsentState.PENDING, ConsentState.GRANTED, ConsentState.WITHDRAWN, ConsentState.GRANTED]


def history(length: int = 4, who: UUID = ADA) -> tuple[list[Consent], ConsentHead | None]:
    rows: list[Consent] = []
    for place in range(length):
        new = NewConsent(
            channel=Channel.EMAIL, topic="news", state=SAID[place % 4], source="signup", text_version="2026-11"
        )
        at = START + timedelta(minutes=place)
        rows.append(link(SIGN, "acme", who, rows[-1] if rows else None, UUID(int=100 + place), new, at))
    return rows, head_of(SIGN, "acme", who, rows[-1]) if rows else None


def fault(rows: list[Consent], head: ConsentHead | None, tenant: str = "acme", who: UUID = ADA) -> int | None:
    return first_fault(SIGN, tenant, who, rows, head)


@given(st.integers(0, 8))
def test_an_untouched_history_is_whole(length: int) -> None:
    assert fault(*history(length)) is None


@given(
    st.integers(0, 3),
    st.sampled_from(
        [
            {"state": ConsentState.PENDING, "source": "forged"},
            {"topic": "offers"},
            {"topic": ""},
            {"channel": Channel.SMS},
            {"text_version": None},
            {"text_version": "2020-01"},
            {"at": START - timedelta(days=365)},
            {"id": UUID(int=7)},
            {"proof": bytes(32)},
            {"n": 9},
        ]
    ),
)
def test_a_changed_row_is_named(place: int, change: dict[str, object]) -> None:
    rows, head = history()
    rows[place] = replace(rows[place], **change)
    assert fault(rows, head) == place + 1


@given(st.integers(0, 3))
def test_a_missing_row_is_noticed(place: int) -> None:
    rows, head = history()
    del rows[place]
    assert fault(rows, head) is not None


def test_rows_that_change_places_are_noticed() -> None:
    rows, head = history()
    rows[1], rows[2] = rows[2], rows[1]
    assert fault(rows, head) == 2


def test_an_end_that_was_cut_off_is_noticed() -> None:
    rows, head = history()
    assert fault(rows[:3], head) == 4
    assert fault([], head) == 1
    assert fault(rows[:3], ConsentHead(n=3, proof=head.proof if head else b"")) == 3
    assert fault(rows, None) == 1


def test_a_history_belongs_to_one_person_and_one_tenant() -> None:
    rows, head = history()
    assert fault(rows, head, who=BOB) == 1
    assert fault(rows, head, tenant="globex") == 1


def test_without_the_key_no_row_can_be_added() -> None:
    rows, head = history()
    forger = OpenTenantKey(b"f" * 32).sign
    new = NewConsent(channel=Channel.EMAIL, topic="news", state=ConsentState.GRANTED, source="forged")
    added = link(forger, "acme", ADA, rows[-1], UUID(int=9), new, START)
    assert fault([*rows, added], head_of(forger, "acme", ADA, added)) == 5
    assert fault([*rows, added], head) == 5
