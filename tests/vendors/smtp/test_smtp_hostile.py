"""Servers that refuse, stall, vanish, babble and lie: each message gets the right outcome, and no other."""

import asyncio
import json

import pytest

from waypost.adapters.vendors.smtp.options import Timeouts
from waypost.channels.model import OutcomeKind, OutcomeReason
from waypost.kernel.clock import VirtualClock

ACCEPTED, DEFERRED, REJECTED = OutcomeKind.ACCEPTED, OutcomeKind.DEFERRED, OutcomeKind.REJECTED
UNREACHABLE, IN_DOUBT = OutcomeKind.UNREACHABLE, OutcomeKind.IN_DOUBT
CONNECTION, TIMEOUT, PROTOCOL = OutcomeReason.CONNECTION, OutcomeReason.TIMEOUT, OutcomeReason.PROTOCOL
HANG_UP, SILENCE = b"<hang up>", b"<silence>"


def what(outcome) -> tuple:
    assert outcome.reply is None or (len(outcome.reply) <= 1000 and outcome.reply.isprintable())
    json.dumps(outcome.reply).encode()
    return outcome.kind, outcome.reason


@pytest.mark.parametrize("pipelining", [True, False])
@pytest.mark.parametrize(
    ("verb", "reply", "kind", "reason"),
    [
        ("MAIL", b"550 5.7.1 sender not welcome\r\n", REJECTED, OutcomeReason.POLICY),
        ("MAIL", b"550 5.1.1 unknown user\r\n", REJECTED, OutcomeReason.POLICY),
        ("MAIL", b"451 4.3.0 later\r\n", DEFERRED, OutcomeReason.SLOW_DOWN),
        ("RCPT", b"550 5.1.1 no such user\r\n", REJECTED, OutcomeReason.ADDRESS_UNKNOWN),
        ("RCPT", b"452 4.2.2 mailbox full\r\n", DEFERRED, OutcomeReason.MAILBOX_FULL),
        ("RCPT", b"421 4.7.0 slow down\r\n", DEFERRED, OutcomeReason.SLOW_DOWN),
        ("DATA", b"554 5.7.1 no\r\n", REJECTED, OutcomeReason.POLICY),
        ("DATA", b"421 busy\r\n", DEFERRED, OutcomeReason.SLOW_DOWN),
        ("DATA", b"250 what?\r\n", UNREACHABLE, PROTOCOL),
        ("MAIL", b"354 go on\r\n", UNREACHABLE, PROTOCOL),
        ("RCPT", b"354 go on\r\n", UNREACHABLE, PROTOCOL),
        (".", b"552 5.3.4 too big\r\n", REJECTED, OutcomeReason.MESSAGE_TOO_LARGE),
        (".", b"451 4.7.1 greylisted\r\n", DEFERRED, OutcomeReason.SLOW_DOWN),
        (".", b"421 4.3.2 going down\r\n", DEFERRED, OutcomeReason.SLOW_DOWN),
        (".", b"354 more\r\n", IN_DOUBT, PROTOCOL),
        (".", HANG_UP, IN_DOUBT, CONNECTION),
        (".", SILENCE, IN_DOUBT, TIMEOUT),
        (".", b"garbage\r\n", IN_DOUBT, PROTOCOL),
        ("DATA", SILENCE, UNREACHABLE, TIMEOUT),
        ("RCPT", SILENCE, UNREACHABLE, TIMEOUT),
        ("MAIL", HANG_UP, UNREACHABLE, CONNECTION),
        ("RCPT", HANG_UP, UNREACHABLE, CONNECTION),
        ("DATA", HANG_UP, UNREACHABLE, CONNECTION),
        ("MAIL", b"\x00\xff\r\n", UNREACHABLE, PROTOCOL),
        ("greeting", b"421 4.3.2 no room\r\n", DEFERRED, OutcomeReason.SLOW_DOWN),
        ("greeting", b"554 5.7.1 blocked\r\n", UNREACHABLE, OutcomeReason.POLICY),
        ("greeting", b"250 hm\r\n", UNREACHABLE, PROTOCOL),
        ("greeting", HANG_UP, UNREACHABLE, CONNECTION),
        ("greeting", SILENCE, UNREACHABLE, TIMEOUT),
        ("greeting", b"SSH-2.0-OpenSSH\r\n", UNREACHABLE, PROTOCOL),
        ("EHLO", b"421 bye\r\n", DEFERRED, OutcomeReason.SLOW_DOWN),
        ("EHLO", HANG_UP, UNREACHABLE, CONNECTION),
    ],
)
async def test_every_answer_has_its_meaning(
    peer, sender_to, wire, mail, pipelining: bool, verb: str, reply: bytes, kind: OutcomeKind, reason: OutcomeReason
) -> None:
    if not pipelining:
        peer.features = ()
    peer.replies[verb] = reply
    clock = VirtualClock()
    sending = asyncio.create_task(sender_to(peer.port, clock=clock).send([mail()], wire))
    if reply == SILENCE:
        await peer.fell_silent.wait()
        await clock.advance(600)
    (outcome,) = await sending
    assert what(outcome) == (kind, reason)
    assert wire.outcomes == {0: outcome}
    assert wire.went == ({0} if verb == "." else set())
    assert outcome.hard_bounce == (verb == "RCPT" and reply.startswith(b"550 5.1.1"))


async def test_nobody_listens(sender_to, wire, mail) -> None:
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    outcomes = await sender_to(port).send([mail(number) for number in range(50)], wire)
    assert {what(outcome) for outcome in outcomes} == {(UNREACHABLE, CONNECTION)}


async def test_an_unknown_host_is_unreachable(wire, mail) -> None:
    from waypost.adapters.vendors.smtp.options import SmtpOptions, Tls
    from waypost.adapters.vendors.smtp.sender import SmtpSender

    sender = SmtpSender(SmtpOptions(host="nowhere.invalid", port=25, tls=Tls.OFF))
    (outcome,) = await sender.send([mail()], wire)
    assert what(outcome) == (UNREACHABLE, CONNECTION)
    await sender.close()


async def test_refusals_among_acceptances_find_their_own_messages(peer, sender_to, wire, mail) -> None:
    peer.replies["RCPT"] = lambda line: b"550 5.1.1 unknown\r\n" if "3@" in line else b"250 ok\r\n"
    peer.replies["."] = lambda data: b"552 5.3.4 big\r\n" if "7\r\n" in data[:20] else b"250 ok\r\n"
    outcomes = await sender_to(peer.port, connections=3).send([mail(number) for number in range(100)], wire)
    for number, outcome in enumerate(outcomes):
        expected = {
            3: (REJECTED, OutcomeReason.ADDRESS_UNKNOWN),
            7: (REJECTED, OutcomeReason.MESSAGE_TOO_LARGE),
        }.get(number % 10, (ACCEPTED, None))
        assert what(outcome) == expected, number
    assert peer.connections == 3


@pytest.mark.parametrize("answer", [b"354 go on anyway\r\n", b"503 5.5.1 no valid recipients\r\n", b"554 no\r\n"])
async def test_data_after_all_recipients_were_refused(peer, sender_to, wire, mail, answer: bytes) -> None:
    """Whatever the server says to DATA, nothing of the message leaves and the next message goes over the same line."""
    refusing = [True]
    peer.replies["RCPT"] = lambda line: b"550 5.1.1 unknown\r\n" if refusing[0] else b"250 ok\r\n"
    peer.replies["DATA"] = lambda line: answer if refusing[0] else b"354 go\r\n"
    peer.replies["."] = lambda data: b"554 no recipients\r\n" if data == ".\r\n" else b"250 ok\r\n"
    sender = sender_to(peer.port, connections=1)
    (first,) = await sender.send([mail(1)], wire)
    assert (first.kind, first.hard_bounce) == (REJECTED, True)
    refusing[0] = False
    (second,) = await sender.send([mail(2)], type(wire)())
    assert second.kind is ACCEPTED
    assert peer.connections == 1
    assert wire.went == set()
    assert [data for _, _, data in peer.messages] == [b"Subject: 2\r\n\r\nHello\r\n.\r\n"]


async def test_a_session_that_ends_after_each_message_costs_no_message(peer, sender_to, wire, mail) -> None:
    """421 in place of the next reply: the message it answers is deferred, the others go over new connections."""
    seen = set()

    def once(line: str) -> bytes:
        if line in seen or "0@" not in line:
            return b"250 ok\r\n"
        seen.add(line)
        return b"421 4.7.0 that was enough\r\n"

    peer.replies["RCPT"] = once
    outcomes = await sender_to(peer.port, connections=2).send([mail(number) for number in range(40)], wire)
    for number, outcome in enumerate(outcomes):
        assert what(outcome) == ((DEFERRED, OutcomeReason.SLOW_DOWN) if number % 10 == 0 else (ACCEPTED, None))


async def test_a_stale_connection_costs_nothing(peer, sender_to, mail, noted) -> None:
    """The server closed it while it was idle; the message goes over a new one."""
    hang_up = [False]
    peer.replies["MAIL"] = lambda line: HANG_UP if hang_up.pop() else b"250 ok\r\n"
    sender = sender_to(peer.port, connections=1)
    assert (await sender.send([mail(1)], noted()))[0].kind is ACCEPTED
    hang_up += [False, True]
    assert (await sender.send([mail(2)], noted()))[0].kind is ACCEPTED
    assert peer.connections == 2


async def test_losing_the_line_leaves_in_doubt_only_what_was_on_it(peer, sender_to, wire, mail) -> None:
    count = [0]

    def sometimes(data: str) -> bytes:
        count[0] += 1
        return HANG_UP if count[0] % 10 == 0 else b"250 ok\r\n"

    peer.replies["."] = sometimes
    outcomes = await sender_to(peer.port, connections=2).send([mail(number) for number in range(95)], wire)
    kinds = [what(outcome) for outcome in outcomes]
    assert kinds.count((IN_DOUBT, CONNECTION)) == 9
    assert kinds.count((ACCEPTED, None)) == 86
    delivered = {data.split()[1] for _, _, data in peer.messages}
    assert delivered == {str(number).encode() for number in range(95) if kinds[number][0] is ACCEPTED}


async def speak(listen, *, after_mail: bytes = b"", greeting: bytes = b"220 x\r\n", at_data: bytes = b"") -> int:
    """A server that says fixed bytes at fixed moments and otherwise is silent."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(greeting)
        try:
            while line := await reader.readline():
                if line.startswith(b"EHLO"):
                    writer.write(b"250-x\r\n250 PIPELINING\r\n")
                elif line.startswith(b"MAIL"):
                    writer.write(after_mail)
                elif line.startswith(b"DATA"):
                    writer.write(at_data)
        except ConnectionError:
            pass
        finally:
            writer.close()

    return await listen(serve)


@pytest.mark.parametrize(
    ("said", "kinds"),
    [
        (b"250 ok\r\n250 ok\r\n354 go\r\n250 already taken\r\n", (UNREACHABLE, PROTOCOL)),
        (b"250 ok\r\n250 ok\r\n354 go\r\n2", (UNREACHABLE, PROTOCOL)),
        (b"250 ok\r\n" * 50, (UNREACHABLE, PROTOCOL)),
        (b"250-" + b"x" * 70_000 + b"\r\n", (UNREACHABLE, PROTOCOL)),
        (b"250-more\r\n" * 10_000, (UNREACHABLE, PROTOCOL)),
        (b"x" * 70_000, (UNREACHABLE, PROTOCOL)),
        (b"550 \x00\xff\xfe\x1b[31m" + b"y" * 3000 + b"\r\n550 x\r\n550 x\r\n", (REJECTED, OutcomeReason.OTHER)),
        (
            b"550-5.7.1 " + "één\u2028".encode() + b"\r\n550 5.7.1 b\xe9\r\n550 x\r\n550 x\r\n",
            (REJECTED, OutcomeReason.POLICY),
        ),
        (b"550 " + b"z" * 8_000 + b"\r\n550 x\r\n550 x\r\n", (REJECTED, OutcomeReason.OTHER)),
        (b"550 " + b"z" * 9_000 + b"\r\n550 x\r\n550 x\r\n", (UNREACHABLE, PROTOCOL)),
        (b"550-z\r\n" * 129 + b"550 z\r\n550 x\r\n550 x\r\n", (UNREACHABLE, PROTOCOL)),
        (b"550-z\r\n" * 128 + b"550 z\r\n550 x\r\n550 x\r\n", (REJECTED, OutcomeReason.OTHER)),
        (b"250-one\r\n550 other\r\n", (UNREACHABLE, PROTOCOL)),
        (b"999 what\r\n", (UNREACHABLE, PROTOCOL)),
        (b"25\r\n", (UNREACHABLE, PROTOCOL)),
        (b"250_ok\r\n", (UNREACHABLE, PROTOCOL)),
        (b"\r\n\r\n\r\n", (UNREACHABLE, PROTOCOL)),
        (b"\r\n", (UNREACHABLE, PROTOCOL)),
        (b"25\n", (UNREACHABLE, PROTOCOL)),
    ],
)
async def test_babble_is_bounded_and_harms_nobody(listen, sender_to, wire, mail, said: bytes, kinds: tuple) -> None:
    port = await speak(listen, after_mail=said)
    (outcome,) = await sender_to(port).send([mail()], wire)
    assert what(outcome) == kinds
    assert wire.went == set()


async def test_endless_babble_is_cut_off(listen, sender_to, wire, mail) -> None:
    cut = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                writer.write(b"220-" + b"x" * 1000 + b"\r\n")
                await writer.drain()
        except ConnectionError:
            cut.set()
        finally:
            writer.close()

    (outcome,) = await sender_to(await listen(serve)).send([mail()], wire)
    assert what(outcome) == (UNREACHABLE, PROTOCOL)
    await asyncio.wait_for(cut.wait(), 60)


async def test_extra_replies_never_move_to_another_message(listen, sender_to, wire, mail) -> None:
    """A server that answers the final dot twice: the first message is accepted, no later one by its words."""
    taken = list[bytes]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 x\r\n")
        content = False
        try:
            while line := await reader.readline():
                if content:
                    if line == b".\r\n":
                        content = False
                        writer.write(b"250 one\r\n250 two\r\n")
                    elif line.startswith(b"Subject"):
                        taken.append(line)
                elif line.startswith(b"EHLO"):
                    writer.write(b"250-x\r\n250 PIPELINING\r\n")
                elif line.startswith(b"DATA"):
                    content = True
                    writer.write(b"354 go\r\n")
                else:
                    writer.write(b"250 ok\r\n")
        except ConnectionError:
            pass
        finally:
            writer.close()

    outcomes = await sender_to(await listen(serve), connections=1).send([mail(number) for number in range(6)], wire)
    for number, outcome in enumerate(outcomes):
        assert outcome.kind in (ACCEPTED, UNREACHABLE), outcome
        if outcome.kind is ACCEPTED:
            assert f"Subject: {number}\r\n".encode() in taken


async def test_a_server_that_stops_reading_a_large_message(listen, sender_to, noted, mail) -> None:
    """The final dot was never written, so the server cannot have taken it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 x\r\n")
        try:
            while line := await reader.readline():
                writer.write(b"354 go\r\n" if line.startswith(b"DATA") else b"250 ok\r\n")
                if line.startswith(b"DATA"):
                    writer.transport.pause_reading()
                    await asyncio.Event().wait()
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    class Going(noted):
        def going(self, index: int) -> None:
            super().going(index)
            begun.set()

    port, clock, begun, wire = await listen(serve), VirtualClock(), asyncio.Event(), Going()
    sender = sender_to(port, clock=clock)
    sending = asyncio.create_task(sender.send([mail(body=("y" * 70 + "\r\n") * 600_000)], wire))
    await begun.wait()
    while not sending.done():
        await clock.advance(100)
    (outcome,) = await sending
    assert what(outcome) == (UNREACHABLE, TIMEOUT)
    assert wire.went == {0}


async def test_a_refusal_in_the_middle_of_a_large_message(listen, sender_to, wire, mail) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 x\r\n")
        try:
            while line := await reader.readline():
                writer.write(b"354 go\r\n" if line.startswith(b"DATA") else b"250 ok\r\n")
                if line.startswith(b"DATA"):
                    await reader.readexactly(100_000)
                    writer.write(b"552 5.3.4 enough\r\n")
                    writer.transport.pause_reading()
                    await asyncio.Event().wait()
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    port = await listen(serve)
    (outcome,) = await sender_to(port).send([mail(body=("y" * 70 + "\r\n") * 600_000)], wire)
    assert what(outcome) == (REJECTED, OutcomeReason.MESSAGE_TOO_LARGE)


async def test_closing_answers_everyone(peer, sender_to, mail, noted) -> None:
    """What is on the wire is in doubt, what has not begun is not sent, and later calls are refused at once."""
    at_the_dot = asyncio.Event()
    peer.replies["."] = lambda data: at_the_dot.set() or SILENCE
    sender = sender_to(peer.port, connections=1, timeouts=Timeouts(closing=0.05))
    wire = noted()
    sending = asyncio.create_task(sender.send([mail(number) for number in range(5)], wire))
    await at_the_dot.wait()
    await sender.close()
    outcomes = await sending
    assert outcomes[0].kind is IN_DOUBT
    assert {outcome.kind for outcome in outcomes[1:]} == {UNREACHABLE}
    assert wire.went == {0}
    (late,) = await sender.send([mail()], noted())
    assert what(late) == (UNREACHABLE, CONNECTION)


async def test_closing_waits_for_an_answer_that_comes(peer, sender_to, wire, mail) -> None:
    at_the_dot, closing = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 x\r\n")
        while line := await reader.readline():
            if line == b".\r\n":
                at_the_dot.set()
                await closing.wait()
            if not line.startswith((b"Subject", b"Hello", b"\r\n")):
                writer.write(b"354 go\r\n" if line.startswith(b"DATA") else b"250 ok\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    sender = sender_to(server.sockets[0].getsockname()[1], timeouts=Timeouts(closing=5))
    sending = asyncio.create_task(sender.send([mail()], wire))
    await at_the_dot.wait()
    ending = asyncio.create_task(sender.close())
    await asyncio.sleep(0)
    closing.set()
    assert (await sending)[0].kind is ACCEPTED
    await ending
    server.close()


async def test_a_cancelled_call_sends_nothing_more(peer, sender_to, mail, noted) -> None:
    first_dot = asyncio.Event()
    peer.replies["."] = lambda data: first_dot.set() or b"250 ok\r\n"
    sender = sender_to(peer.port, connections=1)
    sending = asyncio.create_task(sender.send([mail(number) for number in range(1000)], noted()))
    await first_dot.wait()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    sent = len(peer.messages)
    (outcome,) = await sender.send([mail(5000)], noted())
    assert outcome.kind is ACCEPTED
    assert len(peer.messages) <= sent + 3


async def test_a_journal_that_fails_stops_its_message_before_the_wire(peer, sender_to, mail, noted, caplog) -> None:
    class Broken(noted):
        def going(self, index: int) -> None:
            if index == 1:
                raise OSError("disk full")
            super().going(index)

    outcomes = await sender_to(peer.port, connections=1).send([mail(number) for number in range(3)], Broken())
    assert [outcome.kind for outcome in outcomes] == [ACCEPTED, UNREACHABLE, ACCEPTED]
    assert len(peer.messages) == 2
    assert "disk full" in caplog.text
