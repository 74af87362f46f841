"""What servers' words mean: the table, the words without codes, and errors of the line."""

import asyncio
import inspect
import socket
import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.vendors.smtp import outcomes
from waypost.adapters.vendors.smtp.outcomes import ERRORS, Meaning, Step, meaning_of, reason_of, refused
from waypost.adapters.vendors.smtp.replies import Reply, ReplyReader, ReplyUnreadable, reference_in
from waypost.channels.model import OutcomeKind
from waypost.channels.model import OutcomeReason as Why


def reply(text: str) -> Reply:
    return Reply(int(text[:3]), text.encode() + b"\r\n")


@pytest.mark.parametrize(
    ("text", "reason", "hard"),
    [
        ("550 5.1.1 <jane@example.com>: unknown", Why.ADDRESS_UNKNOWN, True),
        ("550 5.1.2 no such domain", Why.ADDRESS_UNKNOWN, True),
        ("553 5.1.3 bad syntax", Why.ADDRESS_INVALID, True),
        ("556 5.1.10 null MX", Why.ADDRESS_UNKNOWN, True),
        ("556 domain takes no mail", Why.ADDRESS_UNKNOWN, True),
        ("550 5.1.6 moved", Why.ADDRESS_UNKNOWN, False),
        ("550 5.1.8 bad sender", Why.POLICY, False),
        ("550 5.2.1 disabled", Why.MAILBOX_DISABLED, False),
        ("552 5.2.2 full", Why.MAILBOX_FULL, False),
        ("452 4.2.2 full", Why.MAILBOX_FULL, False),
        ("552 5.2.3 too long", Why.MESSAGE_TOO_LARGE, False),
        ("552 5.3.4 too big", Why.MESSAGE_TOO_LARGE, False),
        ("550 5.7.1 user unknown here says our policy", Why.POLICY, False),
        ("550 5.7.515 Access denied, sending domain does not pass", Why.POLICY, False),
        ("550 5.7.26 unauthenticated", Why.POLICY, False),
        ("535 5.7.8 bad credentials", Why.AUTHENTICATION, False),
        ("530 5.7.0 must authenticate", Why.AUTHENTICATION, False),
        ("421 4.7.28 unusual rate", Why.SLOW_DOWN, False),
        ("421 too busy", Why.SLOW_DOWN, False),
        ("450 4.7.1 greylisted", Why.SLOW_DOWN, False),
        ("451 4.3.0 local problem", Why.SLOW_DOWN, False),
        ("450 4.1.1 unverified", Why.ADDRESS_UNKNOWN, False),
        ("451 4.4.1 no answer from host", Why.CONNECTION, False),
        ("554 5.6.0 bad MIME", Why.CONTENT_REFUSED, False),
        ("501 5.5.4 bad argument", Why.PROTOCOL, False),
        # Words alone
        ("550 No such user here", Why.ADDRESS_UNKNOWN, True),
        ("550 User unknown", Why.ADDRESS_UNKNOWN, True),
        ("550 Recipient <jane@example.com> does not exist", Why.ADDRESS_UNKNOWN, True),
        ("550 Requested action not taken: mailbox unavailable", Why.ADDRESS_UNKNOWN, False),
        ("550 5.5.0 user jane@hotmail.com not found", Why.ADDRESS_UNKNOWN, True),
        ("552 Mailbox is full", Why.MAILBOX_FULL, False),
        ("552 Message size exceeds fixed maximum", Why.MESSAGE_TOO_LARGE, False),
        ("554 Your message looks like spam, user unknown", Why.POLICY, False),
        ("554 Listed at a block list", Why.POLICY, False),
        ("550 relay not permitted", Why.POLICY, False),
        ("550 account is disabled", Why.MAILBOX_DISABLED, False),
        ("554 virus found", Why.CONTENT_REFUSED, False),
        ("450 try again later", Why.SLOW_DOWN, False),
        ("550 no", Why.OTHER, False),
        ("550", Why.OTHER, False),
        ("450 hm", Why.SLOW_DOWN, False),
        ("500 what", Why.PROTOCOL, False),
        ("553 sorry", Why.ADDRESS_INVALID, False),
    ],
)
def test_what_servers_say(text: str, reason: Why, hard: bool) -> None:
    assert meaning_of(reply(text)) == Meaning(reason, hard_bounce=hard)


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
        assert outcome.kind is (OutcomeKind.DEFERRED if code < 500 else OutcomeKind.REJECTED)
        assert outcome.reason is not None
        assert outcome.code == code
        if code < 500 or step is Step.SENDER or (kind and subject == 7):
            assert not outcome.hard_bounce
        if kind and subject == 7 and code >= 500 and code != 556:
            assert outcome.reason in {Why.POLICY, Why.AUTHENTICATION, Why.TLS}


def test_every_reason_of_the_tables_can_be_reached() -> None:
    claimed = {meaning.reason for table in (outcomes._PERMANENT, outcomes._TEMPORARY) for meaning in table.values()}
    claimed |= {
        meaning.reason for table in (outcomes._BY_CODE, outcomes._BY_CODE_AT_LAST) for meaning in table.values()
    }
    claimed |= {meaning.reason for _, meaning in outcomes._BY_WORDS}
    found = set()
    for code in range(400, 600):
        found.add(meaning_of(reply(f"{code}")).reason)
        for subject in range(8):
            found |= {meaning_of(reply(f"{code} {code // 100}.{subject}.{detail} x")).reason for detail in range(13)}
    found |= {meaning_of(reply(f"550 {words}")).reason for words in ("virus", "mailbox full", "account disabled")}
    assert claimed <= found
    assert set(Why) - claimed == {Why.TIMEOUT, Why.WORKER_LOST, Why.OTHER}


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
