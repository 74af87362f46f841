"""What the hosted pages do for someone who holds a link and nothing else.

A link of a message may only lessen contact; what adds contact needs a fresh link that answers to one word said before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from waypost.kernel.address import mask
from waypost.kernel.clock import Clock
from waypost.kernel.errors import NotFound
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.tokens import Purpose, Token, Tokens
from waypost.kernel.vault import Keyring, SealBroken, TenantKey, place
from waypost.kernel.vocabulary import Category, Channel, TenantMode
from waypost.kernel.work import Transaction, Work
from waypost.notifications.consent import LINK, Consents
from waypost.notifications.links import CONFIRM, UNDO, grant_token
from waypost.notifications.unsubscribe import Unsubscribe
from waypost.preferences.history import state_of
from waypost.preferences.link_subject import LinkSubject, unpack
from waypost.preferences.model import ALL_MARKETING, ChannelChoice, Consent, Policy, Someone, Topic, UnsubscribeGet
from waypost.preferences.ports import ChoiceStore, PolicyStore, TopicStore
from waypost.preferences.rules import TopicFacts, consents, objection
from waypost.suppression.suppress import Suppressions
from waypost.tenants.audit import OPERATOR
from waypost.tenants.ports import TenantStore

UNDO_WITHIN: Final = timedelta(hours=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Holder:
    """Who holds a link, as far as a page shows them."""

    tenant_id: str
    tenant_name: str
    subject: LinkSubject
    person: Someone | None
    """None where nothing is left of them; a link still answers."""
    topic: Topic | None
    masked: str | None

    @property
    def locale(self) -> str | None:
        return self.person.locale if self.person else None


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicRow:
    topic: Topic
    on: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Centre:
    holder: Holder
    rows: Sequence[TopicRow]
    marketing_on: bool
    """Whether any marketing may still come."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stopped:
    holder: Holder
    topic: Topic | None
    """None: all marketing, or a topic that is not there any more."""
    undo: str | None
    """A fresh token that takes it back, where there was something to stop."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HostedParts:
    work: Work
    tokens: Tokens
    people: ChoiceStore
    topics: TopicStore
    policies: PolicyStore
    suppressions: Suppressions
    tenants: TenantStore
    unsubscribe: Unsubscribe
    consents: Consents
    keyring: Keyring
    clock: Clock


class Hosted:
    def __init__(self, parts: HostedParts) -> None:
        self._parts = parts

    async def asks_first(self, text: str) -> bool:
        """Whether opening an unsubscribe link only asks; for a link that is not genuine it does not matter."""
        token = await self._open(text, Purpose.UNSUBSCRIBE)
        async with self._parts.work.begin(token.tenant_id) as tx:
            return (await self._parts.policies.policy(tx)).unsubscribe_get is UnsubscribeGet.CONFIRM

    async def look(self, text: str) -> Holder:
        """Who an unsubscribe link is about."""
        token = await self._open(text, Purpose.UNSUBSCRIBE)
        async with self._parts.work.begin(token.tenant_id) as tx:
            return await self._holder(tx, token)

    async def unsubscribe(self, text: str, *, everything: bool = False) -> Stopped:
        """From the link's topic, or from all marketing. Again is as good as once."""
        token = await self._open(text, Purpose.UNSUBSCRIBE)
        async with self._parts.work.begin(token.tenant_id) as tx:
            holder = await self._holder(tx, token)
            topic = ALL_MARKETING if everything else holder.subject.topic
            return await self._stop(tx, holder, topic)

    async def centre(self, text: str) -> Centre:
        token = await self._open(text, Purpose.PREFERENCES)
        async with self._parts.work.begin(token.tenant_id) as tx:
            return await self._centre(tx, await self._holder(tx, token))

    async def stop(self, text: str, topic: str) -> Stopped:
        """From the preference centre: one topic off, or (`""`) all marketing."""
        token = await self._open(text, Purpose.PREFERENCES)
        async with self._parts.work.begin(token.tenant_id) as tx:
            holder = await self._holder(tx, token)
            found = await self._parts.topics.find(tx, topic) if topic else None
            if topic and (found is None or found.mandatory):
                raise NotFound("There is no such topic to turn off.")
            return await self._stop(tx, holder, topic)

    async def ask(self, text: str, topic: str, request_id: str) -> Holder:
        """From the preference centre: the holder would like a topic; a fresh link goes to their address."""
        token = await self._open(text, Purpose.PREFERENCES)
        async with self._parts.work.begin(token.tenant_id) as tx:
            holder = await self._holder(tx, token)
            if await self._parts.topics.find(tx, topic) is None:
                raise NotFound("There is no such topic.")
            if holder.person is not None and not holder.person.erased:
                scope = _own_scope(token.tenant_id, request_id)
                await self._parts.consents.ask_by_link(tx, scope, holder.person, holder.subject.channel, topic)
            return holder

    async def look_at_answer(self, text: str) -> tuple[Holder, bool]:
        """Who a fresh link is about, and whether it is there to undo."""
        token, undo = await self._open_fresh(text)
        async with self._parts.work.begin(token.tenant_id) as tx:
            return await self._holder(tx, token), undo

    async def answer(self, text: str) -> tuple[Holder, bool]:
        """Grants, where the link is still the last word; says whether it did."""
        token, undo = await self._open_fresh(text)
        async with self._parts.work.begin(token.tenant_id) as tx:
            holder = await self._holder(tx, token)
            if holder.person is None or holder.person.erased:
                return holder, False
            return holder, await self._parts.consents.answer(tx, holder.person, holder.subject, undo=undo)

    async def _stop(self, tx: Transaction, holder: Holder, topic: str) -> Stopped:
        found = await self._parts.topics.find(tx, topic) if topic else None
        if holder.person is None:
            return Stopped(holder=holder, topic=found, undo=None)
        subject = holder.subject
        word = await self._parts.unsubscribe(
            tx,
            holder.person,
            channel=subject.channel,
            topic=topic,
            source=LINK,
            address_id=subject.address_id,
        )
        return Stopped(holder=holder, topic=found, undo=await self._undo(tx, holder, word) if word else None)

    async def _undo(self, tx: Transaction, holder: Holder, word: Consent) -> str:
        subject = LinkSubject(
            recipient_id=holder.subject.recipient_id, channel=word.channel, topic=word.topic, n=word.n
        )
        ends = self._parts.clock.now() + UNDO_WITHIN
        return grant_token(UNDO, tx.tenant_id, subject, await self._parts.keyring.of(tx), ends)

    async def _centre(self, tx: Transaction, holder: Holder) -> Centre:
        person, channel = holder.person, holder.subject.channel
        if person is None or person.erased:
            return Centre(holder=holder, rows=[], marketing_on=False)
        policy = await self._parts.policies.policy(tx)
        choice = (await self._parts.people.find(tx, person.id)).channels.get(channel)
        standing = await self._parts.consents.standing(tx, person.id)
        topics = await self._parts.topics.all(tx)
        rows = [TopicRow(topic=topic, on=_is_on(policy, channel, topic, choice, standing)) for topic in topics]
        chosen = choice or ChannelChoice()
        marketing = chosen.categories.get(Category.MARKETING, True) and consents(
            policy.consent_policy, state_of(standing, channel, ALL_MARKETING)
        )
        some = any(row.on for row in rows if row.topic.category is Category.MARKETING)
        return Centre(holder=holder, rows=rows, marketing_on=marketing or some)

    async def _holder(self, tx: Transaction, token: Token) -> Holder:
        subject = unpack(token.subject)
        if subject is None:
            raise _invalid()
        tenant = await self._parts.tenants.find(tx, token.tenant_id)
        person = await self._parts.people.someone_by_id(tx, subject.recipient_id)
        return Holder(
            tenant_id=token.tenant_id,
            tenant_name=tenant.name if tenant else "",
            subject=subject,
            person=person,
            topic=await self._parts.topics.find(tx, subject.topic) if subject.topic else None,
            masked=await self._masked(tx, subject, person),
        )

    async def _masked(self, tx: Transaction, subject: LinkSubject, person: Someone | None) -> str | None:
        if person is None or person.erased:
            return None
        reach = await self._parts.suppressions.reach(tx, person.id, subject.channel, subject.address_id)
        named = [address for address in reach if address.id == subject.address_id] or list(reach)
        key: TenantKey = await self._parts.keyring.of(tx)
        for address in named:
            if address.data_key is None or not address.ciphertext:
                continue
            try:
                data_key = key.unwrap(address.data_key, place("data_key", tx.tenant_id, address.recipient_id))
                plain = data_key.open(address.ciphertext, place("address", tx.tenant_id, address.id)).decode()
            except SealBroken:
                continue
            return mask(subject.channel, plain)
        return None

    async def _open(self, text: str, purpose: Purpose) -> Token:
        token = await self._parts.tokens.open(text, purpose)
        if token is None:
            raise _invalid()
        return token

    async def _open_fresh(self, text: str) -> tuple[Token, bool]:
        for audience in (CONFIRM, UNDO):
            token = await self._parts.tokens.open(text, Purpose.OPT_IN, audience)
            if token is not None:
                return token, audience == UNDO
        raise _invalid()


def _is_on(
    policy: Policy,
    channel: Channel,
    topic: Topic,
    choice: ChannelChoice | None,
    standing: Mapping[tuple[int, str], Consent],
) -> bool:
    facts = TopicFacts(key=topic.key, mandatory=topic.mandatory, on_by_default=topic.default_on(channel))
    if objection(policy, channel, topic.category, facts, choice) is not None:
        return False
    if topic.category is not Category.MARKETING:
        return True
    return consents(policy.consent_policy, state_of(standing, channel, topic.key))


def _own_scope(tenant_id: str, request_id: str) -> Scope:
    return Scope(
        tenant_id=tenant_id,
        mode=TenantMode.LIVE,
        key_id=OPERATOR,
        key_tenant=tenant_id,
        permissions=frozenset({Permission.NOTIFICATIONS_SEND}),
        request_id=request_id,
    )


def _invalid() -> NotFound:
    return NotFound("This link is not valid, or not any more.")
