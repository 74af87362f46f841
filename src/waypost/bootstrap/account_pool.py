"""Open ways out of sender accounts, each kept until its account changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

import structlog

from waypost.channels.model import Outcome, OutcomeKind, OutcomeReason, OutgoingEmail
from waypost.channels.ports import EmailSender, Wire
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Refused
from waypost.kernel.ids import show
from waypost.kernel.vault import Keyring
from waypost.kernel.work import Work
from waypost.senders.ports import AccountStore, SecretReferences
from waypost.senders.secrets import SecretGone, opened
from waypost.senders.vendors import Vendors

_log: Final = structlog.stdlib.get_logger()
_MOST_OPEN: Final = 500
GRACE: Final = timedelta(seconds=60)
"""A way that has been replaced stays open this long, and until its last batch is through."""


class ClosedWay:
    """Of an account that cannot be opened: every answer says so. Implements `channels.ports.EmailSender`."""

    def __init__(self, reason: OutcomeReason, words: str) -> None:
        self._outcome = Outcome(kind=OutcomeKind.UNREACHABLE, reason=reason, reply=words)

    async def send(self, messages: Sequence[OutgoingEmail], wire: Wire) -> Sequence[Outcome]:
        for index in range(len(messages)):
            wire.answered(index, self._outcome)
        return [self._outcome] * len(messages)

    async def close(self) -> None:
        return


class KeptWay:
    """Knows whether a batch is on it. Implements `channels.ports.EmailSender`."""

    def __init__(self, sender: EmailSender) -> None:
        self._sender = sender
        self.batches = 0

    async def send(self, messages: Sequence[OutgoingEmail], wire: Wire) -> Sequence[Outcome]:
        self.batches += 1
        try:
            return await self._sender.send(messages, wire)
        finally:
            self.batches -= 1

    async def close(self) -> None:
        await self._sender.close()


@dataclass(slots=True)
class _Kept:
    version: int
    way: KeptWay
    used_at: float


class AccountPool:
    def __init__(
        self,
        *,
        work: Work,
        accounts: AccountStore,
        keyring: Keyring,
        references: SecretReferences,
        vendors: Vendors,
        clock: Clock,
    ) -> None:
        self._work = work
        self._accounts = accounts
        self._keyring = keyring
        self._references = references
        self._vendors = vendors
        self._clock = clock
        self._kept: dict[UUID, _Kept] = {}
        self._retired: list[tuple[float, KeptWay]] = []

    async def sender(self, tenant_id: str, account_id: UUID, version: int) -> EmailSender:
        now = self._clock.monotonic()
        kept = self._kept.get(account_id)
        if kept is None or kept.version != version:
            way = KeptWay(await self._open(tenant_id, account_id))
            if kept is not None:
                self._retired.append((now, kept.way))
            kept = self._kept[account_id] = _Kept(version, way, now)
            self._make_room()
        kept.used_at = now
        await self._close_retired(now)
        return kept.way

    async def close(self) -> None:
        for way in [*(kept.way for kept in self._kept.values()), *(way for _, way in self._retired)]:
            await way.close()
        self._kept.clear()
        self._retired.clear()

    async def _open(self, tenant_id: str, account_id: UUID) -> EmailSender:
        async with self._work.begin(tenant_id) as tx:
            account = await self._accounts.find(tx, account_id)
            key = await self._keyring.of(tx)
        if account is None:
            return ClosedWay(OutcomeReason.CONNECTION, "The account is gone.")
        try:
            connection = opened(key, tenant_id, account, self._references)
            return self._vendors.open(connection, trusted=account.secret_is_reference)
        except SecretGone:
            problem, words = OutcomeReason.AUTHENTICATION, "The secret of the account cannot be read."
        except Refused as refused:
            problem, words = OutcomeReason.CONNECTION, refused.detail
        _log.error(
            "account cannot be opened", action="account_unusable", tenant=tenant_id, account=show("acc", account_id),
            reason=problem.value,
        )  # fmt: skip
        return ClosedWay(problem, words)

    def _make_room(self) -> None:
        while len(self._kept) > _MOST_OPEN:
            oldest = min(self._kept, key=lambda one: self._kept[one].used_at)
            self._retired.append((self._clock.monotonic(), self._kept.pop(oldest).way))

    async def _close_retired(self, now: float) -> None:
        if not self._retired:
            return
        over = [way for since, way in self._retired if way.batches == 0 and now - since >= GRACE.total_seconds()]
        self._retired = [(since, way) for since, way in self._retired if way not in over]
        for way in over:
            await way.close()
