"""Servers that put off, storm, or say more than they were asked: what becomes of messages, sessions and connections."""

import asyncio

import pytest

from waypost.channels.model import OutcomeKind, OutcomeReason

ACCEPTED, DEFERRED, UNREACHABLE = OutcomeKind.ACCEPTED, OutcomeKind.DEFERRED, OutcomeKind.UNREACHABLE
AUTHENTICATION, TLS, CONNECTION = OutcomeReason.AUTHENTICATION, OutcomeReason.TLS, OutcomeReason.CONNECTION


async def test_greylisting_puts_off_and_the_second_time_is_good(peer, sender_to, mail, noted) -> None:
    known = set[str]()

    def greylist(line: str) -> bytes:
        if line in known:
            return b"250 ok\r\n"
        known.add(line)
        return b"451 4.7.1 Greylisted, try again in 60 seconds\r\n"

    peer.replies["RCPT"] = greylist
    sender = sender_to(peer.port, connections=2)
    first = await sender.send([mail(number) for number in range(10)], noted())
    assert {(one.kind, one.reason, one.retry_after) for one in first} == {(DEFERRED, OutcomeReason.SLOW_DOWN, 60)}
    second = await sender.send([mail(number) for number in range(10)], noted())
    assert {one.kind for one in second} == {ACCEPTED}


@pytest.mark.parametrize("verb", ["MAIL", "RCPT"])
async def test_a_storm_of_421_is_not_answered_with_a_storm_of_connections(
    peer, sender_to, wire, mail, verb: str
) -> None:
    peer.replies[verb] = b"421 4.7.0 too many connections\r\n"
    outcomes = await sender_to(peer.port, connections=2).send([mail(number) for number in range(200)], wire)
    assert {(one.kind, one.reason) for one in outcomes} == {(DEFERRED, OutcomeReason.SLOW_DOWN)}
    assert peer.connections < 10
    assert wire.went == set()


@pytest.mark.parametrize("verb", ["greeting", "EHLO"])
async def test_more_replies_than_questions_end_the_session(peer, sender_to, wire, mail, verb: str) -> None:
    usual = b"220 hello\r\n" if verb == "greeting" else b"250-x\r\n250 PIPELINING\r\n"
    peer.replies[verb] = usual + b"250 and more\r\n"
    (outcome,) = await sender_to(peer.port).send([mail()], wire)
    assert (outcome.kind, outcome.reason) == (UNREACHABLE, OutcomeReason.PROTOCOL)
    assert peer.messages == []


async def test_what_is_listened_to_for_one_message_has_an_end(peer, sender_to, wire, mail) -> None:
    peer.replies["RCPT"] = (b"250-" + b"x" * 5_000 + b"\r\n") * 12 + b"250 ok\r\n"
    few, many = mail(1, to=("a@b.c",)), mail(2, to=tuple(f"a{number}@b.c" for number in range(5)))
    outcomes = await sender_to(peer.port, connections=1).send([few, many], wire)
    assert [outcome.kind for outcome in outcomes] == [ACCEPTED, UNREACHABLE]
    assert outcomes[1].reason is OutcomeReason.PROTOCOL


async def test_an_operators_server_may_ask_for_encryption_in_the_middle(peer, sender_to, wire, mail) -> None:
    """`530` to MAIL is about how we came in: the message waits and is not failed."""
    peer.replies["MAIL"] = b"530 5.7.0 Must issue a STARTTLS command first\r\n"
    (outcome,) = await sender_to(peer.port).send([mail()], wire)
    assert (outcome.kind, outcome.reason) == (UNREACHABLE, AUTHENTICATION)


async def test_headers_beyond_ascii_need_a_server_that_takes_them(peer, sender_to, noted, mail) -> None:
    email = type(mail())("x@y.z", ("jane@example.com",), "Subject: é\r\n\r\nHello\r\n".encode())
    peer.features = ("8BITMIME",)
    (outcome,) = await sender_to(peer.port).send([email], noted())
    assert outcome.kind is OutcomeKind.REJECTED
    peer.features = ("8BITMIME", "SMTPUTF8")
    (outcome,) = await sender_to(peer.port).send([email], noted())
    assert outcome.kind is ACCEPTED
    assert "MAIL FROM:<x@y.z> BODY=8BITMIME SMTPUTF8" in peer.commands


async def test_closing_while_a_session_is_being_opened(peer, sender_to, mail, wire) -> None:
    peer.replies["greeting"] = b"<silence>"
    sender = sender_to(peer.port)
    sending = asyncio.create_task(sender.send([mail()], wire))
    await peer.fell_silent.wait()
    await sender.close()
    assert (await sending)[0].kind is UNREACHABLE
