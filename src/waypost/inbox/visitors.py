"""Recipients who speak for themselves: short-lived tokens issued by the tenant's server, or an id proved by an HMAC.

A token's subject is the recipient's id and when it was issued, so that all earlier ones can be made void at once.
"""

import hashlib
import hmac
import re
import secrets
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from waypost.inbox.model import Visitor
from waypost.inbox.ports import Audiences, InboxBell, InboxStore, VisitorStore
from waypost.kernel import tokens
from waypost.kernel.clock import Clock
from waypost.kernel.durations import read_duration
from waypost.kernel.errors import Forbidden, NotFound, Unauthenticated, refuse
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.tokens import Purpose, Token
from waypost.kernel.vault import Keyring, place
from waypost.kernel.vocabulary import TenantMode
from waypost.kernel.work import Transaction
from waypost.tenants.audit import Audit
from waypost.tenants.model import TenantStatus
from waypost.tenants.ports import TenantStore
from waypost.tenants.rules import is_slug

DEFAULT_LIFE: Final = timedelta(hours=1)
LONGEST_LIFE: Final = timedelta(hours=24)
PREFIX: Final = "wpr_"
"""Tells a recipient's token from a key at a glance."""
PROOF_PREFIX: Final = "wph_"
_MOMENT_BYTES: Final = 6
_LONGEST_NAME: Final = 300
_LOCAL: Final = re.compile(r"https?://(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?\Z")
_SECRET_PLACE: Final = UUID(int=0)


class Visitors:
    def __init__(
        self,
        *,
        store: VisitorStore,
        inboxes: InboxStore,
        audiences: Audiences,
        tenants: TenantStore,
        keyring: Keyring,
        bell: InboxBell,
        audit: Audit,
        clock: Clock,
    ) -> None:
        self._store = store
        self._inboxes = inboxes
        self._audiences = audiences
        self._tenants = tenants
        self._keyring = keyring
        self._bell = bell
        self._audit = audit
        self._clock = clock

    async def issue(
        self, tx: Transaction, scope: Scope, external_id: str, life: str | None = None
    ) -> tuple[str, datetime]:
        """A token for one recipient, and when it ends."""
        scope.demand(Permission.RECIPIENTS_TOKEN)
        recipient_id = await self._recipient(tx, external_id)
        return await self._write(tx, recipient_id, _read_life(life))

    async def end_all(self, tx: Transaction, scope: Scope, external_id: str) -> None:
        """Every token issued so far is void; open streams end within seconds."""
        scope.demand(Permission.RECIPIENTS_TOKEN)
        recipient_id = await self._recipient(tx, external_id)
        await self._store.end_tokens(tx, recipient_id, self._clock.now())
        self._bell.about_person(tx, recipient_id)
        await self._audit.record(tx, scope, "recipient_tokens.ended", external_id, {})

    async def new_identity_secret(self, tx: Transaction, scope: Scope) -> str:
        """Shown once. Whoever knows it can prove to be any recipient of the tenant, so it stays on the server."""
        scope.demand(Permission.INBOX_WRITE)
        key = await self._keyring.of(tx)
        secret = secrets.token_hex(32)
        sealed = key.seal(secret.encode(), place("identity_secret", tx.tenant_id, _SECRET_PLACE))
        await self._inboxes.put_identity_secret(tx, sealed, self._clock.now())
        await self._audit.record(tx, scope, "identity_secret.made", "inbox", {})
        return secret

    async def drop_identity_secret(self, tx: Transaction, scope: Scope) -> None:
        scope.demand(Permission.INBOX_WRITE)
        await self._inboxes.put_identity_secret(tx, None, self._clock.now())
        await self._audit.record(tx, scope, "identity_secret.dropped", "inbox", {})

    async def open_proof(self, tx: Transaction, text: str) -> Visitor:
        """Someone whose id comes with its HMAC. Only where the tenant has made an identity secret."""
        tenant_id, external_id, proof = _read_proof(text)
        await self._check_tenant(tx, reading=False)
        secret = (await self._inboxes.settings(tx)).identity_secret
        if tenant_id != tx.tenant_id or secret is None:
            raise invalid_token()
        key = await self._keyring.of(tx)
        plain = key.open(secret, place("identity_secret", tenant_id, _SECRET_PLACE))
        wanted = hmac.new(plain, external_id.encode(), hashlib.sha256).hexdigest()
        found = await self._audiences.by_external_ids(tx, [external_id])
        if not hmac.compare_digest(wanted.encode(), proof.encode()) or not found:
            raise invalid_token()
        return Visitor(
            tenant_id=tenant_id,
            recipient_id=found[0].recipient_id,
            external_id=external_id,
            expires_at=self._clock.now() + DEFAULT_LIFE,
        )

    async def issue_to(self, tx: Transaction, visitor: Visitor) -> tuple[str, datetime]:
        """A token for someone who has just proved who they are."""
        return await self._write(tx, visitor.recipient_id, DEFAULT_LIFE)

    async def check_origin(self, tx: Transaction, origin: str | None, *, own: str) -> None:
        """A page that calls for a recipient must be on a site of the tenant's; programs name no site."""
        if origin is None or origin == own:
            return
        if origin in (await self._inboxes.settings(tx)).allowed_origins:
            return
        tenant = await self._tenants.find(tx, tx.tenant_id)
        if tenant is not None and tenant.mode is TenantMode.SANDBOX and _LOCAL.match(origin):
            return
        message = "This site may not call for recipients. The tenant allows it in its inbox settings."
        raise Forbidden(message, code="origin_not_allowed")

    async def open_in(self, tx: Transaction, text: str, *, reading: bool) -> Visitor:
        """Who a token speaks for, inside a transaction of its tenant. Refuses what is forged, over, void, or of
        somebody erased."""
        claim = _claim(text)
        if (
            claim is None
            or claim.token.purpose is not Purpose.RECIPIENT
            or claim.token.tenant_id != tx.tenant_id
            or not claim.is_genuine(await self._keyring.of(tx))
        ):
            raise invalid_token()
        token = claim.token
        if token.expires_at is None or token.expires_at <= self._clock.now():
            raise Unauthenticated("The token has run out. Ask your server for a new one.", code="token_expired")
        recipient_id, issued = _read_subject(token.subject)
        standing = await self._store.standing(tx, recipient_id)
        if standing is None or (standing.not_before is not None and issued < standing.not_before):
            raise invalid_token()
        await self._check_tenant(tx, reading=reading)
        return Visitor(
            tenant_id=tx.tenant_id,
            recipient_id=standing.recipient_id,
            external_id=standing.external_id,
            expires_at=token.expires_at,
        )

    async def _check_tenant(self, tx: Transaction, *, reading: bool) -> None:
        tenant = await self._tenants.find(tx, tx.tenant_id)
        if tenant is None:
            raise invalid_token()
        if tenant.status is TenantStatus.DELETING:
            raise Forbidden("This tenant is being deleted.", code="tenant_deleting")
        if tenant.status is TenantStatus.SUSPENDED and not reading:
            raise Forbidden(
                "This tenant is suspended: it can be read, but nothing can be changed.", code="tenant_suspended"
            )

    async def _recipient(self, tx: Transaction, external_id: str) -> UUID:
        found = await self._audiences.by_external_ids(tx, [external_id])
        if not found:
            raise NotFound("There is no recipient of this id.")
        return found[0].recipient_id

    async def _write(self, tx: Transaction, recipient_id: UUID, life: timedelta) -> tuple[str, datetime]:
        now = self._clock.now()
        expires_at = (now + life).replace(microsecond=0)
        issued = int(now.timestamp() * 1000).to_bytes(_MOMENT_BYTES, "big")
        token = Token(
            purpose=Purpose.RECIPIENT,
            tenant_id=tx.tenant_id,
            subject=recipient_id.bytes + issued,
            expires_at=expires_at,
        )
        return PREFIX + tokens.write(token, await self._keyring.of(tx)), expires_at


def claimed_tenant(text: str) -> str:
    """The tenant that a token or proof names; nothing is proved by it."""
    if text.startswith(PROOF_PREFIX):
        return _read_proof(text)[0]
    claim = _claim(text)
    if claim is None:
        raise invalid_token()
    return claim.token.tenant_id


def visitor_scope(visitor: Visitor, request_id: str) -> Scope:
    """A recipient holds no permission at all: what they may do is what is offered to recipients."""
    return Scope(
        tenant_id=visitor.tenant_id,
        mode=TenantMode.LIVE,
        key_id=visitor.recipient_id,
        key_tenant=visitor.tenant_id,
        permissions=frozenset(),
        request_id=request_id,
    )


def _claim(text: str) -> tokens.Claim | None:
    return tokens.read(text.removeprefix(PREFIX)) if text.startswith(PREFIX) else None


def _read_proof(text: str) -> tuple[str, str, str]:
    """`wph_` + base64url of tenant, line feed, recipient + `.` + HMAC-SHA256 of the recipient's id, in hex."""
    named, _, proof = text.removeprefix(PROOF_PREFIX).partition(".")
    raw = tokens.unspell(named, longest=_LONGEST_NAME) if text.startswith(PROOF_PREFIX) else None
    try:
        tenant_id, mark, external_id = (raw or b"").decode().partition("\n")
    except UnicodeDecodeError:
        raise invalid_token() from None
    if not mark or not is_slug(tenant_id) or not external_id.isprintable():
        raise invalid_token()
    return tenant_id, external_id, proof


def _read_subject(subject: bytes) -> tuple[UUID, datetime]:
    if len(subject) != 16 + _MOMENT_BYTES:
        raise invalid_token()
    issued = datetime.fromtimestamp(int.from_bytes(subject[16:], "big") / 1000, UTC)
    return UUID(bytes=subject[:16]), issued


def _read_life(text: str | None) -> timedelta:
    if text is None:
        return DEFAULT_LIFE
    found = read_duration(text)
    if found is None or not timedelta(minutes=1) <= found.elapsed <= LONGEST_LIFE:
        raise refuse("/expires_in", "out_of_range", "A token lives from 1m to 24h.")
    return found.elapsed


def invalid_token() -> Unauthenticated:
    return Unauthenticated("The token is missing, unknown or void.", code="invalid_token")
