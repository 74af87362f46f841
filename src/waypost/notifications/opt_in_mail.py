"""The mail that asks somebody to confirm their consent (double opt-in)."""

from dataclasses import replace
from datetime import timedelta
from typing import Final

from msgspec import structs

from waypost.kernel.clock import Clock
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vault import Keyring
from waypost.kernel.vocabulary import Category, Channel
from waypost.kernel.work import Transaction
from waypost.notifications.links import Links
from waypost.notifications.model import SubmitCommand
from waypost.notifications.opt_in_words import words_in
from waypost.notifications.ports import SubmitCall
from waypost.preferences.link_subject import LinkSubject
from waypost.preferences.model import Consent, Someone
from waypost.recipients.model import Target
from waypost.templates.model import Content
from waypost.templates.versions import Versions
from waypost.tenants.ports import TenantStore

TEMPLATE: Final = "waypost-double-opt-in"
"""A template of this key, the tenant's own or the platform's, is used instead of our words. It reads `confirm_url` and
`topic`."""
ANSWERED_WITHIN: Final = timedelta(days=7)
_URL: Final = "confirm_url"


class OptInMail:
    def __init__(
        self,
        *,
        submit: SubmitCall,
        versions: Versions,
        tenants: TenantStore,
        links: Links,
        keyring: Keyring,
        clock: Clock,
    ) -> None:
        self._submit = submit
        self._versions = versions
        self._tenants = tenants
        self._links = links
        self._keyring = keyring
        self._clock = clock

    async def send(self, tx: Transaction, scope: Scope, person: Someone, asked: Consent, title: str | None) -> None:
        subject = LinkSubject(recipient_id=person.id, channel=asked.channel, topic=asked.topic, n=asked.n)
        expires_at = self._clock.now() + ANSWERED_WITHIN
        key = await self._keyring.of(tx)
        url = self._links.confirm(tx.tenant_id, subject, key, expires_at)
        tenant = await self._tenants.find(tx, tx.tenant_id)
        words = words_in(person.locale)
        topic = title or words.all_marketing
        command = SubmitCommand(
            to=(Target(id=person.external_id, must_exist=True),),
            to_is_list=False,
            channels=(Channel.EMAIL,),
            variables={_URL: url, "topic": topic, "sender": tenant.name if tenant else ""},
            hidden=frozenset({_URL}),
            expires_at=expires_at,
        )
        if await self._versions.find_active(tx, TEMPLATE, Channel.EMAIL):
            command = structs.replace(command, template=TEMPLATE)
        else:
            content = Content(subject=words.subject, text=words.text, html=words.html)
            command = structs.replace(command, content=content, category=Category.TRANSACTIONAL)
        # Whoever may record a consent may have this one mail sent about it.
        may_send = replace(scope, permissions=scope.permissions | {Permission.NOTIFICATIONS_SEND})
        await self._submit(tx, may_send, command)
