"""Dates, money, numbers and plurals, as the recipient's language writes them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.adapters.render.speech import FILTERS, Speech, Unsuitable

SPEECH = Speech()
SAY = SPEECH.filters()
EVENING = "2026-11-15T23:30:00Z"
VIENNA = ("de-AT", "Europe/Vienna", "de")
NEW_YORK = ("en-US", "America/New_York", "en")
TAIPEI = ("zh-TW", "Asia/Taipei", "zh-Hant")
CAIRO = ("ar-EG", "Africa/Cairo", "ar")
NOBODY = (None, None, None)


def say(who: tuple[str | None, str | None, str | None], name: str, *words: object, **named: object) -> object:
    SPEECH.turn_to(*who)
    said = SAY[name](*words, **named)
    # The spaces of CLDR do not break lines; here they are only in the way.
    return said.replace("\xa0", " ").replace("\u202f", " ") if isinstance(said, str) else said


@pytest.mark.parametrize(
    ("who", "name", "words", "expected"),
    [
        (VIENNA, "date", (EVENING,), "16.11.2026"),
        (VIENNA, "date", (EVENING, "long"), "16. November 2026"),
        (VIENNA, "date", ("2026-11-15", "full"), "Sonntag, 15. November 2026"),
        (VIENNA, "time", (EVENING,), "00:30"),
        (VIENNA, "time", ("18:30",), "18:30"),
        (VIENNA, "datetime", (EVENING, "d. MMMM HH:mm"), "16. November 00:30"),
        (VIENNA, "money", (1234.5, "EUR"), "€ 1.234,50"),
        (VIENNA, "money", ("1234.5", "eur"), "€ 1.234,50"),
        (VIENNA, "money", (1_999_000_000, "USD", "micros"), "$ 1.999,00"),
        (VIENNA, "money", ({"micros": 1_999_000_000, "currency": "EUR"},), "€ 1.999,00"),
        (VIENNA, "money", ({"amount": 5, "currency": "EUR"},), "€ 5,00"),
        (VIENNA, "money", (1999, "JPY", "minor"), "¥ 1.999"),
        (VIENNA, "money", (1999, "EUR", "minor"), "€ 19,99"),
        (VIENNA, "number", (1234567.891,), "1.234.567,891"),
        (VIENNA, "number", (1234567.891, 1), "1.234.567,9"),
        (VIENNA, "percent", (0.256, 1), "25,6 %"),
        (VIENNA, "plural", (1, "# Tag", "# Tage"), "1 Tag"),
        (VIENNA, "plural", (1500, "# Tag", "# Tage"), "1.500 Tage"),
        (VIENNA, "listed", (["a", "b", "c"],), "a, b und c"),
        (VIENNA, "listed", (["a", "b"], "or"), "a oder b"),
        (VIENNA, "relative", ("2026-11-18", "2026-11-15"), "in 3 Tagen"),
        (NEW_YORK, "date", (EVENING,), "Nov 15, 2026"),
        (NEW_YORK, "time", (EVENING,), "6:30 PM"),
        (NEW_YORK, "date", (1763200000, "%d.%m.%Y at %-H o'clock"), "15.11.2025 at 4 o'clock"),
        (NEW_YORK, "date", (1763200000000, "%B %-d, %Y"), "November 15, 2025"),
        (NEW_YORK, "money", (1234.5, "EUR"), "€1,234.50"),
        (TAIPEI, "date", (EVENING,), "2026年11月16日"),
        (CAIRO, "plural", (5, "x", "other"), "other"),
        (NOBODY, "date", (EVENING,), "Nov 15, 2026"),
        (NOBODY, "time", (EVENING,), "11:30 PM"),
    ],
)
def test_a_filter_speaks_the_recipients_language(
    who: tuple[str | None, str | None, str | None], name: str, words: tuple[object, ...], expected: str
) -> None:
    assert say(who, name, *words) == expected


def test_plural_forms_are_those_of_the_language_that_the_text_is_written_in() -> None:
    forms = {"one": "# plik", "few": "# pliki", "many": "# plików", "other": "# pliku"}
    german_reader = ("de", None, "pl")
    assert [say(german_reader, "plural", n, **forms) for n in (1, 2, 5, 22)] == [
        "1 plik",
        "2 pliki",
        "5 plików",
        "22 pliki",
    ]


def test_a_template_may_name_another_language_or_zone() -> None:
    assert say(VIENNA, "date", "2026-11-15", "long", locale="fr") == "15 novembre 2026"
    assert say(VIENNA, "time", EVENING, zone="Asia/Tokyo") == "08:30"


@pytest.mark.parametrize("locale", ["xx", "xx-YY", "tlh", "", "de_AT", "a" * 500, "en-u-nu-thai", "zh-Hant-TW-x"])
@pytest.mark.parametrize("zone", ["America", "Mars/Base", "../../etc/passwd", "", "a" * 5000, "UTC\0", "posixrules"])
def test_an_unknown_locale_or_zone_falls_back(locale: str, zone: str) -> None:
    for name, words in (("datetime", (EVENING,)), ("money", (1, "EUR")), ("plural", (1, "a", "b"))):
        assert say((locale, zone, None), name, *words)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("date", ("secret@example.com",)),
        ("date", (True,)),
        ("date", ([],)),
        ("date", ("2026-13-45",)),
        ("date", (10**30,)),
        ("date", ("2026-11-15", "q" * 99)),
        ("date", ("2026-11-15", "y" * 101)),
        ("date", ("2026-11-15", "%Q")),
        ("date", ("2026-11-15", 7)),
        ("date", ("now",)),
        ("date", ("today",)),
        ("relative", ("2026-11-15",)),
        ("money", (1,)),
        ("money", (1, "EURO")),
        ("money", (1, "EUR", "cows")),
        ("money", ("secret@example.com", "EUR")),
        ("money", ({"currency": "EUR"},)),
        ("number", ("1e999999",)),
        ("number", ("-1e-999999",)),
        ("number", ("NaN",)),
        ("number", (float("inf"),)),
        ("number", (1, 1000)),
        ("number", ("1" * 100,)),
        ("percent", (1, -1)),
        ("plural", (1,)),
        ("plural", (1, 2, 3)),
        ("listed", ("secret@example.com",)),
        ("listed", (["a"], "xor")),
        ("number", (1, 2, 3, 4)),
    ],
)
def test_what_cannot_be_said_is_refused_without_repeating_it(name: str, words: tuple[object, ...]) -> None:
    with pytest.raises(Unsuitable) as refused:
        say(VIENNA, name, *words)
    assert "secret" not in refused.value.text
    assert not refused.value.is_missing


def test_a_missing_value_is_told_apart() -> None:
    for name in FILTERS:
        with pytest.raises(Unsuitable) as refused:
            say(VIENNA, name, None)
        assert refused.value.is_missing


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.sampled_from(FILTERS),
    plain,
    st.lists(plain, max_size=2),
    st.sampled_from(["de-AT", "ar", "hi-IN", "ja", "sw-KE", "en", "fa-IR", "th"]),
    st.sampled_from(["Europe/Vienna", "Pacific/Kiritimati", "America/St_Johns", "Asia/Kolkata"]),
)
@settings(max_examples=400, deadline=None)
def test_any_value_is_said_or_refused(name: str, value: object, words: list[object], locale: str, zone: str) -> None:
    try:
        said = say((locale, zone, None), name, value, *words)
    except Unsuitable:
        return
    assert isinstance(said, str)
    assert len(said) < 10_000


@given(st.datetimes(), st.sampled_from(["de", "en", "ja", "ar-EG"]))
@settings(max_examples=200, deadline=None)
def test_every_date_can_be_written(moment: object, locale: str) -> None:
    text = moment.isoformat()  # type: ignore[attr-defined]
    for name in ("date", "time", "datetime"):
        assert say((locale, "America/Los_Angeles", None), name, text)
