"""How each channel's messages leave a tenant."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import Channel, TenantMode
from waypost.kernel.work import Transaction
from waypost.senders.model import AccountStatus
from waypost.senders.ports import AccountStore


class WayOut(StrEnum):
    CATCH_ALL = "catch_all"
    """Nothing leaves the installation: messages can be read in its mailbox."""
    PLATFORM = "platform"
    """By the installation's own server."""
    ACCOUNTS = "accounts"
    """By the tenant's own sender accounts."""
    INBOX = "inbox"
    """Into people's inboxes, which are here."""
    NONE = "none"
    """There is no way yet."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelWay:
    channel: Channel
    way: WayOut
    accounts: int = 0
    """Sender accounts that are not archived."""
    able: int = 0
    """Those of them that are neither paused nor suspended."""


class Ways:
    def __init__(self, *, accounts: AccountStore, platform_sends: bool) -> None:
        self._accounts = accounts
        self._platform_sends = platform_sends

    async def __call__(self, tx: Transaction, scope: Scope) -> Sequence[ChannelWay]:
        scope.demand(Permission.SENDERS_READ)
        accounts = await self._accounts.live(tx)
        able = sum(account.status is AccountStatus.ACTIVE for account in accounts)
        if scope.mode is TenantMode.SANDBOX:
            way = WayOut.CATCH_ALL
        elif accounts:
            way = WayOut.ACCOUNTS
        else:
            way = WayOut.PLATFORM if self._platform_sends else WayOut.CATCH_ALL
        return [
            ChannelWay(channel=channel, way=way, accounts=len(accounts), able=able)
            if channel is Channel.EMAIL
            else ChannelWay(channel=channel, way=WayOut.INBOX if channel is Channel.INAPP else WayOut.NONE)
            for channel in Channel
        ]
