"""Locale tags: one spelling, unknown ones refused."""

import pytest

from waypost.kernel.locale_tag import less_exact, reads_from_right, spell_locale


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("EN", "en"),
        ("de-at", "de-AT"),
        ("zh-hant-tw", "zh-Hant-TW"),
        ("es-419", "es-419"),
        ("de-1996", "de-1996"),
        ("xx", None),
        ("en-ZZ", None),
        ("en_US", None),
        ("english", None),
        ("", None),
        ("en-", None),
        ("en\n", None),
    ],
)
def test_a_tag_has_one_spelling_or_is_none(written: str, spelled: str | None) -> None:
    assert spell_locale(written) == spelled
    assert spelled is None or spell_locale(spelled) == spelled


def test_a_tag_is_a_case_of_shorter_ones() -> None:
    assert list(less_exact("zh-Hant-TW")) == ["zh-Hant-TW", "zh-Hant", "zh"]
    assert list(less_exact("")) == []


def test_who_reads_from_the_right() -> None:
    assert [tag for tag in ("ar-EG", "he", "fa", "az-Arab", "de", "ar-Latn", "en-GB") if reads_from_right(tag)] == [
        "ar-EG",
        "he",
        "fa",
        "az-Arab",
    ]
