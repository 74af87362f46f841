"""Suppressions by hand: someone with a key names an address, and the audit log remembers who."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from waypost.kernel.address import PHONE_CHANNELS, mask, read_address
from waypost.kernel.errors import refuse
from waypost.kernel.ids import show
from waypost.kernel.paging import Page
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import Keyring
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.recipients.model import PHONE
from waypost.suppression.model import NewSuppression, Releaser, Suppression, SuppressionReason
from waypost.suppression.suppress import Suppressions
from waypost.tenants.audit import Audit

_SOURCE: Final = "api"


class SuppressionDesk:
    def __init__(self, *, suppressions: Suppressions, keyring: Keyring, audit: Audit) -> None:
        self._suppressions = suppressions
        self._keyring = keyring
        self._audit = audit

    async def suppress(
        self,
        tx: Transaction,
        scope: Scope,
        *,
        channel: Channel,
        address: str,
        reason: SuppressionReason,
        expires_at: datetime | None = None,
    ) -> Suppression:
        """The answer is what is in force now: it may be graver than what was asked for."""
        scope.demand(Permission.SUPPRESSIONS_WRITE)
        if reason is SuppressionReason.RATE_LIMIT and expires_at is None:
            raise refuse("/expires_at", "required", "A rate limit has an end; say when.")
        read = read_address(channel, address, "/address")
        key = await self._keyring.of(tx)
        word = PHONE.word if channel in PHONE_CHANNELS else channel.word
        new = NewSuppression(
            channel=channel,
            hash=key.hash_address(word, read.text),
            masked=mask(channel, read.text),
            reason=reason,
            source=f"{_SOURCE}:{show('key', scope.key_id)}",
            expires_at=expires_at,
        )
        standing = await self._suppressions.suppress(tx, new)
        detail = {"channel": channel.word, "asked": reason.value, "reason": standing.reason.value}
        await self._audit.record(tx, scope, "suppression.added", show("sup", standing.id), dict(detail))
        return standing

    async def release(self, tx: Transaction, scope: Scope, suppression_id: UUID) -> None:
        """Releasing twice is as good as once."""
        scope.demand(Permission.SUPPRESSIONS_WRITE)
        by = show("key", scope.key_id)
        released = await self._suppressions.release(tx, suppression_id, releaser=Releaser.OPERATOR, by=by)
        detail = {"channel": released.channel.word, "reason": released.reason.value}
        await self._audit.record(tx, scope, "suppression.released", show("sup", suppression_id), dict(detail))

    async def page(self, tx: Transaction, scope: Scope, cursor: str | None, limit: int | None) -> Page[Suppression]:
        """Those in force, newest first."""
        scope.demand(Permission.SUPPRESSIONS_READ)
        return await self._suppressions.page(tx, cursor, limit)

    async def of_recipient(self, tx: Transaction, scope: Scope, external_id: str) -> Sequence[Suppression]:
        """What is in force against one person's addresses, newest first."""
        scope.demand(Permission.SUPPRESSIONS_READ)
        return await self._suppressions.of_recipient(tx, external_id)
