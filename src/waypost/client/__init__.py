"""A typed client of Waypost's HTTP API.

async with Client("http://127.0.0.1:8800", key) as waypost:
    accepted = await waypost.notifications.send(
        Message(to={"id": "user-42", "email": "jane@example.com"}, content={"subject": "Hello", "text": "Welcome"})
    )
"""

from datetime import datetime
from typing import Self

import httpx

from waypost.client.domains import Domains
from waypost.client.errors import ApiError, ClientError, NoAnswerError, Problem
from waypost.client.events import Event, Events, Timers, Triggers
from waypost.client.inboxes import Inboxes
from waypost.client.jobs import Exports, Imports, Jobs
from waypost.client.lists import Lists
from waypost.client.mailbox import Mailbox
from waypost.client.notifications import Attachment, Message, Notifications
from waypost.client.operations import Alerts, DeadLetters, Pauses, Queue, look_at_queue
from waypost.client.recipients import Recipients
from waypost.client.sender_accounts import SenderAccounts
from waypost.client.suppressions import Suppressions
from waypost.client.templates import Templates
from waypost.client.tenants import Audit, Keys, Tenants
from waypost.client.transport import Transport
from waypost.client.webhooks import Webhooks
from waypost.client.wish_answers import Explanation
from waypost.client.wishes import RecipientWishes, Settings, Topics, explain
from waypost.kernel.clock import Clock

__all__ = ["ApiError", "Attachment", "Client", "ClientError", "Event", "Message", "NoAnswerError", "Problem"]


class Client:
    """`tenant` names whom a platform key acts for; a tenant's own key needs none."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        tenant: str | None = None,
        tries: int = 5,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._transport = Transport(url, key, tenant=tenant, tries=tries, transport=transport, clock=clock)
        self.notifications = Notifications(self._transport)
        self.recipients = Recipients(self._transport)
        self.lists = Lists(self._transport)
        self.jobs = Jobs(self._transport)
        self.imports = Imports(self._transport)
        self.exports = Exports(self._transport)
        self.templates = Templates(self._transport)
        self.topics = Topics(self._transport)
        self.preferences = RecipientWishes(self._transport)
        self.settings = Settings(self._transport)
        self.suppressions = Suppressions(self._transport)
        self.tenants = Tenants(self._transport)
        self.keys = Keys(self._transport)
        self.audit = Audit(self._transport)
        self.domains = Domains(self._transport)
        self.sender_accounts = SenderAccounts(self._transport)
        self.webhooks = Webhooks(self._transport)
        self.events = Events(self._transport)
        self.triggers = Triggers(self._transport)
        self.timers = Timers(self._transport)
        self.inboxes = Inboxes(self._transport)
        self.mailbox = Mailbox(self._transport)
        self.pauses = Pauses(self._transport)
        self.dead_letters = DeadLetters(self._transport)
        self.alerts = Alerts(self._transport)

    async def explain(
        self,
        recipient: str,
        *,
        channel: str = "email",
        category: str | None = None,
        topic: str | None = None,
        template: str | None = None,
        priority: str = "normal",
        at: datetime | None = None,
    ) -> Explanation:
        """What would happen to a message to this person, and why; nothing is sent."""
        return await explain(
            self._transport,
            recipient,
            channel=channel,
            category=category,
            topic=topic,
            template=template,
            priority=priority,
            at=at,
        )

    async def queue(self) -> Queue:
        """What waits in each lane; with a platform key, over all tenants."""
        return await look_at_queue(self._transport)

    async def ready(self) -> bool:
        """Whether the API and all it needs answer."""
        try:
            await self._transport.raw("GET", "/readyz", tries=1)
        except ClientError:
            return False
        return True

    async def close(self) -> None:
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
