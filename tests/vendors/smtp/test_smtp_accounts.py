"""Sender accounts over SMTP: every way to enter, the guard before every server, and servers that mean no good."""

import json
import ssl
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.peers import program
from tests.throwaway_tls import write_certificate
from tests.web_peer import Reply, web_peer

from waypost.adapters.outbound.guard import Guard
from waypost.adapters.outbound.judgement import Judgement
from waypost.bootstrap.vendor_senders import VendorSenders
from waypost.channels.model import OutcomeKind, OutcomeReason
from waypost.channels.ports import EmailSender
from waypost.kernel.clock import SystemClock
from waypost.senders.connection import AccountConnection, AccountKind, AuthMode, TlsMode, faults_of
from waypost.settings import load

ACCEPTED, DEFERRED, UNREACHABLE = OutcomeKind.ACCEPTED, OutcomeKind.DEFERRED, OutcomeKind.UNREACHABLE
AUTHENTICATION, TLS, CONNECTION = OutcomeReason.AUTHENTICATION, OutcomeReason.TLS, OutcomeReason.CONNECTION
HOST = "mail.customer.example"
SECRET = "correct horse battery"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For the host's name alone, with its key; it is its own authority."""
    return write_certificate(tmp_path_factory.mktemp("tls") / "host.pem", x509.DNSName(HOST))


@pytest.fixture
def server_context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def everything_here(host: str, port: int) -> Sequence[str]:
    """A resolver in whose world every name is this host."""
    return ["127.0.0.1"]


@pytest.fixture
async def open_account(certificate: Path) -> AsyncIterator[Callable[..., tuple[VendorSenders, EmailSender]]]:
    made = list[tuple[VendorSenders, EmailSender]]()

    def make(
        connection: AccountConnection, *, allow: str = "127.0.0.0/8", trusted: bool = False, **settings: str
    ) -> tuple[VendorSenders, EmailSender]:
        read = load({"WAYPOST_SMTP_CA_FILE": str(certificate), "WAYPOST_OUTBOUND_ALLOW": allow, **settings})
        guard = Guard(Judgement(read.outbound_allow), everything_here)
        vendors = VendorSenders(read, guard=guard, clock=SystemClock())
        made.append((vendors, vendors.open(connection, trusted=trusted)))
        return made[-1]

    yield make
    for vendors, sender in made:
        await sender.close()
        await vendors.close()


def to(port: int, tls: TlsMode = TlsMode.REQUIRED, auth: AuthMode = AuthMode.NONE, **more: object) -> AccountConnection:
    secret = {"username": "jané", "secret": SECRET} if auth is not AuthMode.NONE else {}
    return AccountConnection(kind=AccountKind.SMTP, host=HOST, port=port, tls=tls, auth=auth, **secret | more)


class Doorman:
    """Answers AUTH as a server does whose password is known; for `peer.replies`."""

    def __init__(self, *, tokens: Sequence[str] = ()) -> None:
        self.tokens = list(tokens)

    def auth(self, line: str) -> bytes:
        mechanism, _, first = line.removeprefix("AUTH ").partition(" ")
        if mechanism == "PLAIN":
            good = b64decode(first) == f"\0jané\0{SECRET}".encode()
            return b"235 2.7.0 welcome\r\n" if good else b"535 5.7.8 no\r\n"
        if mechanism == "XOAUTH2":
            words = b64decode(first).decode()
            if any(words == f"user=jané\x01auth=Bearer {token}\x01\x01" for token in self.tokens):
                return b"235 2.7.0 welcome\r\n"
            return b"334 " + b64encode(b'{"status":"401","schemes":"bearer"}') + b"\r\n"
        return b"504 5.5.4 unknown\r\n"


@pytest.fixture
def private_peer(peer, server_context):
    """The scripted server behind STARTTLS."""
    peer.tls = server_context
    peer.features = ("STARTTLS",)
    peer.features_in_private = ("PIPELINING", "8BITMIME", "AUTH PLAIN LOGIN XOAUTH2")
    return peer


async def test_starttls_asks_for_the_certificate_of_the_name_not_of_the_address(
    private_peer, open_account, mail, wire
) -> None:
    private_peer.replies["AUTH"] = Doorman().auth
    account = to(private_peer.port, auth=AuthMode.PLAIN, helo_name="out.customer.example")
    _, sender = open_account(account)
    outcomes = await sender.send([mail(number) for number in range(25)], wire)
    assert {outcome.kind for outcome in outcomes} == {ACCEPTED}
    assert "EHLO out.customer.example" in private_peer.commands
    assert private_peer.commands.index("STARTTLS") < private_peer.commands.index(
        next(one for one in private_peer.commands if one.startswith("AUTH"))
    )


@pytest.mark.parametrize("tls", [TlsMode.REQUIRED, TlsMode.OPPORTUNISTIC, TlsMode.IMPLICIT])
async def test_a_certificate_of_another_name_gets_no_password(
    peer, listen, server_context, open_account, mail, wire, tls: TlsMode
) -> None:
    peer.tls, peer.features, peer.features_in_private = server_context, ("STARTTLS",), ("AUTH PLAIN",)
    at_once = server_context if tls is TlsMode.IMPLICIT else None
    port = await listen(peer.serve, ssl=at_once) if at_once else peer.port
    account = AccountConnection(
        kind=AccountKind.SMTP,
        host="other.customer.example",
        port=port,
        tls=tls,
        auth=AuthMode.PLAIN,
        username="jané",
        secret=SECRET,
    )
    _, sender = open_account(account)
    (outcome,) = await sender.send([mail()], wire)
    assert (outcome.kind, outcome.reason) == (UNREACHABLE, TLS)
    assert not any(command.startswith(("AUTH", "MAIL")) for command in peer.commands)


async def test_tls_from_the_first_byte(peer, listen, server_context, open_account, mail, wire) -> None:
    port = await listen(peer.serve, ssl=server_context)
    _, sender = open_account(to(port, TlsMode.IMPLICIT))
    (outcome,) = await sender.send([mail()], wire)
    assert outcome.kind is ACCEPTED
    assert "STARTTLS" not in peer.commands


async def test_what_was_offered_in_the_clear_counts_no_more(private_peer, open_account, mail, noted) -> None:
    """Before STARTTLS a middleman may offer what he likes; after it the server offers less."""
    private_peer.features = ("STARTTLS", "AUTH PLAIN", "SIZE 5", "8BITMIME")
    private_peer.features_in_private = ("SIZE 100000",)
    _, sender = open_account(to(private_peer.port))
    (outcome,) = await sender.send([mail()], noted())
    assert outcome.kind is ACCEPTED
    _, entering = open_account(to(private_peer.port, auth=AuthMode.PLAIN))
    (outcome,) = await entering.send([mail()], noted())
    assert (outcome.kind, outcome.reason) == (UNREACHABLE, AUTHENTICATION)
    assert not any(command.startswith("AUTH") for command in private_peer.commands)


@pytest.mark.parametrize("auth", [AuthMode.PLAIN, AuthMode.XOAUTH2])
async def test_wrong_credentials_are_told_apart_from_everything_else(
    private_peer, open_account, mail, wire, auth: AuthMode
) -> None:
    private_peer.replies["AUTH"] = Doorman().auth
    private_peer.replies[""] = b"535 5.7.8 Username and Password not accepted\r\n"
    _, sender = open_account(to(private_peer.port, auth=auth, secret="wrong"))
    outcomes = await sender.send([mail(number) for number in range(5)], wire)
    assert {(outcome.kind, outcome.reason, outcome.code) for outcome in outcomes} == {
        (UNREACHABLE, AUTHENTICATION, 535)
    }
    assert "wrong" not in repr(outcomes)
    assert wire.went == set()


async def test_a_login_that_is_put_off_says_nothing_about_the_credentials(
    private_peer, open_account, mail, wire
) -> None:
    private_peer.replies["AUTH"] = b"454 4.7.0 Too many login attempts, try again in 10 minutes\r\n"
    _, sender = open_account(to(private_peer.port, auth=AuthMode.PLAIN))
    (outcome,) = await sender.send([mail()], wire)
    assert (outcome.kind, outcome.reason, outcome.retry_after) == (DEFERRED, OutcomeReason.SLOW_DOWN, 600)


async def test_a_mechanism_that_is_not_offered_is_not_replaced_by_another(
    private_peer, open_account, mail, wire
) -> None:
    private_peer.features_in_private = ("AUTH LOGIN",)
    _, sender = open_account(to(private_peer.port, auth=AuthMode.PLAIN))
    (outcome,) = await sender.send([mail()], wire)
    assert (outcome.reason, outcome.reply) == (AUTHENTICATION, "The server does not offer AUTH PLAIN.")


async def test_a_bearer_token(private_peer, open_account, mail, wire) -> None:
    private_peer.replies["AUTH"] = Doorman(tokens=[SECRET]).auth
    _, sender = open_account(to(private_peer.port, auth=AuthMode.XOAUTH2))
    (outcome,) = await sender.send([mail()], wire)
    assert outcome.kind is ACCEPTED


async def test_bearer_tokens_of_a_service_account_are_fetched_and_replaced(
    private_peer, open_account, mail, noted
) -> None:
    pem = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    key_file = {"type": "service_account", "client_email": "m@p.example", "private_key": pem.decode()}
    doorman = Doorman(tokens=["token-1"])
    private_peer.replies["AUTH"] = doorman.auth
    private_peer.replies[""] = b"535 5.7.8 no\r\n"
    given = iter(range(1, 9))
    async with web_peer() as google:

        async def give(asked: object) -> Reply:
            return Reply(body=json.dumps({"access_token": f"token-{next(given)}", "expires_in": 3600}).encode())

        google.behave = give
        account = to(private_peer.port, auth=AuthMode.XOAUTH2, secret=json.dumps(key_file), messages_per_connection=1)
        vendors, sender = open_account(account, WAYPOST_GOOGLE_AUTH_URL=f"{google.url}/token")
        for tokens, asked in ((["token-1"], 1), (["token-1"], 1), (["token-2"], 2)):
            doorman.tokens = tokens
            (outcome,) = await sender.send([mail()], noted())
            assert outcome.kind is ACCEPTED
            assert len(google.asked) == asked
        doorman.tokens = []
        (outcome,) = await sender.send([mail()], noted())
        assert (outcome.kind, outcome.reason) == (UNREACHABLE, AUTHENTICATION)
        await sender.close()
        await vendors.close()


async def test_a_secret_goes_in_the_clear_only_to_this_host(peer, open_account, mail, noted) -> None:
    peer.features = ("AUTH PLAIN",)
    peer.replies["AUTH"] = Doorman().auth
    _, sender = open_account(to(peer.port, TlsMode.OPPORTUNISTIC, AuthMode.PLAIN))
    (outcome,) = await sender.send([mail()], noted())
    assert (outcome.kind, outcome.reason) == (UNREACHABLE, TLS)
    assert not any(command.startswith("AUTH") for command in peer.commands)
    assert [fault.code for fault in faults_of(to(25, TlsMode.OFF, AuthMode.PLAIN))] == ["password_in_the_clear"]
    account = AccountConnection(
        kind=AccountKind.SMTP,
        host="127.0.0.1",
        port=peer.port,
        tls=TlsMode.OFF,
        auth=AuthMode.PLAIN,
        username="jané",
        secret=SECRET,
    )
    _, sender = open_account(account)
    (outcome,) = await sender.send([mail()], noted())
    assert outcome.kind is ACCEPTED


async def test_a_server_that_is_not_public_is_never_called(peer, open_account, mail, noted) -> None:
    vendors, sender = open_account(to(peer.port, TlsMode.OFF), allow="192.0.2.0/24")
    (outcome,) = await sender.send([mail()], noted())
    assert (outcome.kind, outcome.reason, peer.connections) == (UNREACHABLE, CONNECTION, 0)
    assert outcome.reply == "The server's address is not public, and the operator has not allowed it."
    trial = await vendors.test(to(peer.port, TlsMode.OFF), trusted=False)
    assert (trial.ok, trial.words, peer.connections) == (False, outcome.reply, 0)
    _, operators = open_account(
        AccountConnection(kind=AccountKind.SMTP, host="127.0.0.1", port=peer.port, tls=TlsMode.OFF),
        allow="192.0.2.0/24",
        trusted=True,
    )
    assert (await operators.send([mail()], noted()))[0].kind is ACCEPTED


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0",
        "::1",
        "::",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "169.254.169.254",
        "10.0.0.1",
        "fe80::1",
        "nowhere.invalid",
    ],
)
async def test_no_spelling_of_a_private_address_is_called(peer, mail, noted, host: str) -> None:
    """Asked of the system's own resolver."""
    vendors = VendorSenders(load({}), guard=Guard(Judgement(())), clock=SystemClock())
    account = AccountConnection(kind=AccountKind.SMTP, host=host, port=peer.port, tls=TlsMode.OFF)
    sender = vendors.open(account, trusted=False)
    (outcome,) = await sender.send([mail()], noted())
    trial = await vendors.test(account, trusted=False)
    assert (outcome.kind, outcome.reason) == (UNREACHABLE, CONNECTION)
    assert (trial.ok, trial.reason, peer.connections) == (False, CONNECTION, 0)
    await sender.close()
    await vendors.close()


async def test_only_addresses_that_were_judged_are_called(peer, mail, noted) -> None:
    """A name that answers differently the second time leads nowhere."""
    asked = list[str]()

    async def fickle(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["192.0.2.7"] if len(asked) == 1 else ["127.0.0.1"]

    vendors = VendorSenders(load({}), guard=Guard(Judgement(()), fickle), clock=SystemClock())
    sender = vendors.open(to(peer.port, TlsMode.OFF), trusted=False)
    for _ in range(2):
        (outcome,) = await sender.send([mail()], noted())
        assert outcome.kind is UNREACHABLE
    assert (asked, peer.connections) == ([HOST, HOST], 0)
    await sender.close()
    await vendors.close()


@pytest.mark.parametrize(
    ("prepare", "tls", "auth", "ok", "reason"),
    [
        ({}, TlsMode.REQUIRED, AuthMode.PLAIN, True, None),
        ({"AUTH": b"535 5.7.8 no\r\n"}, TlsMode.REQUIRED, AuthMode.PLAIN, False, AUTHENTICATION),
        ({"greeting": b"554 5.7.1 blocked\r\n"}, TlsMode.REQUIRED, AuthMode.NONE, False, OutcomeReason.POLICY),
        ({"greeting": b"-ERR unknown command\r\n"}, TlsMode.OFF, AuthMode.NONE, False, OutcomeReason.PROTOCOL),
        ({"STARTTLS": b"454 not now\r\n"}, TlsMode.REQUIRED, AuthMode.NONE, False, TLS),
        ({}, TlsMode.OFF, AuthMode.NONE, True, None),
    ],
)
async def test_a_trial_says_in_plain_words_how_it_went(
    private_peer, open_account, prepare, tls: TlsMode, auth: AuthMode, ok: bool, reason: OutcomeReason | None
) -> None:
    private_peer.replies["AUTH"] = Doorman().auth
    private_peer.replies.update(prepare)
    account = to(private_peer.port, tls, auth)
    vendors, _ = open_account(account)
    trial = await vendors.test(account, trusted=False)
    assert (trial.ok, trial.reason) == (ok, reason)
    assert trial.encrypted == (ok and tls is TlsMode.REQUIRED)
    assert trial.words.endswith(".")
    assert SECRET not in repr(trial)
    assert "unknown command" not in repr(trial), "what answers on another port is not repeated"
    assert not any(command.startswith("MAIL") for command in private_peer.commands)


async def test_an_unsound_account_is_not_tried(open_account) -> None:
    vendors, _ = open_account(to(25))
    trial = await vendors.test(to(99_999), trusted=False)
    assert (trial.ok, trial.reason) == (False, None)


async def test_postfix_takes_what_we_send(open_account, mail, wire) -> None:
    """Its load generator's other half: pipelining, many connections, nothing kept."""
    from benchmarks.sinks import running_sink

    program("smtp-sink")
    with running_sink() as sink:
        _, sender = open_account(to(sink.port, TlsMode.OFF, max_connections=5, messages_per_connection=40))
        outcomes = await sender.send([mail(number, body=".x\r\n" * 200) for number in range(500)], wire)
        assert {outcome.kind for outcome in outcomes} == {ACCEPTED}
        assert wire.went == set(range(500))
        await sender.close()
