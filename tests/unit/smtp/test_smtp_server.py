"""The SMTP server by itself: TLS, answers, and an orderly end."""

import asyncio
import smtplib
import ssl
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from tests.smtp_house import KEY, PATIENCE, House, opened

from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import (
    Conflict,
    Forbidden,
    Misconfigured,
    RateLimited,
    TooLarge,
    Unauthenticated,
    Unavailable,
    refuse,
)
from waypost.settings import Settings
from waypost.smtp.certificate import Certificate
from waypost.smtp.process import certificate_of
from waypost.submission.model import ReadMail
from waypost.submission.rules import command_of


def letter() -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "orders@shop.example", "jane@example.com", "Your order"
    message.set_content("It is on its way.\n")
    return message


@pytest.fixture
def house() -> House:
    return House()


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of localhost, signed by itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, SHA256())
    )
    path = tmp_path_factory.mktemp("certificate") / "both.pem"
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(plain + certificate.public_bytes(Encoding.PEM))
    return path


async def test_starttls_and_what_was_said_before_it_is_forgotten(house: House, pem: Path) -> None:

    def talk(port: int) -> None:
        with smtplib.SMTP("localhost", port, timeout=PATIENCE) as client:
            client.ehlo()
            assert client.has_extn("starttls")
            client.starttls(context=ssl.create_default_context(cafile=str(pem)))
            assert client.docmd("MAIL FROM:<app@shop.example>")[0] == 530
            client.ehlo()
            assert not client.has_extn("starttls")
            client.login("x", KEY)
            client.send_message(letter())

    async with opened(house, certificate=Certificate(pem, None, house.clock)) as (_, port):
        await asyncio.to_thread(talk, port)
    assert house.subjects == ["Your order"]


async def test_tls_from_the_first_byte(house: House, pem: Path) -> None:

    def talk(port: int) -> None:
        context = ssl.create_default_context(cafile=str(pem))
        with smtplib.SMTP_SSL("localhost", port, timeout=PATIENCE, context=context) as client:
            client.login("x", KEY)
            client.send_message(letter())

    async with opened(house, certificate=Certificate(pem, None, house.clock), secure=True) as (_, port):
        await asyncio.to_thread(talk, port)
    assert house.subjects == ["Your order"]


async def test_a_renewed_certificate_is_used_without_a_restart(pem: Path, tmp_path: Path, clock: VirtualClock) -> None:
    path = tmp_path / "renewed.pem"
    whole = await asyncio.to_thread(pem.read_bytes)
    path.write_bytes(whole)
    certificate = Certificate(path, None, clock)
    path.write_bytes(b"half of it")
    await clock.advance(61)
    context = certificate.context()
    path.write_bytes(whole)
    await clock.advance(61)
    assert certificate.context() is context
    with pytest.raises(Misconfigured):
        Certificate(tmp_path / "none.pem", None, clock)


async def test_what_could_serve_nobody_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="Name a port"):
        certificate_of(Settings(data_dir=tmp_path))
    with pytest.raises(Misconfigured, match="this machine only"):
        certificate_of(Settings(data_dir=tmp_path, smtp_in_port=25, smtp_in_host="192.0.2.1"))
    with pytest.raises(Misconfigured, match="this machine only"):
        certificate_of(Settings(data_dir=tmp_path, smtp_in_tls_port=465))
    assert certificate_of(Settings(data_dir=tmp_path, smtp_in_port=25)) is None


async def test_who_is_in_the_middle_of_a_mail_may_finish_it_when_the_server_stops(house: House) -> None:
    async with opened(house) as (server, port):
        client = await asyncio.to_thread(smtplib.SMTP, "127.0.0.1", port, timeout=PATIENCE)
        await asyncio.to_thread(client.login, "x", KEY)
        await asyncio.to_thread(client.mail, "app@shop.example")
        idle = await asyncio.to_thread(smtplib.SMTP, "127.0.0.1", port, timeout=PATIENCE)
        closing = asyncio.create_task(server.close(PATIENCE))
        await asyncio.to_thread(client.rcpt, "jane@example.com")
        code, _ = await asyncio.to_thread(client.data, letter().as_string())
        assert code == 250
        await closing
        assert (await asyncio.to_thread(idle.noop))[0] == 421
        client.close()
        idle.close()
    assert house.subjects == ["Your order"]


async def test_it_is_answered_only_when_it_is_stored(house: House) -> None:
    def talk(port: int) -> None:
        with smtplib.SMTP("127.0.0.1", port, timeout=PATIENCE) as client:
            client.login("x", KEY)
            client.send_message(letter())

    async with opened(house) as (_, port):
        for failure, code in (
            (Unavailable("The database does not answer."), 451),
            (RateLimited("Too many at a time.", retry_after=1), 451),
            (Conflict("Another is at it."), 451),
            (Forbidden("The tenant is suspended."), 550),
            (Unauthenticated("The key is revoked."), 535),
            (TooLarge("Too large."), 552),
            (refuse("/from", "domain_not_verified", "Send from a domain of yours."), 550),
            (RuntimeError("a secret of ours"), 451),
        ):
            house.failure = failure
            with pytest.raises(smtplib.SMTPDataError) as refusal:
                await asyncio.to_thread(talk, port)
            assert refusal.value.smtp_code == code
            assert b"secret" not in refusal.value.smtp_error
    assert house.taken == []


def test_words_of_a_mail_are_never_a_template() -> None:
    read = ReadMail(
        sender="a@shop.example", reply_to=None, message_id=None, subject="{{ 1 }}", html="{% raw %}", text=None
    )
    command = command_of(read, ("jane@example.com", "JANE@example.com"))
    assert len(command.to) == 1
    assert command.content is not None
    assert "1" not in command.content.subject
    assert command.variables == {"mail_subject": "{{ 1 }}", "mail_html": "{% raw %}"}
