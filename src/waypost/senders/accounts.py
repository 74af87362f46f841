"""Sender accounts as a tenant sees them: made, changed, tried out, stopped, archived; and how each stands now."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, NotFound, PreconditionFailed, Refused, refuse
from waypost.kernel.ids import mint, show
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.paging import Page, decode_id_cursor, encode_id_cursor, page_of, read_limit
from waypost.kernel.tenancy import PLATFORM, Permission, Scope
from waypost.kernel.vault import Keyring
from waypost.kernel.work import Transaction
from waypost.senders import pace as pacing
from waypost.senders.capacity import midnight_after, remaining
from waypost.senders.fields import (
    AccountChanges,
    AccountFields,
    faults_of_limits,
    fields_of,
    goes_elsewhere,
    normalised_from,
)
from waypost.senders.model import Account, AccountStatus, Day, Pace, Standing
from waypost.senders.ports import AccountStore, SecretReferences, SenderNames, WaitingMail
from waypost.senders.secrets import SecretGone, check_reference, opened, seal
from waypost.senders.stopping import Stopping
from waypost.senders.vendors import Trial, Vendors
from waypost.senders.warmup import limit_of, start
from waypost.tenants.audit import Audit

MOST_ACCOUNTS: Final = 100
HISTORY: Final = timedelta(days=30)
_LISTING: Final = "sender-accounts"
_ONLY_SHOWN: Final = frozenset({"name", "display_name"})
"""What has no bearing on which messages leave, and when."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AccountView:
    """An account as it stands at one moment."""

    standing: Standing
    now: datetime

    @property
    def account(self) -> Account:
        return self.standing.account

    @property
    def limit(self) -> int | None:
        return limit_of(self.account)

    @property
    def remaining(self) -> int | None:
        return remaining(self.account, self.standing.today)

    @property
    def limit_reached(self) -> bool:
        return self.remaining == 0

    @property
    def next_reset(self) -> datetime:
        return midnight_after(self.now)

    @property
    def next_send_at(self) -> datetime | None:
        """None: at once."""
        moment = self.standing.state.next_at
        return moment if moment is not None and moment > self.now else None

    @property
    def paces(self) -> Sequence[Pace]:
        return [
            pacing.at(pace, pace.provider, self.now, adaptive=self.account.adaptive) for pace in self.standing.paces
        ]


class Accounts:
    def __init__(
        self,
        *,
        store: AccountStore,
        vendors: Vendors,
        references: SecretReferences,
        names: SenderNames,
        stopping: Stopping,
        waiting: WaitingMail,
        keyring: Keyring,
        audit: Audit,
        clock: Clock,
    ) -> None:
        self._store = store
        self._waiting = waiting
        self._vendors = vendors
        self._references = references
        self._names = names
        self._stopping = stopping
        self._keyring = keyring
        self._audit = audit
        self._clock = clock

    async def create(self, tx: Transaction, scope: Scope, fields: AccountFields, secret: str | None) -> AccountView:
        scope.demand(Permission.SENDERS_WRITE)
        fields = self._checked(scope, fields, secret or "")
        await self._names.check(tx, fields.from_address, "/from_address")
        if await self._store.count(tx) >= MOST_ACCOUNTS:
            raise Conflict(f"A tenant has at most {MOST_ACCOUNTS} sender accounts.", code="too_many_accounts")
        now, account_id = self._clock.now(), mint(self._clock)
        account = _configured(
            Account(
                id=account_id,
                name=fields.name,
                display_name="",
                from_address=fields.from_address,
                categories=None,
                daily_limit=None,
                batch_size=fields.batch_size,
                delay_ms=0,
                provider_limits={},
                adaptive=False,
                connection=fields.connection(""),
                secret=await self._sealed(tx, account_id, secret),
                secret_is_reference=secret is not None and check_reference(scope, secret),
                status=AccountStatus.ACTIVE,
                status_reason=None,
                status_at=now,
                warmup=None if fields.warmup is None else start(fields.warmup, now.date()),
                version=1,
                created_at=now,
                updated_at=now,
            ),
            fields,
        )
        if not await self._store.add(tx, account):
            raise _name_taken()
        await self._waiting.call_up(tx, account_id)
        await self._note(tx, scope, "created", account_id, {"kind": account.kind.value})
        return await self._view(tx, account)

    async def get(self, tx: Transaction, scope: Scope, account_id: UUID) -> AccountView:
        scope.demand(Permission.SENDERS_READ)
        return await self._view(tx, await self._find(tx, account_id))

    async def page(
        self, tx: Transaction, scope: Scope, cursor: str | None, limit: int | None, *, archived: bool = False
    ) -> Page[AccountView]:
        """Newest first."""
        scope.demand(Permission.SENDERS_READ)
        size, now = read_limit(limit), self._clock.now()
        found = await self._store.page(tx, decode_id_cursor(_LISTING, cursor), size + 1, archived=archived)
        page = page_of(found, size, lambda last: encode_id_cursor(_LISTING, last.id))
        standings = await self._store.standings(tx, page.items, now)
        return Page(items=[AccountView(standing=one, now=now) for one in standings], next=page.next)

    async def history(self, tx: Transaction, scope: Scope, account_id: UUID) -> Sequence[Day]:
        """The last thirty days on which something was sent."""
        scope.demand(Permission.SENDERS_READ)
        await self._find(tx, account_id)
        return await self._store.days(tx, account_id, self._clock.now().date() - HISTORY)

    async def change(
        self,
        tx: Transaction,
        scope: Scope,
        account_id: UUID,
        changes: AccountChanges,
        *,
        secret: str | None = None,
        expected_version: int | None = None,
    ) -> AccountView:
        """A secret that is given takes the place of the one before. Where the account goes elsewhere it must be given
        again: who may change an account may not thereby learn what it keeps."""
        scope.demand(Permission.SENDERS_WRITE)
        account = await self._find(tx, account_id, for_change=True)
        if expected_version is not None and expected_version != account.version:
            raise PreconditionFailed("The account was changed meanwhile.")
        if account.status is AccountStatus.ARCHIVED:
            raise Conflict("This account is archived: make a new one.", code="account_archived")
        before = fields_of(account)
        fields = replace(before, **changes)
        moved, drops_secret = goes_elsewhere(before, fields), secret is None and not fields.needs_secret
        if secret is None and account.secret is not None and moved and not drops_secret:
            raise refuse("/secret", "secret_needed", "Give the secret again, because the account goes elsewhere now.")
        if account.secret_is_reference and moved and scope.key_tenant != PLATFORM:
            raise refuse(
                "/host", "secret_reference_refused", "Only the operator may send the operator's secret elsewhere."
            )
        given = secret
        if given is None:
            given = "" if drops_secret else await self._known_secret(tx, account)
        fields = self._checked(scope, fields, given, references=secret is not None)
        if fields.from_address != before.from_address:
            await self._names.check(tx, fields.from_address, "/from_address")
        now = self._clock.now()
        changed = _configured(account, fields)
        if fields.warmup != before.warmup:
            changed = replace(changed, warmup=None if fields.warmup is None else start(fields.warmup, now.date()))
        if secret is not None:
            sealed, named = await self._sealed(tx, account_id, secret), check_reference(scope, secret)
            changed = replace(changed, secret=sealed, secret_is_reference=named)
        elif drops_secret:
            changed = replace(changed, secret=None, secret_is_reference=False)
        if changed != account:
            changed = replace(changed, version=account.version + 1, updated_at=now)
            if not await self._store.change(tx, changed):
                raise _name_taken()
            if moved:
                await self._store.forget_paces(tx, account_id)
            names = [*changes, *(["secret"] if secret is not None else [])]
            if not _ONLY_SHOWN.issuperset(names):
                await self._waiting.call_up(tx, account_id)
            await self._note(tx, scope, "changed", account_id, {"changed": " ".join(names)})
        return await self._view(tx, changed)

    async def pause(self, tx: Transaction, scope: Scope, account_id: UUID) -> AccountView:
        return await self._set(tx, scope, account_id, AccountStatus.PAUSED, "paused")

    async def resume(self, tx: Transaction, scope: Scope, account_id: UUID) -> AccountView:
        """After a pause or a suspension. Errors in a row count from nothing again; today's rates stay as they are."""
        return await self._set(tx, scope, account_id, AccountStatus.ACTIVE, "resumed")

    async def archive(self, tx: Transaction, scope: Scope, account_id: UUID) -> None:
        """Nothing leaves by it any more, and its secret is destroyed. It stays for the attempts that name it."""
        await self._set(tx, scope, account_id, AccountStatus.ARCHIVED, "archived")
        account = await self._find(tx, account_id, for_change=True)
        await self._store.change(tx, replace(account, secret=None, secret_is_reference=False))

    async def test(self, tx: Transaction, scope: Scope, account_id: UUID) -> Trial:
        """Enters the server and leaves at once. Nothing is sent."""
        scope.demand(Permission.SENDERS_WRITE)
        account = await self._find(tx, account_id)
        if account.status is AccountStatus.ARCHIVED:
            raise Conflict("This account is archived: make a new one.", code="account_archived")
        try:
            connection = opened(await self._keyring.of(tx), tx.tenant_id, account, self._references)
        except SecretGone:
            return Trial(ok=False, words="The secret cannot be read any more. Give it again.")
        trial = await self._vendors.test(connection, trusted=account.secret_is_reference)
        await self._note(tx, scope, "tested", account_id, {"ok": trial.ok})
        return trial

    async def _set(
        self, tx: Transaction, scope: Scope, account_id: UUID, status: AccountStatus, word: str
    ) -> AccountView:
        scope.demand(Permission.SENDERS_WRITE)
        account = await self._find(tx, account_id, for_change=True)
        if account.status is AccountStatus.ARCHIVED and status is not AccountStatus.ARCHIVED:
            raise Conflict("This account is archived: make a new one.", code="account_archived")
        if await self._stopping.by_hand(tx, account, status):
            await self._note(tx, scope, word, account_id, {"before": account.status.value})
        if status is AccountStatus.ACTIVE:
            await self._store.start_afresh(tx, account_id)
        if status is not AccountStatus.PAUSED:
            await self._waiting.call_up(tx, account_id)
        return await self._view(tx, await self._find(tx, account_id))

    def _checked(self, scope: Scope, fields: AccountFields, secret: str, *, references: bool = True) -> AccountFields:
        """With the address in its one spelling. What a reference names is read to be judged, and not kept."""
        fields = replace(fields, from_address=normalised_from(fields.from_address))
        if references and secret and check_reference(scope, secret):
            try:
                secret = self._references.read(secret)
            except LookupError:
                raise refuse("/secret", "secret_not_found", "The installation has no such variable or file.") from None
        faults = [*faults_of_limits(fields), *self._vendors.faults_of(fields.connection(secret))]
        if faults:
            raise Refused(faults[0].message, code=faults[0].code, errors=faults)
        return fields

    async def _known_secret(self, tx: Transaction, account: Account) -> str:
        try:
            return opened(await self._keyring.of(tx), tx.tenant_id, account, self._references).secret
        except SecretGone:
            raise refuse("/secret", "secret_needed", "The secret cannot be read any more. Give it again.") from None

    async def _sealed(self, tx: Transaction, account_id: UUID, secret: str | None) -> bytes | None:
        return None if not secret else seal(await self._keyring.of(tx), tx.tenant_id, account_id, secret)

    async def _find(self, tx: Transaction, account_id: UUID, *, for_change: bool = False) -> Account:
        found = await self._store.find(tx, account_id, for_change=for_change)
        if found is None:
            raise NotFound("There is no such sender account.")
        return found

    async def _view(self, tx: Transaction, account: Account) -> AccountView:
        now = self._clock.now()
        [standing] = await self._store.standings(tx, [account], now)
        return AccountView(standing=standing, now=now)

    async def _note(
        self, tx: Transaction, scope: Scope, what: str, account_id: UUID, detail: dict[str, JsonValue]
    ) -> None:
        await self._audit.record(tx, scope, f"sender_account.{what}", show("acc", account_id), detail)


def _configured(account: Account, fields: AccountFields) -> Account:
    return replace(
        account,
        name=fields.name,
        display_name=fields.display_name,
        from_address=fields.from_address,
        categories=fields.categories,
        daily_limit=fields.daily_limit,
        batch_size=fields.batch_size,
        delay_ms=fields.delay_ms,
        provider_limits=fields.provider_limits,
        adaptive=fields.adaptive,
        connection=fields.connection(""),
    )


def _name_taken() -> Conflict:
    return Conflict("Another sender account has this name.", code="name_taken")
