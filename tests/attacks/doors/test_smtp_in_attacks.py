"""Somebody at the SMTP door who wants something else than to submit a mail."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import pytest
from tests.smtp_house import KEY, PATIENCE, House, opened

from waypost.kernel.clock import VirtualClock
from waypost.smtp.guesses import Guesses
from waypost.smtp.limits import Limits
from waypost.smtp.server import SmtpServer

HEAD = b"From: a@shop.example\r\nSubject: first\r\n\r\n"


class Visitor:
    """Writes bytes and reads replies, without any manners."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def reply(self) -> str:
        """The last line of the next reply; nothing once the line is dead."""
        async with asyncio.timeout(PATIENCE):
            while True:
                line = await self.reader.readline()
                if line[3:4] != b"-":
                    return line.decode().strip()

    async def ask(self, said: bytes) -> str:
        self.writer.write(said)
        await self.writer.drain()
        return await self.reply()

    async def ended(self) -> bool:
        async with asyncio.timeout(PATIENCE):
            try:
                return await self.reader.read() is not None
            except ConnectionError:
                return True

    async def begin(self) -> None:
        """Up to the first byte of a mail."""
        assert (await self.ask(b"MAIL FROM:<a@shop.example>\r\n")).startswith("250")
        assert (await self.ask(b"RCPT TO:<jane@example.com>\r\n")).startswith("250")
        assert (await self.ask(b"DATA\r\n")).startswith("354")


@asynccontextmanager
async def visit(port: int) -> AsyncIterator[Visitor]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Visitor(reader, writer)
    finally:
        writer.close()


@asynccontextmanager
async def let_in(port: int, key: str = KEY) -> AsyncIterator[Visitor]:
    async with visit(port) as visitor:
        assert (await visitor.reply()).startswith("220")
        assert (await visitor.ask(b"EHLO me\r\n")).startswith("250")
        shown = base64.b64encode(b"\0anyone\0" + key.encode())
        assert (await visitor.ask(b"AUTH PLAIN " + shown + b"\r\n")).startswith("235")
        yield visitor


@pytest.fixture
def house() -> House:
    return House()


@pytest.fixture
async def door(house: House) -> AsyncIterator[int]:
    async with opened(house) as (_, port):
        yield port


Serve = Callable[..., Awaitable[tuple[SmtpServer, int]]]


@pytest.fixture
async def serve(house: House) -> AsyncIterator[Serve]:
    """Opens a door with other limits than the usual."""
    async with AsyncExitStack() as stack:
        yield lambda **limits: stack.enter_async_context(opened(house, **limits))


ENDS_FOR_SOMEBODY_ELSE = [b"\n.\n", b"\n.\r\n", b"\r\n.\n", b"\r.\r", b"\r.\r\n", b"\r\n.\r", b"\r\n\x00.\r\n"]


@pytest.mark.parametrize("end", ENDS_FOR_SOMEBODY_ELSE)
async def test_a_mail_cannot_be_smuggled_behind_another(door: int, house: House, end: bytes) -> None:
    second = (
        b"MAIL FROM:<ceo@bank.example>\r\nRCPT TO:<joe@example.com>\r\nDATA\r\nFrom: ceo@bank.example\r\n\r\nPay\r\n"
    )
    async with let_in(door) as visitor:
        await visitor.begin()
        answer = await visitor.ask(HEAD + b"one" + end + second + b"\r\n.\r\n")
        assert (await visitor.ask(b"NOOP\r\n")) == "250 2.0.0 Ok"
    assert len(house.subjects) == (1 if answer.startswith("250") else 0)
    if end != b"\r\n\x00.\r\n":
        assert answer.startswith("554 5.6.0")


async def test_commands_end_with_cr_lf_only(door: int) -> None:
    for said in (b"EHLO me\nQUIT\r\n", b"EHLO\rme\r\n", b"NOOP\0\r\n", b"\xff\xfe\r\n"):
        async with visit(door) as visitor:
            await visitor.reply()
            assert (await visitor.ask(said)).startswith("500")
            assert await visitor.ended()


async def test_nothing_is_taken_from_a_stranger(door: int, house: House) -> None:
    async with visit(door) as visitor:
        await visitor.reply()
        await visitor.ask(b"EHLO me\r\n")
        assert (await visitor.ask(b"MAIL FROM:<a@shop.example>\r\n")).startswith("530")
        assert (await visitor.ask(b"RCPT TO:<jane@example.com>\r\n")).startswith("503")
        assert (await visitor.ask(b"DATA\r\n")).startswith("503")
    assert house.subjects == []


async def test_who_guesses_keys_waits_longer_each_time_and_is_shut_out(clock: VirtualClock) -> None:
    guesses = Guesses(clock)
    waits: list[float] = []
    for _ in range(20):
        began = clock.monotonic()
        guess = asyncio.create_task(guesses.wrong("192.0.2.1"))
        await asyncio.sleep(0)
        while not guess.done():
            await clock.advance(0.5)
        waits.append(clock.monotonic() - began)
    assert waits[:5] == [1.0, 2.0, 4.0, 8.0, 16.0]
    assert set(waits[5:]) == {20.0}
    assert guesses.shuts_out("192.0.2.1")
    assert not guesses.shuts_out("192.0.2.2")
    await clock.advance(601)
    assert not guesses.shuts_out("192.0.2.1")


async def test_wrong_keys_end_the_session(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once(_: object, _address: str) -> None:
        return

    monkeypatch.setattr(Guesses, "wrong", at_once)
    _, port = await serve(tries=2)
    wrong = base64.b64encode(b"\0me\0" + b"wp_test_wrong")
    async with visit(port) as visitor:
        await visitor.reply()
        await visitor.ask(b"EHLO me\r\n")
        assert (await visitor.ask(b"AUTH PLAIN " + wrong + b"\r\n")).startswith("535 5.7.8")
        assert (await visitor.ask(b"AUTH PLAIN " + wrong + b"\r\n")).startswith("535 5.7.8")
        assert (await visitor.reply()).startswith("421")
        assert await visitor.ended()


async def test_a_key_is_not_taken_in_the_clear_from_elsewhere(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("waypost.smtp.server._is_local", lambda _: False)
    _, port = await serve()
    shown = base64.b64encode(b"\0me\0" + KEY.encode())
    async with visit(port) as visitor:
        await visitor.reply()
        visitor.writer.write(b"EHLO me\r\n")
        async with asyncio.timeout(PATIENCE):
            offered = await visitor.reader.readuntil(b"250 ENHANCEDSTATUSCODES\r\n")
        assert b"AUTH" not in offered
        assert (await visitor.ask(b"AUTH PLAIN " + shown + b"\r\n")).startswith("538")


async def test_a_mail_that_is_too_large_is_refused_before_and_after(serve: Serve, house: House) -> None:
    _, port = await serve(mail_bytes=70_000)
    async with let_in(port) as visitor:
        assert (await visitor.ask(b"MAIL FROM:<a@shop.example> SIZE=70001\r\n")).startswith("552 5.3.4")
        assert (await visitor.ask(b"MAIL FROM:<a@shop.example> SIZE=1\r\n")).startswith("250")
        await visitor.ask(b"RCPT TO:<jane@example.com>\r\n")
        await visitor.ask(b"DATA\r\n")
        answer = await visitor.ask(HEAD + (b"x" * 70 + b"\r\n") * 20_000 + b".\r\n")
        assert answer.startswith("552 5.3.4")
        assert (await visitor.ask(b"NOOP\r\n")) == "250 2.0.0 Ok"
    assert house.subjects == []


async def test_all_that_is_held_at_once_is_bounded(serve: Serve) -> None:
    server, port = await serve(in_hand_bytes=50_000)
    async with let_in(port) as visitor:
        await visitor.begin()
        visitor.writer.write(HEAD + b"x" * 200_000)
        assert await visitor.ended()
    assert server.limits.in_hand_bytes == 50_000
    async with let_in(port):
        pass


async def test_too_many_recipients_mistakes_and_callers(serve: Serve) -> None:
    _, port = await serve(recipients=2, faults=4, per_address=2)
    async with let_in(port) as visitor, visit(port) as second, visit(port) as third:
        assert (await second.reply()).startswith("220")
        assert (await third.reply()).startswith("421 4.3.2")
        assert await third.ended()
        await visitor.ask(b"MAIL FROM:<a@shop.example>\r\n")
        for number in range(2):
            assert (await visitor.ask(f"RCPT TO:<p{number}@example.com>\r\n".encode())).startswith("250")
        assert (await visitor.ask(b"RCPT TO:<p3@example.com>\r\n")).startswith("452 4.5.3")
        for _ in range(3):
            assert (await visitor.ask(b"MAKE ME A SANDWICH\r\n")).startswith("502")
        assert (await visitor.reply()).startswith("421 4.7.0")
        assert await visitor.ended()


async def test_the_slow_are_cut_off(serve: Serve, house: House) -> None:
    brief = Limits(stranger_seconds=0.5, idle_seconds=0.5, pause_seconds=0.5, content_seconds=1.0)
    server, port = await serve()
    server.limits = replace(brief, stranger_seconds=0.2)
    async with visit(port) as stranger:
        assert (await stranger.reply()).startswith("220")
        assert (await stranger.reply()).startswith("421 4.4.2")
        assert await stranger.ended()
    server.limits = replace(brief, stranger_seconds=PATIENCE)
    async with let_in(port) as silent:
        assert (await silent.reply()).startswith("421 4.4.2")
    server.limits = replace(brief, stranger_seconds=PATIENCE, idle_seconds=PATIENCE)
    async with let_in(port) as trickling:
        await trickling.begin()

        async def trickle() -> None:
            while True:
                trickling.writer.write(b"x")
                await asyncio.sleep(0.02)

        dripping = asyncio.create_task(trickle())
        assert (await trickling.reply()).startswith("421 4.4.2")
        dripping.cancel()
    assert house.subjects == []


async def test_nothing_slipped_in_behind_starttls_is_believed(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SmtpServer, "certificate", property(lambda _: object()))
    _, port = await serve()
    async with visit(port) as visitor:
        await visitor.reply()
        await visitor.ask(b"EHLO me\r\n")
        assert (await visitor.ask(b"STARTTLS\r\nEHLO evil\r\nAUTH PLAIN AAAA\r\n")).startswith("501")
        assert await visitor.ended()


async def test_an_address_cannot_bring_a_header_or_a_second_one_along(door: int, house: House) -> None:
    async with let_in(door) as visitor:
        await visitor.ask(b"MAIL FROM:<a@shop.example>\r\n")
        for address in (b"jane@example.com>,<joe@example.com", b"@relay:jane@example.com", b"jane", b'"a b"@c.example'):
            assert (await visitor.ask(b"RCPT TO:<" + address + b">\r\n")).startswith("5")


BOMBS = {
    "words": b"From: a@b.example\r\nSubject: " + b"=?utf-8?q?a?= " * 9_000 + b"\r\n\r\nx\r\n",
    "nested": b"From: a@b.example\r\n"
    + b"".join(b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n) for n in range(200)),
    "parts": b"From: a@b.example\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n" + b"--b\r\n\r\nx\r\n" * 20_000,
    "comments": b"From: " + b"(" * 60_000 + b"\r\n\r\nx\r\n",
    "head": b"From: a@b.example\r\n" + b"X-A: b\r\n" * 30_000 + b"\r\nx\r\n",
    "parameters": b"From: a@b.example\r\nContent-Type: text/plain"
    + b"".join(b"; a*%d*=utf-8''b" % n for n in range(5_000))
    + b"\r\n\r\nx\r\n",
    "charset": b"From: a@b.example\r\nContent-Type: text/plain; charset=rot13\r\n\r\nx\r\n",
    "undecodable": b"From: =?nonsense?x?!!?= <a@b.example>\r\nSubject: =?utf-16?b?=?=\r\n\r\n\xff\xfe\x00\r\n",
}


@pytest.mark.parametrize("name", BOMBS)
async def test_a_mail_that_is_a_bomb_harms_nobody(door: int, house: House, name: str) -> None:
    async with let_in(door) as visitor:
        await visitor.begin()
        assert (await visitor.ask(BOMBS[name] + b"\r\n.\r\n"))[0] in "25"
        assert (await visitor.ask(b"NOOP\r\n")) == "250 2.0.0 Ok"
