"""Under which name a message goes out, and whether it really goes out."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from waypost.channels.rules import message_id_of
from waypost.kernel.vault import TenantKey
from waypost.kernel.vocabulary import TenantMode
from waypost.mailbox import return_path
from waypost.notifications.links import FEEDBACK
from waypost.notifications.model import Payload
from waypost.notifications.tails import Luggage
from waypost.templates.ports import MailHead

_AUTOMATIC: Final = ("Auto-Submitted", "auto-generated")
_UNSUBSCRIBE: Final = "list-unsubscribe"


@dataclass(frozen=True, kw_only=True, slots=True)
class SenderIdentity:
    default_from: str
    message_domain: str
    sends_for_real: bool
    """False where no mail server is configured: then even live tenants' messages end in the catch-all."""

    def is_caught(self, mode: TenantMode, *, has_account: bool = False) -> bool:
        """Whether a tenant's messages go to the catch-all. A sandbox tenant's always do, whatever accounts it has."""
        return mode is TenantMode.SANDBOX or not (self.sends_for_real or has_account)

    def head(
        self,
        notification_id: UUID,
        payload: Payload,
        date: str,
        list_headers: tuple[tuple[str, str], ...] = (),
        luggage: Luggage | None = None,
        mailbox: str | None = None,
        unsubscribe: str | None = None,
    ) -> MailHead:
        """Where a message can be unsubscribed from, our headers about that take the place of the caller's; how
        complaints are counted is the caller's own affair."""
        own = payload.headers
        if list_headers and own:
            if any(name.lower() == FEEDBACK.lower() for name, _ in own):
                list_headers = tuple(header for header in list_headers if header[0] != FEEDBACK)
            ours = {_UNSUBSCRIBE, *(name.lower() for name, _ in list_headers)}
            own = tuple(header for header in own if header[0].lower() not in ours)
        return MailHead(
            message_id=message_id_of(notification_id, self.message_domain),
            sender=payload.sender or mailbox or self.default_from,
            to=payload.address,
            date=date,
            reply_to=payload.reply_to,
            cc=payload.cc,
            headers=(_AUTOMATIC, *list_headers, *own),
            has_images=luggage is not None and luggage.has_images,
            has_files=luggage is not None and luggage.has_others,
            unsubscribe=unsubscribe,
        )

    def return_paths(
        self, tenant_id: str, mode: TenantMode, key: TenantKey, domain: str | None = None, *, has_account: bool = False
    ) -> return_path.Writer:
        """At the tenant's own return-path domain, where it has proved one, else at the platform's."""
        place = None if self.is_caught(mode, has_account=has_account) else domain or self.message_domain
        return return_path.Writer(tenant_id, key, place)
