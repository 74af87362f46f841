"""Sessions of people: a key, once presented, becomes a sealed token that a browser can keep for a working day.

The token holds the key under the platform's own key, so nothing is stored here and nothing can be read from it; each
use goes through `Access` again, so a session ends with its key.
"""

import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import msgspec

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Forbidden, NotFound, Unauthenticated
from waypost.kernel.spelling import spell, unspell
from waypost.kernel.tenancy import PLATFORM, Permission, Scope
from waypost.kernel.vault import Keyring, SealBroken, TenantKey
from waypost.kernel.work import Work
from waypost.tenants.access import Access
from waypost.tenants.secret import hint_of

LASTS: Final = timedelta(hours=12)
_PLACE: Final = "console_session"
_FORMS: Final = "console-forms"
_LONGEST_TOKEN: Final = 1_000


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    id: bytes
    secret: str
    acting_for: str | None
    ends_at: datetime

    def __repr__(self) -> str:
        return "_Kept(…)"


_decoder: Final = msgspec.msgpack.Decoder(_Kept)


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    scope: Scope
    hint: str
    """Head and tail of the key, so that people see which one they used."""
    form_proof: str
    """Bound to this session: a form that carries it was made for this browser."""
    ends_at: datetime

    @property
    def chooses_tenants(self) -> bool:
        return self.scope.key_tenant == PLATFORM and Permission.TENANTS_ACT in (
            self.scope.held if self.scope.is_platform else {Permission.TENANTS_ACT}
        )

    def is_proved_by(self, proof: str) -> bool:
        return hmac.compare_digest(self.form_proof.encode(), proof.encode())


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenedSession:
    token: str
    session: Session

    def __repr__(self) -> str:
        return "OpenedSession(…)"


class Sessions:
    def __init__(self, *, work: Work, keyring: Keyring, access: Access, clock: Clock) -> None:
        self._work = work
        self._keyring = keyring
        self._access = access
        self._clock = clock
        self._key: TenantKey | None = None

    async def open(self, secret: str, request_id: str) -> OpenedSession:
        """Refuses like the API does where the key is unknown, expired or revoked."""
        kept = _Kept(secrets.token_bytes(16), secret, None, self._clock.now() + LASTS)
        return await self._seal(kept, request_id)

    async def resume(self, token: str, request_id: str) -> Session:
        """Raises `Unauthenticated` where the token is not ours, has run out, or its key is not valid any more."""
        return await self._session(await self._unseal(token), request_id)

    async def act_for(self, token: str, tenant_id: str | None, request_id: str) -> OpenedSession:
        """The same session, for another tenant; None for the platform itself."""
        kept = await self._unseal(token)
        return await self._seal(msgspec.structs.replace(kept, acting_for=tenant_id), request_id)

    async def _seal(self, kept: _Kept, request_id: str) -> OpenedSession:
        session = await self._session(kept, request_id)
        sealed = (await self._platform_key()).seal(msgspec.msgpack.encode(kept), _PLACE)
        return OpenedSession(token=spell(sealed), session=session)

    async def _unseal(self, token: str) -> _Kept:
        sealed = unspell(token, longest=_LONGEST_TOKEN)
        if sealed is None:
            raise _ended()
        try:
            kept = _decoder.decode((await self._platform_key()).open(sealed, _PLACE))
        except (SealBroken, msgspec.DecodeError):
            raise _ended() from None
        if kept.ends_at <= self._clock.now():
            raise _ended()
        return kept

    async def _session(self, kept: _Kept, request_id: str) -> Session:
        key = await self._platform_key()
        return Session(
            scope=await self._scope(kept, request_id),
            hint=hint_of(kept.secret),
            form_proof=key.sign(_FORMS, kept.id).hex(),
            ends_at=kept.ends_at,
        )

    async def _scope(self, kept: _Kept, request_id: str) -> Scope:
        try:
            return await self._access.authenticate(kept.secret, kept.acting_for, request_id)
        except (NotFound, Forbidden):
            if kept.acting_for is None:
                raise
            # The tenant is on its way out, or the key may not act any more: back to the platform itself.
            return await self._access.authenticate(kept.secret, None, request_id)

    async def _platform_key(self) -> TenantKey:
        """It never changes, so one look is enough."""
        if self._key is None:
            async with self._work.begin(PLATFORM) as tx:
                self._key = await self._keyring.of(tx)
        return self._key


def _ended() -> Unauthenticated:
    return Unauthenticated("The session has ended. Sign in again.", code="session_ended")
