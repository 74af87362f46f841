"""Access tokens of a service account that acts for a mailbox: a signed claim is exchanged for one (RFC 7523)."""

import asyncio
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

import msgspec

from waypost.adapters.vendors.gmail.outcomes import token_refused
from waypost.channels.model import Outcome, OutcomeKind, OutcomeReason
from waypost.kernel.clock import Clock
from waypost.outbox.ports import Caller
from waypost.senders.service_account import ServiceAccount

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

SEND_SCOPE: Final = "https://www.googleapis.com/auth/gmail.send"
SMTP_SCOPE: Final = "https://mail.google.com/"
_GRANT: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_CLAIMED_SECONDS: Final = 3600
_BEFORE_IT_ENDS: Final = 120.0
_FAILURE_KEPT: Final = 20.0
"""A refusal is not asked for again at once: a batch has hundreds of messages."""
_LONGEST_TOKEN: Final = 8192
_SHORTEST_KEY: Final = 1024


class TokenRefused(Exception):
    """There is no token. `outcome` is what that means for a message."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.reason)
        self.outcome = outcome


class _Granted(msgspec.Struct):
    access_token: str
    expires_in: float = 3600


class ServiceTokens:
    """Kept until shortly before they end; whoever comes while one is fetched waits for it."""

    def __init__(
        self, account: ServiceAccount, *, subject: str, scope: str, caller: Caller, url: str, clock: Clock
    ) -> None:
        self._account = account
        self._subject = subject
        self._scope = scope
        self._caller = caller
        self._url = url
        self._clock = clock
        self._fetching = asyncio.Lock()
        self._key: RSAPrivateKey | None = None
        self._token = ""
        self._good_until = 0.0
        self._failure: Outcome | None = None
        self._failed_until = 0.0

    async def token(self, *, not_this: str | None = None) -> str:
        """`not_this` has been refused: another one. Raises `TokenRefused`."""
        async with self._fetching:
            now = self._clock.monotonic()
            if self._token and self._token != not_this and now < self._good_until:
                return self._token
            if self._failure is not None and now < self._failed_until:
                raise TokenRefused(self._failure)
            answer = await self._caller.post(self._url, _FORM, await self._request())
            granted = _granted(answer.body) if answer.status == 200 else None
            if granted is None:
                self._failure, self._failed_until = token_refused(answer), now + _FAILURE_KEPT
                raise TokenRefused(self._failure)
            self._token, self._failure = granted.access_token, None
            self._good_until = now + max(granted.expires_in - _BEFORE_IT_ENDS, 0.0)
            return self._token

    async def _request(self) -> bytes:
        if self._key is None:
            # Judging a key takes as long as sending a thousand messages.
            try:
                self._key = await asyncio.to_thread(_key_of, self._account)
            except (ValueError, TypeError):
                raise TokenRefused(_NO_KEY) from None
        issued = int(self._clock.now().timestamp())
        claim = {
            "iss": self._account.email,
            "sub": self._subject,
            "scope": self._scope,
            "aud": self._url,
            "iat": issued,
            "exp": issued + _CLAIMED_SECONDS,
        }
        return urlencode({"grant_type": _GRANT, "assertion": _signed(self._account, self._key, claim)}).encode()


_NO_KEY: Final = Outcome(
    kind=OutcomeKind.UNREACHABLE, reason=OutcomeReason.AUTHENTICATION, reply="The service account's key cannot be read."
)
_FORM: Final = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}


def _signed(account: ServiceAccount, key: "RSAPrivateKey", claim: dict[str, str | int]) -> str:
    """As a JWT by RS256."""
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.hashes import SHA256

    header = {"alg": "RS256", "typ": "JWT"} | ({"kid": account.key_id} if account.key_id else {})
    head = _part(msgspec.json.encode(header)) + b"." + _part(msgspec.json.encode(claim))
    signature = key.sign(head, PKCS1v15(), SHA256())
    return (head + b"." + _part(signature)).decode()


def fault_of_key(account: ServiceAccount) -> str | None:
    """Why the key cannot sign, in words that repeat nothing of it."""
    try:
        key = _key_of(account)
    except (ValueError, TypeError):
        return "The key file's `private_key` cannot be read as an RSA key."
    if key.key_size < _SHORTEST_KEY:
        return "The key file's `private_key` is too short."
    return None


def _key_of(account: ServiceAccount) -> "RSAPrivateKey":
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(account.private_key.encode(), password=None)
    except UnsupportedAlgorithm as error:
        raise ValueError(str(error)) from error
    if not isinstance(key, RSAPrivateKey):
        raise TypeError("not RSA")
    return key


def _granted(body: bytes) -> _Granted | None:
    try:
        granted = msgspec.json.decode(body, type=_Granted)
    except (msgspec.DecodeError, UnicodeError):
        return None
    token = granted.access_token
    fit = 0 < len(token) <= _LONGEST_TOKEN and token.isascii() and token.isprintable() and " " not in token
    return granted if fit else None


def _part(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")
