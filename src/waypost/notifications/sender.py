"""Under which name a message goes out, and whether it really goes out."""

from dataclasses import dataclass
from uuid import UUID

from waypost.channels.rules import message_id_of
from waypost.kernel.vault import TenantKey
from waypost.kernel.vocabulary import TenantMode
from waypost.mailbox import return_path
from waypost.notifications.model import Payload
from waypost.templates.ports import MailHead


@dataclass(frozen=True, kw_only=True, slots=True)
class SenderIdentity:
    default_from: str
    message_domain: str
    sends_for_real: bool
    """False where no mail server is configured: then even live tenants' messages end in the catch-all."""

    def is_caught(self, mode: TenantMode) -> bool:
        """Whether a tenant's messages go to the catch-all. A sandbox tenant's always do."""
        return mode is TenantMode.SANDBOX or not self.sends_for_real

    def head(
        self, notification_id: UUID, payload: Payload, date: str, list_headers: tuple[tuple[str, str], ...] = ()
    ) -> MailHead:
        """Where a message can be unsubscribed from, our headers about that take the place of the caller's."""
        own = payload.headers
        if list_headers and own:
            ours = {name.lower() for name, _ in list_headers}
            own = tuple(header for header in own if header[0].lower() not in ours)
        return MailHead(
            message_id=message_id_of(notification_id, self.message_domain),
            sender=payload.sender or self.default_from,
            to=payload.address,
            date=date,
            reply_to=payload.reply_to,
            cc=payload.cc,
            headers=(("Auto-Submitted", "auto-generated"), *list_headers, *own),
        )

    def return_path(self, tenant_id: str, mode: TenantMode, notification_id: UUID, key: TenantKey) -> str:
        caught = return_path.make(tenant_id, notification_id, key.sign)
        if self.is_caught(mode):
            return caught
        return f"{caught.partition('@')[0]}@{self.message_domain}"
