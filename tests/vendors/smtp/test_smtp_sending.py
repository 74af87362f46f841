"""Sending to servers that behave: groups, pools, copies, large messages."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.vendors.smtp.jobs import wire_form
from waypost.adapters.vendors.smtp.options import Timeouts
from waypost.channels.model import OutcomeKind, OutcomeReason, OutgoingEmail
from waypost.channels.ports import Withdrawn


async def test_one_message_arrives(peer, sender_to, wire, mail) -> None:
    (outcome,) = await sender_to(peer.port, name="mail.example.com").send([mail(7)], wire)
    assert peer.messages == [("bounce@example.com", ["jane7@example.com"], b"Subject: 7\r\n\r\nHello\r\n.\r\n")]
    assert (outcome.kind, outcome.reason, outcome.code) == (OutcomeKind.ACCEPTED, None, 250)
    assert (outcome.reply, outcome.reference) == ("250 2.0.0 Ok: queued as Q0", "Q0")
    assert wire.events == [("going", 0), ("answered", 0)]
    assert peer.commands[0] == "EHLO mail.example.com"
    assert peer.commands[1] == f"MAIL FROM:<bounce@example.com> SIZE={len(mail(7).data)}"


async def test_many_messages_share_few_connections_and_each_gets_its_own_answer(peer, sender_to, wire, mail) -> None:
    peer.replies["."] = lambda data: f"250 queued as id{data.split()[1]}\r\n".encode()
    outcomes = await sender_to(peer.port, connections=4).send([mail(number) for number in range(200)], wire)
    assert [outcome.reference for outcome in outcomes] == [f"id{number}" for number in range(200)]
    assert peer.connections == 4
    assert sorted(recipients[0] for _, recipients, _ in peer.messages) == sorted(
        f"jane{n}@example.com" for n in range(200)
    )
    assert wire.went == set(range(200))
    for index in range(200):
        assert wire.events.index(("going", index)) < wire.events.index(("answered", index))


async def test_concurrent_calls_share_the_pool(peer, sender_to, mail, noted) -> None:
    sender = sender_to(peer.port, connections=3)
    batches = [[mail(100 * batch + number) for number in range(30)] for batch in range(5)]
    results = await asyncio.gather(*(sender.send(batch, noted()) for batch in batches))
    assert all(outcome.kind is OutcomeKind.ACCEPTED for outcomes in results for outcome in outcomes)
    assert len(peer.messages) == 150
    assert peer.connections <= 3


async def test_a_single_message_opens_a_single_connection_and_it_is_used_again(peer, sender_to, mail, noted) -> None:
    sender = sender_to(peer.port)
    for number in range(3):
        await sender.send([mail(number)], noted())
    assert peer.connections == 1


async def test_connections_are_replaced_after_their_share(peer, sender_to, wire, mail) -> None:
    sender = sender_to(peer.port, connections=1, messages_per_connection=10)
    outcomes = await sender.send([mail(number) for number in range(35)], wire)
    assert all(outcome.kind is OutcomeKind.ACCEPTED for outcome in outcomes)
    assert peer.connections == 4
    assert peer.commands.count("QUIT") == 3


async def test_idle_connections_say_goodbye(peer, sender_to, wire, mail) -> None:
    said = asyncio.Event()
    peer.replies["QUIT"] = lambda line: said.set() or b"221 bye\r\n"
    await sender_to(peer.port, timeouts=Timeouts(idle=0.02, tick=0.005)).send([mail()], wire)
    await asyncio.wait_for(said.wait(), 60)


async def test_without_pipelining_each_command_waits_for_its_reply(peer, sender_to, wire, mail) -> None:
    peer.features = ()
    outcomes = await sender_to(peer.port, connections=1).send([mail(1), mail(2, to=("a@b.c", "d@e.f"))], wire)
    assert [outcome.kind for outcome in outcomes] == [OutcomeKind.ACCEPTED] * 2
    assert peer.commands[1:] == [
        "MAIL FROM:<bounce@example.com>",
        "RCPT TO:<jane1@example.com>",
        "DATA",
        "MAIL FROM:<bounce@example.com>",
        "RCPT TO:<a@b.c>",
        "RCPT TO:<d@e.f>",
        "DATA",
    ]


async def test_helo_where_ehlo_is_not_understood(peer, sender_to, wire, mail) -> None:
    peer.replies["EHLO"] = b"502 what\r\n"
    (outcome,) = await sender_to(peer.port).send([mail()], wire)
    assert outcome.kind is OutcomeKind.ACCEPTED
    assert [command.split()[0] for command in peer.commands[:3]] == ["EHLO", "HELO", "MAIL"]


@pytest.mark.parametrize("pipelining", [True, False])
async def test_copies_may_be_refused_the_first_recipient_decides(
    peer, sender_to, mail, noted, pipelining: bool
) -> None:
    if not pipelining:
        peer.features = ()
    peer.replies["RCPT"] = lambda line: b"250 ok\r\n" if "good" in line else b"550 5.1.1 unknown\r\n"
    sender = sender_to(peer.port, connections=1)
    wire = noted()
    refused, accepted, alone = await sender.send(
        [
            mail(1, to=("bad@x.y", "good@x.y")),
            mail(2, to=("good1@x.y", "bad@x.y", "good2@x.y")),
            mail(3, to=("bad@x.y",)),
        ],
        wire,
    )
    assert (refused.kind, refused.reason, refused.hard_bounce) == (
        OutcomeKind.REJECTED,
        OutcomeReason.ADDRESS_UNKNOWN,
        True,
    )
    assert accepted.kind is OutcomeKind.ACCEPTED
    assert "copy 1 refused: 550 5.1.1 unknown" in (accepted.reply or "")
    assert (alone.kind, alone.hard_bounce) == (OutcomeKind.REJECTED, True)
    assert [(recipients, b"Subject: 2" in data) for _, recipients, data in peer.messages if recipients] == [
        (["good1@x.y", "good2@x.y"], True)
    ]
    assert wire.went == {1}
    assert peer.connections == 1


async def test_a_large_message_goes_block_by_block(peer, sender_to, wire, mail) -> None:
    body = "".join(f".{number:07d} {'x' * 60}\r\n" for number in range(40_000))
    (outcome,) = await sender_to(peer.port).send([mail(body=body)], wire)
    assert outcome.kind is OutcomeKind.ACCEPTED
    received = peer.messages[0][2]
    assert (
        received
        == b"Subject: 0\r\n\r\n" + body.replace("\r\n.", "\r\n..").encode().replace(b".0", b"..0", 1) + b".\r\n"
    )


async def test_what_a_server_cannot_take_is_not_offered(peer, sender_to, mail, noted) -> None:
    peer.features = ("PIPELINING", "SIZE 1000")
    wire = noted()
    outcomes = await sender_to(peer.port, connections=1).send(
        [
            mail(body="x" * 2000),
            mail(to=("jané@example.com",)),
            mail(to=("a@b.c>\r\nDATA",)),
            mail(to=("a b@c.d",)),
            mail(to=("no-at",)),
            OutgoingEmail("x\r\nQUIT", ("a@b.c",), b"x\r\n"),
            OutgoingEmail("x@y.z", (), b"x\r\n"),
            OutgoingEmail("x@y.z", ("a@b.c",), "é\r\n".encode()),
            mail(9),
        ],
        wire,
    )
    assert [(outcome.kind, outcome.reason) for outcome in outcomes] == [
        (OutcomeKind.REJECTED, OutcomeReason.MESSAGE_TOO_LARGE),
        (OutcomeKind.REJECTED, OutcomeReason.ADDRESS_INVALID),
        (OutcomeKind.REJECTED, OutcomeReason.ADDRESS_INVALID),
        (OutcomeKind.REJECTED, OutcomeReason.ADDRESS_INVALID),
        (OutcomeKind.REJECTED, OutcomeReason.ADDRESS_INVALID),
        (OutcomeKind.REJECTED, OutcomeReason.POLICY),
        (OutcomeKind.REJECTED, OutcomeReason.ADDRESS_INVALID),
        (OutcomeKind.REJECTED, OutcomeReason.CONTENT_REFUSED),
        (OutcomeKind.ACCEPTED, None),
    ]
    assert not any(outcome.hard_bounce for outcome in outcomes)
    assert [command for command in peer.commands if command.startswith("RCPT")] == ["RCPT TO:<jane9@example.com>"]
    assert wire.went == {8}


async def test_extensions_are_used_where_they_are_needed(peer, sender_to, wire) -> None:
    peer.features = ("PIPELINING", "8BITMIME", "SMTPUTF8")
    email = OutgoingEmail("x@y.z", ("jané@example.com",), "é\r\n".encode())
    (outcome,) = await sender_to(peer.port).send([email], wire)
    assert outcome.kind is OutcomeKind.ACCEPTED
    assert "MAIL FROM:<x@y.z> BODY=8BITMIME SMTPUTF8" in peer.commands


async def test_what_its_maker_vouches_for_is_sent_as_it_is(peer, sender_to, wire) -> None:
    data = b"Subject: x\r\n\r\nwords\r\n"
    (outcome,) = await sender_to(peer.port).send([OutgoingEmail("a@b.c", ("d@e.f",), data, wire_safe=True)], wire)
    assert outcome.kind is OutcomeKind.ACCEPTED
    assert peer.messages[0][2] == data + b".\r\n"


async def test_nothing_to_send_is_no_work(sender_to, wire) -> None:
    assert await sender_to(1).send([], wire) == []


@given(
    st.lists(st.sampled_from([b"\r", b"\n", b"\r\n", b".", b"..", b"x", b"\r\n.\r\n", b"\n.\n"]), max_size=30).map(
        b"".join
    )
)
def test_nothing_ends_a_message_but_the_final_dot(data: bytes) -> None:
    wired = wire_form(data)
    assert wired.count(b"\r") == wired.count(b"\n") == wired.count(b"\r\n")
    assert b"\r\n.\r\n" not in b"\r\n" + wired
    unstuffed = b"\r\n".join(line.removeprefix(b".") for line in wired.split(b"\r\n"))
    expected = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\n", b"\r\n")
    assert unstuffed == (expected if expected.endswith(b"\r\n") or not expected else expected + b"\r\n")


async def test_what_is_withdrawn_does_not_go_and_takes_its_call_with_it(peer, sender_to, mail, noted) -> None:
    class Lapsing(noted):
        def going(self, index: int) -> None:
            if len(self.went) == 3:
                raise Withdrawn
            super().going(index)

    sender, lapsing, other = sender_to(peer.port, connections=2), Lapsing(), noted()
    outcomes, others = await asyncio.gather(
        sender.send([mail(number) for number in range(20)], lapsing),
        sender.send([mail(number) for number in range(100, 110)], other),
    )
    kinds = [outcome.kind for outcome in outcomes]
    assert kinds.count(OutcomeKind.ACCEPTED) == 3
    assert kinds.count(OutcomeKind.UNREACHABLE) == 17
    assert {outcome.kind for outcome in others} == {OutcomeKind.ACCEPTED}
    assert len(peer.messages) == 13


@pytest.mark.parametrize("size", [0, 10, 300_000, 5_000_000])
async def test_a_tail_follows_what_is_personal_and_counts(peer, sender_to, wire, mail, size) -> None:
    lines = b"x" * 76 + b"\r\n"
    tail = lines * (size // len(lines)) + b"--end--\r\n"
    mails = [
        OutgoingEmail(mail(n).envelope_from, mail(n).envelope_to, b"Subject: 7\r\n\r\nHello\r\n", True, tail)
        for n in (1, 2)
    ]
    outcomes = await sender_to(peer.port, connections=1).send(mails, wire)
    assert [outcome.kind for outcome in outcomes] == [OutcomeKind.ACCEPTED] * 2
    assert [data for _, _, data in peer.messages] == [mails[0].whole + b".\r\n"] * 2
    assert f"SIZE={mails[0].size}" in peer.commands[1]
