"""The id of a message, and which headers a caller may add."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.channels.rules import check_headers, message_id_of


def codes(*headers: tuple[str, str]) -> list[tuple[str, str]]:
    return [(error.pointer, error.code) for error in check_headers(headers, pointer="/headers")]


def test_the_message_id_is_the_notification_s_and_never_changes() -> None:
    notification_id = UUID("019bf000-0000-7000-8000-000000000001")
    first = message_id_of(notification_id, "mail.example.com")
    assert first == message_id_of(notification_id, "mail.example.com")
    left, _, domain = first.partition("@")
    assert (len(left), left.lower(), domain) == (26, left, "mail.example.com")


def test_ordinary_headers_pass() -> None:
    assert (
        codes(("X-Order", "7"), ("List-Unsubscribe", "<https://example.com/u>"), ("X-Ünicode"[:2] + "a", "é ✓")) == []
    )
    assert codes(*((f"X-{number}", "v") for number in range(30))) == []
    assert codes(("X-" + "a" * 74, "v " * 999 + "v")) == []


@pytest.mark.parametrize(
    "name",
    [
        "From",
        "TO",
        "subject",
        "Date",
        "Message-ID",
        "MIME-Version",
        "Content-Type",
        "content-anything",
        "Bcc",
        "Cc",
        "Reply-To",
        "Sender",
        "Received",
        "Return-Path",
        "DKIM-Signature",
        "ARC-Seal",
        "Resent-To",
        "Auto-Submitted",
    ],
)
def test_what_waypost_or_the_way_writes_is_reserved(name: str) -> None:
    assert codes((name, "x")) == [(f"/headers/{name}", "header_reserved")]


@pytest.mark.parametrize("name", ["", ".X", "X Y", "X:Y", "Ü", "X\r\nBcc", "x" * 77, "X\x00"])
def test_names_are_tokens(name: str) -> None:
    assert [code for _, code in codes((name, "x"))] == ["header_refused"]


@pytest.mark.parametrize(
    "mark", ["\r", "\n", "\x00", "\x0b", "\x0c", "\x1b", "\x7f", "\x85", "\u2028", "\u2029", "\ud800"]
)
@given(before=st.text(max_size=5), after=st.text(max_size=5))
def test_no_value_can_end_a_line(mark: str, before: str, after: str) -> None:
    assert codes(("X-A", before + mark + after + "x")) == [("/headers/X-A", "header_refused")]


@pytest.mark.parametrize(
    ("value", "code"),
    [("", "header_refused"), ("  ", "header_refused"), ("a " * 1001, "too_long"), ("a" * 901, "too_long")],
)
def test_values_are_bounded(value: str, code: str) -> None:
    assert codes(("X-A", value)) == [("/headers/X-A", code)]


def test_a_header_may_be_given_once_and_thirty_in_all() -> None:
    assert codes(("X-A", "1"), ("x-a", "2")) == [("/headers/x-a", "duplicate")]
    assert codes(*((f"X-{number}", "v") for number in range(31))) == [("/headers", "too_many")]


def test_pointers_are_escaped_and_messages_hold_no_values() -> None:
    (error,) = check_headers([("X/~A", "secret\r\nBcc: jane@example.com")], pointer="/headers")
    assert error.pointer == "/headers/X~1~0A"
    assert "jane" not in error.message
    assert "secret" not in error.message
