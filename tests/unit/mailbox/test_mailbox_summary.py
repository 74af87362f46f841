"""Summaries are read from any head, quickly and without harm."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.render.mail_headers import text_header
from waypost.mailbox.model import Letter
from waypost.mailbox.summary import subject_of, summary_of


@given(st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=300))
def test_our_own_subjects_are_read_back(subject: str) -> None:
    message = (text_header("Subject", subject) + "To: a@example.com\r\n\r\nSubject: not this\r\n").encode()
    assert subject_of(message) == subject


@given(st.binary(max_size=400))
def test_any_bytes_give_something_showable(data: bytes) -> None:
    for message in (data, b"Subject: " + data, b"Subject: =?" + data + b"?=\r\n\r\n"):
        summary = summary_of(Letter(recipients=("a@example.com", "b@example.com"), data=message))
        assert summary.to == "a@example.com, b@example.com"
        assert summary.subject == "" or summary.subject.isprintable()
        assert len(summary.subject) <= 1000
        summary.subject.encode()


@pytest.mark.timeout(5)
@pytest.mark.parametrize(
    "head",
    [
        b"Subject: " + b"=?utf-8?q?a?= " * 20_000,
        b"Subject: " + b"x" * 25_000_000,
        b"A: b\r\n" * 1_000_000,
        b"Subject:" + b"\r\n " * 100_000,
        b"=?" * 100_000,
    ],
)
def test_hostile_heads_are_bounded(head: bytes) -> None:
    assert len(subject_of(head + b"\r\n\r\nbody")) <= 8 * 1024


def test_a_message_without_a_subject_has_an_empty_one() -> None:
    assert subject_of(b"To: a@example.com\r\n\r\nSubject: in the body\r\n") == ""
