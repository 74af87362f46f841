"""A stand-in for the two endpoints of Google's that are called. It verifies what it is sent, and answers in the shapes
that Google answers in."""

import json
from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from urllib.parse import parse_qs

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from tests.web_peer import Asked, Reply, WebPeer, web_peer

from waypost.adapters.outbound.guard import Guard
from waypost.adapters.outbound.http import GuardedHttp
from waypost.adapters.outbound.judgement import Judgement
from waypost.bootstrap.vendor_senders import VendorSenders
from waypost.channels.model import Outcome, OutgoingEmail
from waypost.channels.ports import EmailSender
from waypost.kernel.clock import VirtualClock
from waypost.senders.connection import AccountConnection, AccountKind
from waypost.settings import load

UPLOAD = "/upload/gmail/v1/users/me/messages/send?uploadType=media"
MAILER = "mailer@project.iam.gserviceaccount.com"


def refusal(status: int, reason: str, message: str, **headers: str) -> Reply:
    """As Google words it."""
    error = {
        "code": status,
        "message": message,
        "errors": [{"domain": "global", "reason": reason, "message": message}],
    }
    return Reply(status=status, body=json.dumps({"error": error}).encode(), headers=headers)


def _read(part: bytes) -> bytes:
    return urlsafe_b64decode(part + b"=" * (-len(part) % 4))


@dataclass
class Google:
    """Gives out tokens to claims that hold, and takes messages under tokens that it gave out."""

    peer: WebPeer
    key: rsa.RSAPrivateKey
    clock: VirtualClock
    scope: str = "https://www.googleapis.com/auth/gmail.send"
    answers: list[Reply | bytes | None] = field(default_factory=list)
    """What the next uploads are answered with, before all is well again."""
    token_answers: list[Reply | bytes | None] = field(default_factory=list)
    expires_in: int = 3599
    tokens: list[str] = field(default_factory=list)
    revoked: set[str] = field(default_factory=set)
    claims: list[dict[str, object]] = field(default_factory=list)
    messages: list[bytes] = field(default_factory=list)

    @property
    def token_url(self) -> str:
        return f"{self.peer.url}/token"

    async def answer(self, asked: Asked) -> Reply | bytes | None:
        if asked.path == "/token":
            return self.token_answers.pop(0) if self.token_answers else self._exchange(asked)
        if asked.path != UPLOAD:
            return Reply(status=404, body=b"{}")
        if asked.headers["authorization"] not in {f"Bearer {one}" for one in set(self.tokens) - self.revoked}:
            return refusal(401, "authError", "Invalid Credentials")
        assert asked.headers["content-type"] == "message/rfc822"
        if self.answers:
            return self.answers.pop(0)
        self.messages.append(asked.body)
        sent = {"id": f"18c{len(self.messages):013x}", "threadId": "18c0", "labelIds": ["SENT"]}
        return Reply(body=json.dumps(sent).encode())

    def _exchange(self, asked: Asked) -> Reply:
        form = parse_qs(asked.body.decode(), strict_parsing=True)
        assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
        header, claims, signature = form["assertion"][0].encode().split(b".")
        try:
            self.key.public_key().verify(_read(signature), header + b"." + claims, padding.PKCS1v15(), hashes.SHA256())
        except InvalidSignature:
            return self._no("invalid_grant", "Invalid JWT Signature.")
        head, claims = json.loads(_read(header)), json.loads(_read(claims))
        if (head["alg"], head["typ"], head["kid"]) != ("RS256", "JWT", "key-1"):
            return self._no("invalid_grant", "Invalid JWT: Unknown key.")
        now = self.clock.now().timestamp()
        if claims["aud"] != self.token_url or not now - 5 <= claims["iat"] <= now + 5:
            return self._no("invalid_grant", "Invalid JWT: Token must be a short-lived token.")
        if not now < claims["exp"] <= claims["iat"] + 3600 or claims["iss"] != MAILER:
            return self._no("invalid_grant", "Invalid JWT: Token must be a short-lived token.")
        if claims["scope"] != self.scope or claims["sub"] != "news@example.com":
            return self._no("unauthorized_client", "Client is unauthorized to retrieve access tokens.", status=401)
        self.claims.append(claims)
        self.tokens.append(f"ya29.token-{len(self.tokens)}")
        granted = {"access_token": self.tokens[-1], "expires_in": self.expires_in, "token_type": "Bearer"}
        return Reply(body=json.dumps(granted).encode())

    def _no(self, error: str, description: str, *, status: int = 400) -> Reply:
        return Reply(status=status, body=json.dumps({"error": error, "error_description": description}).encode())


@pytest.fixture(scope="session")
def google_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
def key_file(google_key: rsa.RSAPrivateKey) -> dict[str, str]:
    pem = google_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    return {
        "type": "service_account",
        "project_id": "project",
        "private_key_id": "key-1",
        "private_key": pem,
        "client_email": MAILER,
        "token_uri": "https://attacker.example/token",
    }


@pytest.fixture
async def google(google_key: rsa.RSAPrivateKey) -> AsyncIterator[Google]:
    async with web_peer() as peer:
        google = Google(peer, google_key, VirtualClock())
        peer.behave = google.answer
        yield google


@pytest.fixture
async def vendors(google: Google) -> AsyncIterator[VendorSenders]:
    settings = load(
        {
            "WAYPOST_GMAIL_URL": google.peer.url,
            "WAYPOST_GOOGLE_AUTH_URL": google.token_url,
            "WAYPOST_OUTBOUND_ALLOW": "127.0.0.0/8",
        }
    )
    made = VendorSenders(settings, guard=Guard(Judgement(settings.outbound_allow)), clock=google.clock)
    yield made
    await made.close()


@pytest.fixture
def account(key_file: dict[str, str]) -> AccountConnection:
    return AccountConnection(
        kind=AccountKind.GMAIL, secret=json.dumps(key_file), subject="news@example.com", max_connections=3
    )


@pytest.fixture
async def gmail(vendors: VendorSenders, account: AccountConnection) -> AsyncIterator[EmailSender]:
    sender = vendors.open(account, trusted=False)
    yield sender
    await sender.close()


@pytest.fixture
async def sender_with_patience(
    google: Google, account: AccountConnection
) -> AsyncIterator[Callable[[float], EmailSender]]:
    """`sender_with_patience(0.2)` waits so long, by a real clock, for an answer."""
    from waypost.adapters.vendors.gmail.sender import GmailSender
    from waypost.adapters.vendors.gmail.tokens import SEND_SCOPE, ServiceTokens
    from waypost.senders.service_account import read_service_account

    async with AsyncExitStack() as stack:

        def make(seconds: float) -> EmailSender:
            guard = Guard(Judgement(["127.0.0.0/8"]))
            caller = GuardedHttp(guard, google.clock, timeout=seconds)
            patient = GuardedHttp(guard, google.clock, timeout=30)
            stack.push_async_callback(caller.close)
            stack.push_async_callback(patient.close)
            tokens = ServiceTokens(
                read_service_account(account.secret),
                subject=account.subject,
                scope=SEND_SCOPE,
                caller=patient,
                url=google.token_url,
                clock=google.clock,
            )
            return GmailSender(tokens=tokens, caller=caller, url=google.peer.url, clock=google.clock, at_a_time=3)

        yield make


@dataclass
class Noted:
    """A wire that remembers."""

    went: list[int] = field(default_factory=list)
    outcomes: dict[int, Outcome] = field(default_factory=dict)

    def going(self, index: int) -> None:
        self.went.append(index)

    def answered(self, index: int, outcome: Outcome) -> None:
        assert index not in self.outcomes
        self.outcomes[index] = outcome


@pytest.fixture
def noted() -> type[Noted]:
    return Noted


@pytest.fixture
def wire() -> Noted:
    return Noted()


@pytest.fixture
def letter() -> Callable[..., OutgoingEmail]:
    def write(number: int = 0, *, to: tuple[str, ...] = ("jane@example.com",)) -> OutgoingEmail:
        data = f"From: news@example.com\r\nTo: {to[0]}\r\nSubject: {number}\r\n\r\n.Hello\r\n".encode()
        return OutgoingEmail("bounce@example.com", to, data)

    return write
