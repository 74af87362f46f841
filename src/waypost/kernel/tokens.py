"""Signed tokens for people who have no key: links in messages, and what a recipient's browser carries.

A token says for what it is (purpose), whose (tenant), about whom (subject), for which place (audience) and until when,
and a signature under a key of that tenant and that purpose proves it. It is read first and believed only after
`Tokens.open` has found it genuine. Every token has exactly one spelling, in base64url:

    method (1) · purpose (1) · expiry in seconds, 0 for none (5) · tenant (1 + n) · audience (1 + n) · subject · proof
"""

import hmac
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum
from typing import Final

from waypost.kernel.clock import Clock
from waypost.kernel.errors import NotFound
from waypost.kernel.mac import PROOF_BYTES
from waypost.kernel.spelling import spell, unspell
from waypost.kernel.vault import Keyring, TenantKey
from waypost.kernel.work import Work

LONGEST_TOKEN: Final = 420
MOST_SUBJECT: Final = 160
MOST_AUDIENCE: Final = 64
_HMAC: Final = 1
"""HMAC-SHA256, cut to 128 bits: what was written so in the past holds for ever."""
_BLAKE2: Final = 2
"""BLAKE2s of 128 bits, with a key."""
_HEAD_BYTES: Final = 7
_TENANT: Final = re.compile(r"[a-z0-9-]{3,63}\Z")
_LATEST: Final = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp())


class Purpose(IntEnum):
    """The closed list of what tokens are for. A token of one purpose never passes for another."""

    UNSUBSCRIBE = 1
    """Valid for years: lessens contact, and does nothing else."""
    PREFERENCES = 2
    """Opens the preference centre. Valid for years: lessens contact."""
    OPT_IN = 3
    """Grants consent. Fresh, and short-lived."""
    RECIPIENT = 4
    """Speaks for a recipient under `/v1/me`. Short-lived."""
    OPEN = 5
    """Named a message to its pixel, before one mark did for both."""
    CLICK = 6
    """Named a message to its links."""
    MESSAGE = 7
    """Names a message to its pixel and its links. Valid for ever: tells which it is, and nothing else; where a link
    leads is signed beside it."""

    @property
    def signs_as(self) -> str:
        return f"token-{self.name.lower()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    purpose: Purpose
    tenant_id: str
    subject: bytes
    """Whom or what it is about; its form is the business of the purpose."""
    audience: str = ""
    """Where it is good, where a purpose has several places."""
    expires_at: datetime | None = None
    """Whole seconds. None: never."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """What a text says it is. Nothing of it is to be believed before `is_genuine`."""

    token: Token
    body: bytes
    proof: bytes

    def is_genuine(self, key: TenantKey) -> bool:
        purpose = self.token.purpose.signs_as
        if self.body[0] == _HMAC:
            return hmac.compare_digest(self.proof, key.sign(purpose, self.body)[:PROOF_BYTES])
        return hmac.compare_digest(self.proof, key.proves(purpose)(self.body))


def write(token: Token, key: TenantKey) -> str:
    body = _body(token)
    return spell(body + key.proves(token.purpose.signs_as)(body))


def read(text: str) -> Claim | None:
    """What the text claims; None where it is no token at all, or not in its one spelling."""
    raw = unspell(text, longest=LONGEST_TOKEN)
    if raw is None or len(raw) < _HEAD_BYTES + 2 + PROOF_BYTES or raw[0] not in (_HMAC, _BLAKE2):
        return None
    body, proof = raw[:-PROOF_BYTES], raw[-PROOF_BYTES:]
    try:
        purpose = Purpose(body[1])
        tenant_id, rest = _cut(body[_HEAD_BYTES:])
        audience, subject = _cut(rest)
    except (ValueError, IndexError):
        return None
    seconds = int.from_bytes(body[2:_HEAD_BYTES], "big")
    if (
        not _TENANT.match(tenant_id)
        or seconds > _LATEST
        or len(subject) > MOST_SUBJECT
        or len(audience) > MOST_AUDIENCE
    ):
        return None
    expires_at = datetime.fromtimestamp(seconds, UTC) if seconds else None
    token = Token(purpose=purpose, tenant_id=tenant_id, subject=subject, audience=audience, expires_at=expires_at)
    return Claim(token=token, body=body, proof=proof)


class Stamp:
    """Writes many tokens of one tenant and purpose that never expire, letter by letter as `write` does, but faster."""

    __slots__ = ("_head", "_prove")

    def __init__(self, purpose: Purpose, tenant_id: str, key: TenantKey) -> None:
        self._head = _body(Token(purpose=purpose, tenant_id=tenant_id, subject=b""))
        self._prove = key.proves(purpose.signs_as)

    def __call__(self, subject: bytes) -> str:
        body = self._head + subject
        return spell(body + self._prove(body))


class Tokens:
    """Makes tokens and believes them. The tenant is found in the token, then its own key judges it."""

    def __init__(self, *, work: Work, keyring: Keyring, clock: Clock) -> None:
        self._work = work
        self._keyring = keyring
        self._clock = clock

    async def issue(self, token: Token) -> str:
        async with self._work.begin(token.tenant_id) as tx:
            return write(token, await self._keyring.of(tx))

    async def open(self, text: str, purpose: Purpose, audience: str = "") -> Token | None:
        """The token, where it is genuine, of this purpose and audience, and in force; None for everything else."""
        claim = read(text)
        if claim is None or claim.token.purpose is not purpose or claim.token.audience != audience:
            return None
        try:
            async with self._work.begin(claim.token.tenant_id) as tx:
                key = await self._keyring.of(tx)
        except NotFound:
            return None
        if not claim.is_genuine(key):
            return None
        ends = claim.token.expires_at
        return claim.token if ends is None or ends > self._clock.now() else None


def _body(token: Token) -> bytes:
    if len(token.subject) > MOST_SUBJECT or len(token.audience) > MOST_AUDIENCE:
        raise ValueError("This does not fit into a token.")
    seconds = 0 if token.expires_at is None else int(token.expires_at.timestamp())
    return (
        bytes((_BLAKE2, token.purpose))
        + seconds.to_bytes(5, "big")
        + _pack(token.tenant_id)
        + _pack(token.audience)
        + token.subject
    )


def _pack(text: str) -> bytes:
    raw = text.encode("ascii")
    return bytes((len(raw),)) + raw


def _cut(raw: bytes) -> tuple[str, bytes]:
    end = 1 + raw[0]
    if len(raw) < end:
        raise ValueError("Cut short.")
    return raw[1:end].decode("ascii"), raw[end:]
