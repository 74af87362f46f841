"""What alerts may say, and in which words."""

from datetime import UTC, datetime
from uuid import uuid4

from hypothesis import given
from hypothesis import strategies as st

from waypost.alerts.model import Alert, AlertKind, TellingKind
from waypost.alerts.rules import harmless, headline, summary

NOW = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)


@given(st.dictionaries(st.text(), st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.lists(st.text()))))
def test_facts_never_hold_an_address_and_stay_short(facts: dict[str, object]) -> None:
    shown = harmless(facts)  # type: ignore[arg-type]
    assert len(shown) <= 20
    for name, value in shown.items():
        assert len(name) <= 60
        if isinstance(value, str):
            assert "@" not in value
            assert len(value) <= 300
            assert value.isprintable()


def test_every_kind_has_a_sentence_and_a_headline() -> None:
    for kind in AlertKind:
        alert = Alert(
            id=uuid4(), kind=kind, subject="{x}", facts={}, opened_at=NOW, seen_at=NOW, told=0, closed_at=None
        )
        assert summary(alert).endswith(".")
        assert headline(alert, TellingKind.CLOSED).startswith("Resolved: ")
