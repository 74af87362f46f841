"""Against another implementation, aiosmtpd: STARTTLS, TLS from the first byte, AUTH, and a real parser of mail."""

import asyncio
import email
import email.policy
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from cryptography import x509
from tests.throwaway_tls import write_certificate

from waypost.channels.model import OutcomeKind, OutcomeReason

ACCEPTED, UNREACHABLE = OutcomeKind.ACCEPTED, OutcomeKind.UNREACHABLE


class Handler:
    def __init__(self) -> None:
        self.envelopes: list[Envelope] = []
        self.sessions: list[Session] = []

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        self.envelopes.append(envelope)
        self.sessions.append(session)
        return "250 OK queued as aio-7"


def check(server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
    assert isinstance(data, LoginPassword)
    return AuthResult(success=(data.login, data.password) == (b"user", "sécret".encode()), handled=False)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A throwaway certificate for 127.0.0.1, with its key; it is its own authority."""
    return write_certificate(tmp_path_factory.mktemp("tls") / "throwaway.pem", x509.IPAddress(IPv4Address("127.0.0.1")))


@pytest.fixture
def server_context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture
async def aiosmtpd() -> AsyncIterator[Callable[..., Awaitable[tuple[int, Handler]]]]:
    servers = list[asyncio.Server]()

    async def start(*, at_once: ssl.SSLContext | None = None, **options: Any) -> tuple[int, Handler]:
        handler = Handler()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: SMTP(handler, hostname="peer.example", loop=loop, **options), "127.0.0.1", 0, ssl=at_once
        )
        servers.append(server)
        return server.sockets[0].getsockname()[1], handler

    yield start
    for server in servers:
        server.close()


async def test_messages_are_received_as_they_were_written(aiosmtpd, sender_to, wire, mail) -> None:
    port, handler = await aiosmtpd()
    body = ".\r\n..\r\n.hidden\r\nFrom me\r\n\r\n" + "x" * 900 + "\r\n"
    outcomes = await sender_to(port, connections=2).send([mail(number, body=body) for number in range(20)], wire)
    assert all((outcome.kind, outcome.reference) == (ACCEPTED, "aio-7") for outcome in outcomes)
    assert len(handler.envelopes) == 20
    for envelope in handler.envelopes:
        message = email.message_from_bytes(envelope.content or b"", policy=email.policy.default)
        assert envelope.rcpt_tos == [f"jane{message['subject']}@example.com"]
        assert envelope.mail_from == "bounce@example.com"
        assert message.get_payload() == body


async def test_starttls_with_a_checked_certificate(
    aiosmtpd, sender_to, wire, mail, certificate, server_context
) -> None:
    port, handler = await aiosmtpd(tls_context=server_context, require_starttls=True)
    sender = sender_to(port, f"tls=required&ca_file={certificate}")
    outcomes = await sender.send([mail(number) for number in range(30)], wire)
    assert {outcome.kind for outcome in outcomes} == {ACCEPTED}
    assert all(session.ssl is not None for session in handler.sessions)


async def test_tls_from_the_first_byte(aiosmtpd, sender_to, wire, mail, certificate, server_context) -> None:
    port, handler = await aiosmtpd(at_once=server_context)
    (outcome,) = await sender_to(port, f"ca_file={certificate}", scheme="smtps").send([mail()], wire)
    assert outcome.kind is ACCEPTED
    assert len(handler.envelopes) == 1


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
async def test_an_unknown_certificate_is_not_trusted(
    aiosmtpd, sender_to, wire, mail, server_context, scheme: str
) -> None:
    if scheme == "smtp":
        port, handler = await aiosmtpd(tls_context=server_context)
    else:
        port, handler = await aiosmtpd(at_once=server_context)
    sender = sender_to(port, "tls=required" if scheme == "smtp" else "", scheme=scheme)
    (outcome,) = await sender.send([mail()], wire)
    assert (outcome.kind, outcome.reason) == (UNREACHABLE, OutcomeReason.TLS)
    assert handler.envelopes == []


async def test_unless_the_operator_says_so(aiosmtpd, sender_to, wire, mail, server_context) -> None:
    port, _ = await aiosmtpd(tls_context=server_context)
    (outcome,) = await sender_to(port, "tls=required&verify=no").send([mail()], wire)
    assert outcome.kind is ACCEPTED


async def test_opportunistic_tls_takes_what_it_gets(aiosmtpd, sender_to, mail, noted, server_context) -> None:
    with_tls, handler = await aiosmtpd(tls_context=server_context)
    without, _ = await aiosmtpd()
    assert (await sender_to(with_tls, "").send([mail()], noted()))[0].kind is ACCEPTED
    assert handler.sessions[0].ssl is not None
    assert (await sender_to(without, "").send([mail()], noted()))[0].kind is ACCEPTED


async def test_opportunistic_tls_that_fails_is_done_without(peer, sender_to, wire, mail) -> None:
    peer.features = ("STARTTLS",)
    peer.replies["STARTTLS"] = lambda line: b"220 go\r\n"
    (outcome,) = await sender_to(peer.port, "").send([mail()], wire)
    assert outcome.kind is ACCEPTED
    assert peer.connections == 2


async def test_required_tls_that_is_not_offered_or_refused_sends_nothing(peer, sender_to, mail, noted) -> None:
    (outcome,) = await sender_to(peer.port, "tls=required").send([mail()], noted())
    assert (outcome.kind, outcome.reason) == (UNREACHABLE, OutcomeReason.TLS)
    peer.features = ("STARTTLS",)
    peer.replies["STARTTLS"] = b"454 not now\r\n"
    (outcome,) = await sender_to(peer.port, "tls=required").send([mail()], noted())
    assert (outcome.kind, outcome.reason) == (UNREACHABLE, OutcomeReason.TLS)
    assert not any(command.startswith("MAIL") for command in peer.commands)


async def test_words_slipped_in_before_encryption_end_the_session(peer, sender_to, wire, mail) -> None:
    peer.features = ("STARTTLS",)
    peer.replies["STARTTLS"] = b"220 go\r\n250-injected\r\n250 AUTH PLAIN\r\n"
    (outcome,) = await sender_to(peer.port, "tls=required", user="user:pw@").send([mail()], wire)
    assert (outcome.kind, outcome.reason) == (UNREACHABLE, OutcomeReason.PROTOCOL)
    assert not any(command.startswith("AUTH") for command in peer.commands)


@pytest.mark.parametrize("excluded", [["LOGIN"], ["PLAIN"]])
async def test_authentication(
    aiosmtpd, sender_to, mail, noted, certificate, server_context, excluded: list[str]
) -> None:
    port, handler = await aiosmtpd(
        tls_context=server_context, authenticator=check, auth_required=True, auth_exclude_mechanism=excluded
    )
    query = f"tls=required&ca_file={certificate}"
    (outcome,) = await sender_to(port, query, user="user:s%C3%A9cret@").send([mail()], noted())
    assert outcome.kind is ACCEPTED
    (outcome,) = await sender_to(port, query, user="user:wrong@").send([mail()], noted())
    assert (outcome.kind, outcome.reason) == (UNREACHABLE, OutcomeReason.AUTHENTICATION)
    assert "wrong" not in repr(outcome)
    assert len(handler.envelopes) == 1


async def test_a_password_never_goes_over_an_open_line(peer, sender_to, mail, noted) -> None:
    peer.features = ("AUTH PLAIN LOGIN",)
    (outcome,) = await sender_to(peer.port, "tls=opportunistic", user="user:pw@").send([mail()], noted())
    assert (outcome.kind, outcome.reason) == (UNREACHABLE, OutcomeReason.TLS)
    assert not any(command.startswith("AUTH") for command in peer.commands)
    peer.replies["AUTH"] = b"235 welcome\r\n"
    (outcome,) = await sender_to(peer.port, "tls=off&plain_auth=yes", user="user:pw@").send([mail()], noted())
    assert outcome.kind is ACCEPTED


async def test_no_known_way_to_authenticate(peer, sender_to, wire, mail) -> None:
    peer.features = ("AUTH GSSAPI",)
    (outcome,) = await sender_to(peer.port, "tls=off&plain_auth=yes", user="user:pw@").send([mail()], wire)
    assert (outcome.kind, outcome.reason) == (UNREACHABLE, OutcomeReason.AUTHENTICATION)
