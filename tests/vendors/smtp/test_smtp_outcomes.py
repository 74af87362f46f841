"""What servers' words mean: the table, the words without codes, and errors of the line."""

import asyncio
import inspect
import socket
import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.vendors.smtp.outcomes import ERRORS, Step, kind_of, meaning_of, reason_of, refused
from waypost.adapters.vendors.smtp.replies import Reply, ReplyReader, ReplyUnreadable, reference_in
from waypost.adapters.vendors.smtp.reply_table import TABLE, By, Meaning, Row, row_of
from waypost.channels.model import OutcomeKind
from waypost.channels.model import OutcomeReason as Why


def reply(text: str) -> Reply:
    return Reply(int(text[:3]), text.encode() + b"\r\n")


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.by.name}-{row.said[:20]}")
def test_every_row_is_found_by_its_example(row: Row) -> None:
    assert row_of(reply(row.example)) is row
    assert meaning_of(reply(row.example)) == row.meaning
    outcome = refused(reply(row.example), Step.RECIPIENT, 1)
    assert outcome.reply == row.example
    assert outcome.kind is kind_of(int(row.example[:3]), row.meaning.reason)


def test_the_table_says_what_it_must() -> None:
    """The sentences that every serious sender obeys, one by one."""
    said = {row.said: row for row in TABLE}
    assert {row.said for row in TABLE if row.meaning.hard_bounce and row.by is By.ENHANCED} == {
        "5.1.1",
        "5.1.2",
        "5.1.3",
        "5.1.10",
    }
    assert said["5.2.1"].meaning == Meaning(Why.MAILBOX_DISABLED)
    assert said["5.2.2"].meaning == said["4.2.2"].meaning == Meaning(Why.MAILBOX_FULL)
    about_us = {Why.POLICY, Why.AUTHENTICATION, Why.TLS}
    assert {row.meaning.reason for row in TABLE if row.said.startswith("5.7.")} <= about_us
    assert said["5.3.4"].meaning.reason is said["5.2.3"].meaning.reason is Why.MESSAGE_TOO_LARGE
    assert said["4.7.x"].meaning.reason is said["421"].meaning.reason is Why.SLOW_DOWN
    assert said["4.4.x"].meaning.reason is Why.CONNECTION


@pytest.mark.parametrize(
    ("text", "reason", "hard"),
    [
        ("550 5.7.1 user unknown here says our policy", Why.POLICY, False),
        ("550 5.7.26 unauthenticated", Why.POLICY, False),
        ("450 4.7.1 greylisted", Why.SLOW_DOWN, False),
        ("454 4.7.1 relay access denied for now", Why.SLOW_DOWN, False),
        ("451 4.3.0 local problem", Why.SLOW_DOWN, False),
        ("550 4.1.1 of two minds", Why.ADDRESS_UNKNOWN, False),
        ("550 2.1.1 of two minds", Why.OTHER, False),
        ("550 4.9.9 user unknown", Why.ADDRESS_UNKNOWN, False),
        # Words alone
        ("550 User unknown", Why.ADDRESS_UNKNOWN, True),
        ("550 Recipient <jane@example.com> does not exist", Why.ADDRESS_UNKNOWN, True),
        ("550 <spam@policy.example>: user unknown", Why.ADDRESS_UNKNOWN, True),
        ("550 5.5.0 user jane@hotmail.com not found", Why.ADDRESS_UNKNOWN, True),
        ("552 Message size exceeds fixed maximum", Why.MESSAGE_TOO_LARGE, False),
        ("554 Your message looks like spam, user unknown", Why.POLICY, False),
        ("550 relay not permitted", Why.POLICY, False),
        ("550 no", Why.OTHER, False),
        ("550", Why.OTHER, False),
        ("450 hm", Why.SLOW_DOWN, False),
    ],
)
def test_what_servers_say(text: str, reason: Why, hard: bool) -> None:
    assert meaning_of(reply(text)) == Meaning(reason, hard_bounce=hard)


def test_an_enhanced_code_counts_on_whichever_line_it_stands() -> None:
    said = Reply(
        550, b"550-Requested action not taken\r\n550-5.1.1 The account does not exist\r\n550 see our pages\r\n"
    )
    assert meaning_of(said) == Meaning(Why.ADDRESS_UNKNOWN, hard_bounce=True)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("451 4.7.1 Greylisted, please try again in 60 seconds", 60),
        ("450 4.2.0 Greylisted: retry in 5 minutes", 300),
        ("421 come back after 2 hours", 7200),
        ("450 try again in 300s", 300),
        ("450 try again in 99999 hours", 86_400),
        ("450 try again later", None),
        ("450 5 minutes to go", None),
        ("550 try again in 60 seconds", None),
    ],
)
def test_a_pause_that_is_asked_for_is_heard(text: str, seconds: float | None) -> None:
    assert refused(reply(text), Step.RECIPIENT, 1).retry_after == seconds


@given(
    st.integers(400, 599), st.sampled_from([2, 4, 5, None]), st.integers(0, 9), st.integers(0, 30), st.text(max_size=60)
)
def test_the_table_is_complete_and_keeps_its_promises(
    code: int, kind: int | None, subject: int, detail: int, words: str
) -> None:
    text = f"{code} {f'{kind}.{subject}.{detail} ' if kind else ''}{words}"
    said = Reply(code, text.encode("utf-8", "replace") + b"\r\n")
    for step in Step:
        outcome = refused(said, step, 1)
        assert outcome.kind is kind_of(code, outcome.reason)
        assert (outcome.kind is OutcomeKind.DEFERRED) == (code < 500)
        assert outcome.kind is not OutcomeKind.ACCEPTED
        assert outcome.reason is not None
        assert outcome.code == code
        if code < 500 or step is Step.SENDER or (kind and subject == 7) or kind in (2, 4):
            assert not outcome.hard_bounce
        if kind in (4, 5) and subject == 7 and code >= 500 and code != 556:
            assert outcome.reason in {Why.POLICY, Why.AUTHENTICATION, Why.TLS}
        assert outcome.is_about_us == (outcome.reason in {Why.POLICY, Why.AUTHENTICATION, Why.TLS})


def test_the_way_in_is_not_the_message() -> None:
    """What asks for a login or for encryption says nothing about the message: it waits."""
    for text in ("530 5.7.0 log in first", "535 5.7.8 who?", "538 encrypt", "554 5.7.10 encrypt"):
        assert refused(reply(text), Step.SENDER, 1).kind is OutcomeKind.UNREACHABLE
    assert refused(reply("550 5.7.1 no"), Step.SENDER, 1).kind is OutcomeKind.REJECTED


def test_every_reason_but_silence_has_a_row() -> None:
    assert set(Why) - {row.meaning.reason for row in TABLE} == {Why.TIMEOUT, Why.WORKER_LOST, Why.OTHER}


def test_a_refusal_after_the_content_blames_nobody_among_several() -> None:
    said = reply("550 5.1.1 unknown")
    assert refused(said, Step.CONTENT, 1).hard_bounce
    assert not refused(said, Step.CONTENT, 1, several_recipients=True).hard_bounce


@pytest.mark.parametrize("module", [asyncio, ssl, socket, asyncio.exceptions])
def test_every_error_of_the_line_has_a_reason(module: object) -> None:
    kinds = [kind for _, kind in inspect.getmembers(module, inspect.isclass) if issubclass(kind, Exception)]
    assert kinds
    for kind in kinds:
        first = next(reason for listed, reason in ERRORS if issubclass(kind, listed))
        if issubclass(kind, ssl.SSLError):
            assert first is Why.TLS
        elif issubclass(kind, TimeoutError):
            assert first is Why.TIMEOUT
        elif issubclass(kind, (OSError, EOFError)):
            assert first is Why.CONNECTION
        else:
            assert first is Why.OTHER


def test_errors_seen_in_the_wild() -> None:
    assert reason_of(ConnectionRefusedError()) is Why.CONNECTION
    assert reason_of(socket.gaierror()) is Why.CONNECTION
    assert reason_of(ssl.SSLCertVerificationError()) is Why.TLS
    assert reason_of(TimeoutError()) is Why.TIMEOUT
    assert reason_of(ReplyUnreadable()) is Why.PROTOCOL
    assert reason_of(UnicodeError("label too long")) is Why.CONNECTION
    assert reason_of(KeyboardInterrupt()) is Why.OTHER


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("250 2.0.0 Ok: queued as 4XyZ123ab", "4XyZ123ab"),
        ("250 OK id=1rABCd-0001Xy-2Z", "1rABCd-0001Xy-2Z"),
        ("250 Ok 0100018c2d6f9a3b-11e2-000000", "0100018c2d6f9a3b-11e2-000000"),
        ("250 2.0.0 Ok", None),
        ("250 Message accepted for delivery", None),
        ("250 queued as " + "x" * 500, "x" * 200),
        ("250 queued as <abc@mail.example.com>", "abc@mail.example.com"),
    ],
)
def test_references_are_found(text: str, reference: str | None) -> None:
    assert reference_in(reply(text).text) == reference


@given(st.binary(max_size=3000))
def test_any_bytes_become_words_that_can_be_stored(raw: bytes) -> None:
    said = Reply(250, b"250 " + raw + b"\r\n")
    assert len(said.text) <= 1000
    assert "\x00" not in said.text
    said.text.encode()
    assert all(character == " " or character.isprintable() or not character.isascii() for character in said.text)
    assert len(reference_in(said.text) or "") <= 200


@given(st.lists(st.integers(200, 599), min_size=1, max_size=6), st.data())
def test_replies_are_cut_the_same_however_they_arrive(codes: list[int], data: st.DataObject) -> None:
    stream, expected = b"", list[tuple[int, bytes]]()
    for code in codes:
        lines = data.draw(st.integers(0, 3))
        raw = b"".join(b"%d-line\r\n" % code for _ in range(lines)) + b"%d end\r\n" % code
        expected.append((code, raw))
        stream += raw
    reader, found = ReplyReader(), list[Reply]()
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += reader.feed(stream[:size])
        stream = stream[size:]
    assert [(each.code, each.raw) for each in found] == expected
    assert not reader.has_rest
