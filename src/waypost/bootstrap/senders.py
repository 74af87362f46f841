"""Which way a tenant's messages leave: sandbox tenants' end in the catch-all, always."""

from collections.abc import Sequence

from waypost.adapters.vendors.smtp.options import smtp_options
from waypost.adapters.vendors.smtp.sender import SmtpSender
from waypost.bootstrap.account_pool import AccountPool
from waypost.channels.model import Outcome, OutcomeKind, OutcomeReason, OutgoingEmail
from waypost.channels.ports import EmailSender, Wire
from waypost.delivery.model import Way
from waypost.kernel.errors import NotFound
from waypost.kernel.vocabulary import TenantMode
from waypost.kernel.work import Work
from waypost.notifications.sender import SenderIdentity
from waypost.settings import Settings
from waypost.tenants.ports import TenantStore


class NoMailbox:
    """Where no catch-all runs, what belongs into it goes nowhere at all. Implements `channels.ports.EmailSender`."""

    async def send(self, messages: Sequence[OutgoingEmail], wire: Wire) -> Sequence[Outcome]:
        outcome = Outcome(
            kind=OutcomeKind.REJECTED, reason=OutcomeReason.POLICY, reply="There is no catch-all mailbox here."
        )
        for index in range(len(messages)):
            wire.answered(index, outcome)
        return [outcome] * len(messages)

    async def close(self) -> None:
        return


class TenantSenders:
    """Implements `delivery.ports.Senders`. A tenant's mode never changes, so it is asked for once."""

    def __init__(
        self,
        *,
        settings: Settings,
        identity: SenderIdentity,
        work: Work,
        tenants: TenantStore,
        accounts: AccountPool | None = None,
    ) -> None:
        self._accounts = accounts
        self._identity = identity
        self._work = work
        self._tenants = tenants
        self._modes: dict[str, TenantMode] = {}
        self._caught = _catchall(settings)
        self._real = self._caught if settings.smtp_url is None else _real(settings, settings.smtp_url.reveal())

    async def email(self, tenant_id: str) -> EmailSender:
        mode = self._modes.get(tenant_id) or await self._ask(tenant_id)
        return self._caught if self._identity.is_caught(mode) else self._real

    async def by_account(self, tenant_id: str, way: Way) -> EmailSender:
        """A sandbox tenant's accounts count, and nothing leaves by them."""
        mode = self._modes.get(tenant_id) or await self._ask(tenant_id)
        if self._accounts is None or self._identity.is_caught(mode, has_account=True):
            return self._caught
        return await self._accounts.sender(tenant_id, way.account_id, way.version)

    async def close(self) -> None:
        await self._caught.close()
        await self._real.close()
        if self._accounts is not None:
            await self._accounts.close()

    async def _ask(self, tenant_id: str) -> TenantMode:
        async with self._work.begin(tenant_id) as tx:
            tenant = await self._tenants.find(tx, tenant_id)
        if tenant is None:
            raise NotFound("There is no such tenant.")
        self._modes[tenant_id] = tenant.mode
        return tenant.mode


def _catchall(settings: Settings) -> EmailSender:
    if not settings.catchall_port:
        return NoMailbox()
    url = f"smtp://127.0.0.1:{settings.catchall_port}?tls=off"
    return SmtpSender(smtp_options(url, name=settings.message_domain, connections=settings.smtp_connections))


def _real(settings: Settings, url: str) -> EmailSender:
    return SmtpSender(smtp_options(url, name=settings.message_domain, connections=settings.smtp_connections))
