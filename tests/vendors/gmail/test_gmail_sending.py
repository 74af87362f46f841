"""Through Gmail's API: tokens are signed for and kept, messages arrive as written, every answer has its meaning."""

import asyncio
import email
import email.policy
from datetime import UTC, datetime

import pytest
from tests.web_peer import Reply

from waypost.adapters.vendors.gmail.outcomes import TABLE, Row, asked_pause, outcome_of, token_refused
from waypost.channels.model import OutcomeKind, OutcomeReason
from waypost.channels.ports import Withdrawn
from waypost.outbox.webhook_model import Answer, CallFault

ACCEPTED, DEFERRED, REJECTED = OutcomeKind.ACCEPTED, OutcomeKind.DEFERRED, OutcomeKind.REJECTED
UNREACHABLE, IN_DOUBT = OutcomeKind.UNREACHABLE, OutcomeKind.IN_DOUBT
AUTHENTICATION, SLOW_DOWN = OutcomeReason.AUTHENTICATION, OutcomeReason.SLOW_DOWN
NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


def refused(status: int, reason: str = "x", message: str = "No.", **headers: str) -> Reply:
    body = f'{{"error":{{"code":{status},"message":"{message}","errors":[{{"reason":"{reason}"}}]}}}}'
    return Reply(status=status, body=body.encode(), headers=headers)


async def test_messages_arrive_as_they_were_written_under_one_token(google, gmail, wire, letter) -> None:
    outcomes = await gmail.send([letter(number) for number in range(20)], wire)
    assert {outcome.kind for outcome in outcomes} == {ACCEPTED}
    assert len({outcome.reference for outcome in outcomes}) == 20
    assert sorted(wire.went) == list(range(20))
    assert sorted(google.messages) == sorted(letter(number).data for number in range(20))
    assert len(google.tokens) == 1
    assert google.peer.most_open <= 3


async def test_a_token_is_kept_until_shortly_before_its_end(google, gmail, noted, letter) -> None:
    for seconds, tokens in ((0, 1), (3400, 1), (100, 2), (10, 2)):
        await google.clock.advance(seconds)
        (outcome,) = await gmail.send([letter()], noted())
        assert (outcome.kind, len(google.tokens)) == (ACCEPTED, tokens)


async def test_a_token_that_was_taken_back_is_replaced_once(google, gmail, noted, letter) -> None:
    await gmail.send([letter()], noted())
    google.revoked.update(google.tokens)
    (outcome,) = await gmail.send([letter()], noted())
    assert (outcome.kind, len(google.tokens), len(google.messages)) == (ACCEPTED, 2, 2)
    google.revoked.update(google.tokens)
    google.revoked.add("ya29.token-2")
    (outcome,) = await gmail.send([letter()], noted())
    assert (outcome.kind, outcome.reason) == (UNREACHABLE, AUTHENTICATION)


@pytest.mark.parametrize(
    ("change", "reason"),
    [({"scope": "https://mail.google.com/"}, AUTHENTICATION), ({"token_answers": [None]}, OutcomeReason.TIMEOUT)],
)
async def test_without_a_token_nothing_leaves(google, sender_with_patience, wire, letter, change, reason) -> None:
    for name, value in change.items():
        setattr(google, name, value)
    sender = sender_with_patience(30)
    if reason is OutcomeReason.TIMEOUT:
        sender._tokens._caller._timeout = 0.05
    outcomes = await sender.send([letter(), letter()], wire)
    assert {(outcome.kind, outcome.reason) for outcome in outcomes} == {(UNREACHABLE, reason)}
    assert wire.went == []
    if reason is AUTHENTICATION:
        assert [asked.path for asked in google.peer.asked] == ["/token"], "a refusal is not asked for again at once"
        await google.clock.advance(60)
        google.scope = "https://www.googleapis.com/auth/gmail.send"
        (outcome,) = await sender.send([letter()], type(wire)())
        assert outcome.kind is ACCEPTED


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.status}-{row.said or 'other'}")
async def test_every_answer_has_its_meaning(google, gmail, wire, letter, row: Row) -> None:
    answer = refused(row.status, row.said or "surprise")
    google.answers += [answer, answer]
    (outcome,) = await gmail.send([letter()], wire)
    assert (outcome.kind, outcome.reason, outcome.code) == (row.kind, row.reason, row.status)
    assert outcome.retry_after == row.pause
    assert outcome.reply is not None
    assert "No." in outcome.reply


async def test_a_vendor_that_asks_for_time_gets_it(google, gmail, noted, letter) -> None:
    for answer, seconds in (
        (refused(429, "rateLimitExceeded", **{"Retry-After": "77"}), 77),
        (refused(429, "rateLimitExceeded", **{"Retry-After": "Thu, 15 Jan 2026 12:05:00 GMT"}), 300),
        (refused(429, "rateLimitExceeded", "User-rate limit exceeded.  Retry after 2026-01-15T13:00:00.000Z"), 3600),
        (refused(503, "backendError", **{"Retry-After": "nonsense"}), None),
    ):
        google.answers.append(answer)
        (outcome,) = await gmail.send([letter()], noted())
        assert (outcome.kind, outcome.reason, outcome.retry_after) == (DEFERRED, SLOW_DOWN, seconds)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("5", 5.0),
        ("0", 1.0),
        ("999999999999", 86_400.0),
        ("-5", None),
        ("", None),
        ("Thu, 15 Jan 2026 12:00:30 GMT", 30.0),
    ],
)
def test_pauses_are_read_within_reason(header: str, seconds: float | None) -> None:
    assert asked_pause(header, "", NOW) == seconds


async def test_an_address_that_cannot_be_is_not_the_contents_fault(google, gmail, wire, letter) -> None:
    google.answers.append(refused(400, "invalidArgument", "Invalid To header"))
    (outcome,) = await gmail.send([letter()], wire)
    assert (outcome.kind, outcome.reason, outcome.hard_bounce) == (REJECTED, OutcomeReason.ADDRESS_INVALID, False)


async def test_silence_after_the_upload_is_doubt(google, sender_with_patience, wire, letter) -> None:
    google.answers.append(None)
    (outcome,) = await sender_with_patience(0.5).send([letter()], wire)
    assert outcome.kind in (IN_DOUBT, UNREACHABLE)
    uploaded = any(asked.path != "/token" for asked in google.peer.asked)
    assert (outcome.kind is IN_DOUBT) >= uploaded
    assert wire.went == [0]


def test_what_no_answer_means() -> None:
    for fault in CallFault:
        for sent in (True, False):
            outcome = outcome_of(Answer(status=None, fault=fault, sent=sent), NOW)
            assert outcome.kind is (IN_DOUBT if sent else UNREACHABLE)
            assert token_refused(Answer(status=None, fault=fault, sent=sent)).kind is UNREACHABLE


async def test_a_line_that_breaks_after_the_upload_is_doubt(google, gmail, wire, letter) -> None:
    google.answers.append(b"nothing that HTTP knows\r\n\r\n")
    (outcome,) = await gmail.send([letter()], wire)
    assert (outcome.kind, outcome.reason) == (IN_DOUBT, OutcomeReason.CONNECTION)


@pytest.mark.parametrize(
    "body", [b"", b"\xff\x00", b"[]", b'{"error": 7}', b'{"error": {"errors": [], "message": "\\u0000\\u001b[31m"}}']
)
async def test_words_are_cleaned_and_nonsense_is_survived(google, gmail, noted, letter, body: bytes) -> None:
    google.answers += [Reply(status=403, body=body), Reply(status=200, body=body)]
    refusal, taken = [(await gmail.send([letter()], noted()))[0] for _ in range(2)]
    assert (refusal.kind, refusal.reason) == (UNREACHABLE, AUTHENTICATION)
    assert (refusal.reply or "").isprintable()
    assert (taken.kind, taken.reference) == (ACCEPTED, None)


async def test_copies_that_no_header_names_become_bcc(google, gmail, wire, letter) -> None:
    message = letter(1, to=("jane@example.com", "JANE@example.com", "hidden@example.org"))
    (outcome,) = await gmail.send([message], wire)
    assert outcome.kind is ACCEPTED
    read = email.message_from_bytes(google.messages[0], policy=email.policy.default)
    assert (read["to"], read["bcc"]) == ("jane@example.com", "hidden@example.org")


async def test_what_is_withdrawn_does_not_go_and_takes_its_call_with_it(google, gmail, noted, letter) -> None:
    class Lapsing(noted):
        def going(self, index: int) -> None:
            if len(self.went) == 2:
                raise Withdrawn
            super().going(index)

    wire = Lapsing()
    outcomes = await gmail.send([letter(number) for number in range(12)], wire)
    assert [outcome.kind for outcome in outcomes].count(ACCEPTED) == len(google.messages) == 2
    assert set(wire.outcomes) == set(range(12))


async def test_a_closed_sender_sends_nothing(google, gmail, wire, letter) -> None:
    await gmail.close()
    (outcome,) = await gmail.send([letter()], wire)
    assert (outcome.kind, google.messages) == (UNREACHABLE, [])


async def test_a_message_that_gmail_cannot_take_is_not_offered(google, gmail, wire, letter) -> None:
    large = letter()
    large = type(large)(large.envelope_from, large.envelope_to, large.data + b"x" * (36 * 1024 * 1024))
    (outcome,) = await gmail.send([large], wire)
    assert (outcome.kind, outcome.reason, wire.went) == (REJECTED, OutcomeReason.MESSAGE_TOO_LARGE, [])


async def test_cancelling_leaves_nobody_behind(google, gmail, noted, letter) -> None:
    on_the_wire = asyncio.Event()

    class Watched(noted):
        def going(self, index: int) -> None:
            super().going(index)
            if len(self.went) == 3:
                on_the_wire.set()

    wire = Watched()
    google.answers += [None] * 3
    sending = asyncio.create_task(gmail.send([letter(number) for number in range(6)], wire))
    await on_the_wire.wait()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert google.messages == []
    assert len(wire.went) == 3
