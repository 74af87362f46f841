"""The catch-all's SMTP server, spoken to by our own sender and by strangers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.catchall.intake import Intake
from waypost.adapters.catchall.server import CatchAll
from waypost.adapters.catchall.session import Session
from waypost.adapters.vendors.smtp.options import Timeouts, smtp_options
from waypost.adapters.vendors.smtp.sender import SmtpSender
from waypost.channels.model import OutcomeKind, OutcomeReason, OutgoingEmail
from waypost.kernel.errors import Misconfigured
from waypost.mailbox.model import LARGEST_MESSAGE, Letter
from waypost.mailbox.return_path import ReturnPath

KNOWN = "b-known@acme.sandbox.invalid"


@dataclass
class House:
    """A doorkeeper that knows two tenants and remembers what it kept, group by group."""

    groups: list[tuple[str, list[Letter]]] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    at_the_gate: asyncio.Event = field(default_factory=asyncio.Event)
    failing: bool = False

    def __post_init__(self) -> None:
        self.gate.set()

    async def admit(self, sender: str) -> ReturnPath | None:
        if self.failing:
            raise RuntimeError("no database")
        tenant = sender.partition("@")[2].removesuffix(".sandbox.invalid")
        if tenant not in ("acme", "other"):
            return None
        return ReturnPath(tenant_id=tenant, notification_id=UUID(int=1), proof="")

    async def keep(self, tenant_id: str, letters: list[Letter]) -> None:
        self.at_the_gate.set()
        await self.gate.wait()
        if self.failing:
            raise RuntimeError("no database")
        self.groups.append((tenant_id, letters))

    @property
    def letters(self) -> list[Letter]:
        return [letter for _, letters in self.groups for letter in letters]


class Wire:
    def going(self, index: int) -> None: ...

    def answered(self, index: int, outcome: object) -> None: ...


@pytest.fixture
def house() -> House:
    return House()


@pytest.fixture
async def port(house: House) -> AsyncIterator[int]:
    catch_all = CatchAll(house)
    yield await catch_all.start()
    house.gate.set()
    await catch_all.close()


@pytest.fixture
async def send(port: int) -> AsyncIterator[Callable[..., object]]:
    sender = SmtpSender(smtp_options(f"smtp://127.0.0.1:{port}?tls=off", timeouts=Timeouts(closing=1)))

    async def run(*messages: OutgoingEmail) -> list[object]:
        return list(await sender.send(messages, Wire()))

    yield run
    await sender.close()


async def talk(port: int, *lines: bytes) -> list[str]:
    """All lines at once, then everything the server says until it hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"".join(lines))
    said = await reader.read()
    writer.close()
    return said.decode().splitlines()


def mail(number: int = 0, *, sender: str = KNOWN, body: bytes = b"Hello\r\n") -> OutgoingEmail:
    return OutgoingEmail(sender, (f"jane{number}@example.com",), b"Subject: %d\r\n\r\n" % number + body)


async def test_our_own_mail_is_kept_as_it_was_sent(house: House, send) -> None:
    body = b".\r\n..dots\r\n\r\nend\r\n"
    (outcome,) = await send(mail(3, body=body))
    assert outcome.kind is OutcomeKind.ACCEPTED
    kept = Letter(recipients=("jane3@example.com",), data=b"Subject: 3\r\n\r\n" + body, notification_id=UUID(int=1))
    assert house.groups == [("acme", [kept])]


async def test_copies_are_recipients_too(house: House, send) -> None:
    await send(OutgoingEmail(KNOWN, ("a@example.com", "b@example.com"), b"x\r\n"))
    assert house.letters[0].recipients == ("a@example.com", "b@example.com")


async def test_many_arrive_in_few_groups(house: House, send) -> None:
    outcomes = await send(*(mail(n, sender=f"b@{('acme', 'other')[n % 2]}.sandbox.invalid") for n in range(300)))
    assert {outcome.kind for outcome in outcomes} == {OutcomeKind.ACCEPTED}
    assert len(house.letters) == 300
    assert len(house.groups) < 200
    for tenant, letters in house.groups:
        parity = int(tenant == "other")
        assert all(int(letter.data.split()[1]) % 2 == parity for letter in letters)


async def test_accepted_means_kept(house: House, send) -> None:
    house.gate.clear()
    sending = asyncio.create_task(send(mail()))
    await house.at_the_gate.wait()
    assert not sending.done()
    house.gate.set()
    assert (await sending)[0].kind is OutcomeKind.ACCEPTED
    assert len(house.letters) == 1


@pytest.mark.parametrize("sender", ["jane@example.com", "b-x@nobody.sandbox.invalid", ""])
async def test_strangers_are_told_why_they_are_refused(house: House, send, sender: str) -> None:
    (outcome,) = await send(mail(sender=sender))
    assert (outcome.kind, outcome.reason) == (OutcomeKind.REJECTED, OutcomeReason.POLICY)
    assert "Only what Waypost sends" in outcome.reply
    assert house.letters == []


async def test_a_database_that_is_away_defers(house: House, send) -> None:
    house.failing = True
    (outcome,) = await send(mail())
    assert outcome.kind is OutcomeKind.DEFERRED
    house.failing = False
    house.gate.clear()
    sending = asyncio.create_task(send(mail()))
    await house.at_the_gate.wait()
    house.failing = True
    house.gate.set()
    assert (await sending)[0].kind is OutcomeKind.DEFERRED
    assert house.letters == []


async def test_order_of_commands_and_unknown_ones(port: int) -> None:
    said = await talk(
        port,
        b"HELO x\r\n",
        b"DATA\r\n",
        b"RCPT TO:<a@example.com>\r\n",
        b"MAIL TO:<a@example.com>\r\n",
        b"MAIL FROM:<%s> SIZE=99999999999\r\n" % KNOWN.encode(),
        b"MAIL FROM:<%s>\r\n" % KNOWN.encode(),
        b"MAIL FROM:<%s>\r\n" % KNOWN.encode(),
        b"RCPT TO:<nobody>\r\n",
        b"DATA\r\n",
        b"RSET\r\nNOOP\r\nVRFY x\r\nHELP\n",
        b"QUIT\r\n",
    )
    assert " ".join(line[:3] for line in said) == "220 250 503 503 501 552 250 503 501 503 250 250 502 500 221"


async def test_pipelined_mail_and_what_follows_it(port: int, house: House) -> None:
    one = b"MAIL FROM:<%s>\r\nRCPT TO:<a@example.com>\r\nDATA\r\nS: 1\r\n\r\n..x\r\n.\r\n" % KNOWN.encode()
    said = await talk(port, b"EHLO x\r\n", one, one, b"QUIT\r\n")
    assert [line[:4] for line in said[-9:]] == ["250 ", "250 ", "354 ", "250 ", "250 ", "250 ", "354 ", "250 ", "221 "]
    assert [letter.data for letter in house.letters] == [b"S: 1\r\n\r\n.x\r\n"] * 2


async def test_bare_line_ends_are_refused(port: int, house: House) -> None:
    start = b"MAIL FROM:<%s>\r\nRCPT TO:<a@example.com>\r\nDATA\r\n" % KNOWN.encode()
    said = await talk(
        port, start, b"a\nb\r\n.\r\n", start, b"a\rb\r\n.\r\n", start, b"a\n.\nQUIT\r\n.\r\n", b"QUIT\r\n"
    )
    assert [line[:3] for line in said if line.startswith("5")] == ["554"] * 3
    assert house.letters == []


async def test_lines_and_messages_are_bounded(port: int, house: House, send) -> None:
    said = await talk(port, b"x" * 5000)
    assert said[-1].startswith("500 5.5.2")
    start = b"MAIL FROM:<%s>\r\nRCPT TO:<a@example.com>\r\nDATA\r\n" % KNOWN.encode()
    huge = (b"y" * 998 + b"\r\n") * (LARGEST_MESSAGE // 1000 + 10)
    said = await talk(port, start, huge, b".\r\n", b"QUIT\r\n")
    assert [line[:3] for line in said[-2:]] == ["552", "221"]
    assert house.letters == []
    (outcome,) = await send(mail(body=huge))
    assert outcome.reason is OutcomeReason.MESSAGE_TOO_LARGE


async def test_the_hundred_and_first_connection_is_sent_away(port: int) -> None:
    lines = [await asyncio.open_connection("127.0.0.1", port) for _ in range(100)]
    for reader, _ in lines:
        assert (await reader.readline()).startswith(b"220")
    assert (await talk(port))[0].startswith("421")
    for _, writer in lines:
        writer.close()


async def test_who_says_nothing_is_hung_up_on(house: House) -> None:
    class Host:
        def welcomes(self, session: Session) -> bool:
            return True

        def forget(self, session: Session) -> None: ...

    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Session(Host(), house, Intake(house), 0.05), "127.0.0.1", 0)
    said = await talk(server.sockets[0].getsockname()[1])
    assert said[-1].startswith("421 4.4.2")
    server.close()


async def test_a_taken_port_is_said_plainly(port: int, house: House) -> None:
    with pytest.raises(Misconfigured, match=str(port)):
        await CatchAll(house).start(port)


@given(
    content=st.lists(st.sampled_from([b"\r\n", b".", b"..", b"x", b"\r\n.x", b"QUIT\r\n"]), max_size=20).map(b"".join),
    cuts=st.lists(st.integers(1, 40), max_size=20),
)
def test_content_is_read_the_same_however_it_arrives(content: bytes, cuts: list[int]) -> None:
    async def run() -> None:
        house = House()
        catch_all = CatchAll(house)
        port = await catch_all.start()
        message = content if content.endswith(b"\r\n") or not content else content + b"\r\n"
        stuffed = b"\r\n".join(b"." + line if line.startswith(b".") else line for line in message.split(b"\r\n"))
        stream = b"MAIL FROM:<%s>\r\nRCPT TO:<a@example.com>\r\nDATA\r\n%s.\r\nQUIT\r\n" % (KNOWN.encode(), stuffed)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for cut in cuts:
            writer.write(stream[:cut])
            stream = stream[cut:]
            await asyncio.sleep(0)
        writer.write(stream)
        assert (await reader.read()).endswith(b"250 2.0.0 Ok: caught\r\n221 2.0.0 Bye\r\n")
        writer.close()
        await catch_all.close()
        assert [letter.data for letter in house.letters] == [message]

    asyncio.run(run())
