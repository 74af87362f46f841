"""What a word about consent does: granting opens the way again, withdrawing closes it, and pending asks by mail."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Conflict, refuse
from waypost.kernel.ids import show
from waypost.kernel.paging import Page
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.notifications.opt_in_mail import OptInMail
from waypost.notifications.unsubscribe import Unsubscribe
from waypost.preferences.choices import ChoiceDesk
from waypost.preferences.history import ConsentHistory, state_of
from waypost.preferences.link_subject import LinkSubject
from waypost.preferences.model import ALL_MARKETING, Consent, ConsentState, NewConsent, Someone, Topic
from waypost.preferences.ports import ChoiceStore, TopicStore
from waypost.suppression.suppress import Suppressions
from waypost.tenants.audit import Audit

LINK: Final = "link"
DOUBLE_OPT_IN: Final = "double_opt_in"
UNDO: Final = "undo"
ASKED_AGAIN_AFTER: Final = timedelta(hours=24)
LONGEST_SOURCE: Final = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsentOrder:
    """What a caller says about one person's consent."""

    channel: Channel
    topic: str | None
    """None: all marketing."""
    state: ConsentState
    source: str
    text_version: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    """How much of a history is as it was written."""

    rows: int
    first_fault: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsentParts:
    people: ChoiceStore
    choices: ChoiceDesk
    topics: TopicStore
    history: ConsentHistory
    suppressions: Suppressions
    unsubscribe: Unsubscribe
    opt_in_mail: OptInMail
    audit: Audit
    clock: Clock


class Consents:
    def __init__(self, parts: ConsentParts) -> None:
        self._parts = parts

    async def record(self, tx: Transaction, scope: Scope, external_id: str, order: ConsentOrder) -> Consent:
        """The word that stands now. One that is withdrawn already is not withdrawn twice."""
        scope.demand(Permission.RECIPIENTS_WRITE)
        person = await self._parts.choices.someone(tx, external_id)
        topic = await self._topic(tx, order)
        _check(order)
        match order.state:
            case ConsentState.GRANTED:
                word = await self.grant(tx, person, order.channel, topic, order.source, order.text_version)
            case ConsentState.WITHDRAWN:
                word = await self._withdraw(tx, person, order, topic)
            case ConsentState.PENDING:
                word = await self.ask(tx, scope, person, order, topic)
            case ConsentState.NONE:
                raise refuse("/state", "unknown_value", "Write pending, granted or withdrawn.")
        detail = {"channel": order.channel.word, "topic": topic or None, "state": word.state.value, "n": word.n}
        await self._parts.audit.record(tx, scope, "consent.recorded", show("rcp", person.id), dict(detail))
        return word

    async def page(
        self, tx: Transaction, scope: Scope, external_id: str, cursor: str | None, limit: int | None
    ) -> Page[Consent]:
        """Every word, newest first."""
        scope.demand(Permission.RECIPIENTS_READ)
        person = await self._parts.choices.someone(tx, external_id)
        return await self._parts.history.page(tx, person.id, cursor, limit)

    async def check(self, tx: Transaction, scope: Scope, external_id: str) -> Checked:
        """Whether the whole history is as it was written."""
        scope.demand(Permission.RECIPIENTS_READ)
        person = await self._parts.choices.someone(tx, external_id)
        last = await self._parts.history.page(tx, person.id, None, 1)
        fault = await self._parts.history.first_fault(tx, person.id)
        return Checked(rows=last.items[0].n if last.items else 0, first_fault=fault)

    async def grant(
        self, tx: Transaction, person: Someone, channel: Channel, topic: str, source: str, text_version: str | None
    ) -> Consent:
        """Takes back the person's own opt-out, never anything that others have against the address."""
        parts = self._parts
        new = NewConsent(
            channel=channel, topic=topic, state=ConsentState.GRANTED, source=source, text_version=text_version
        )
        word = await parts.history.add(tx, person.id, new)
        await parts.choices.turn_on(tx, person.id, channel, topic)
        reach = await parts.suppressions.reach(tx, person.id, channel)
        hashes = sorted({address.hash for address in reach})
        await parts.suppressions.opt_in(tx, channel, hashes, topic, by=f"{source}:{show('rcp', person.id)}")
        await self._watch(tx, person.id)
        return word

    async def ask(self, tx: Transaction, scope: Scope, person: Someone, order: ConsentOrder, topic: str) -> Consent:
        """Sends the mail whose link grants."""
        parts = self._parts
        if order.channel is not Channel.EMAIL:
            raise refuse("/channel", "unsupported_channel", "People can be asked by email only.")
        standing = await parts.history.standing(tx, person.id)
        if state_of(standing, order.channel, topic) is ConsentState.GRANTED:
            raise Conflict("This person has granted it already.", code="already_granted")
        new = NewConsent(
            channel=order.channel,
            topic=topic,
            state=ConsentState.PENDING,
            source=order.source,
            text_version=order.text_version,
        )
        word = await parts.history.add(tx, person.id, new)
        title = await self._title(tx, topic)
        await parts.opt_in_mail.send(tx, scope, person, word, title)
        await self._watch(tx, person.id)
        return word

    async def ask_by_link(self, tx: Transaction, scope: Scope, person: Someone, channel: Channel, topic: str) -> bool:
        """Someone with an old link would like more: the answer goes to the address, once a day at most."""
        standing = await self._parts.history.standing(tx, person.id)
        last = standing.get((channel, topic))
        recently = self._parts.clock.now() - ASKED_AGAIN_AFTER
        if last is not None and last.state is ConsentState.PENDING and last.at > recently:
            return False
        if state_of(standing, channel, topic) is ConsentState.GRANTED:
            return False
        order = ConsentOrder(channel=channel, topic=topic or None, state=ConsentState.PENDING, source=LINK)
        await self.ask(tx, scope, person, order, topic)
        return True

    async def answer(self, tx: Transaction, person: Someone, subject: LinkSubject, *, undo: bool) -> bool:
        """A fresh link was followed: grants, where the word it answers to is still the last one about its topic."""
        standing = await self._parts.history.standing(tx, person.id)
        last = standing.get((subject.channel, subject.topic))
        if last is None:
            return False
        if last.n > subject.n and last.state is ConsentState.GRANTED:
            return True
        expected = ConsentState.WITHDRAWN if undo else ConsentState.PENDING
        if last.n != subject.n or last.state is not expected:
            return False
        source = UNDO if undo else DOUBLE_OPT_IN
        await self.grant(tx, person, subject.channel, subject.topic, source, last.text_version)
        return True

    async def standing(self, tx: Transaction, recipient_id: UUID) -> Mapping[tuple[int, str], Consent]:
        return await self._parts.history.standing(tx, recipient_id)

    async def _withdraw(self, tx: Transaction, person: Someone, order: ConsentOrder, topic: str) -> Consent:
        word = await self._parts.unsubscribe(
            tx,
            person,
            channel=order.channel,
            topic=topic,
            source=order.source,
            text_version=order.text_version,
        )
        if word is not None:
            return word
        standing = await self._parts.history.standing(tx, person.id)
        about = {topic, ALL_MARKETING}
        words = [one for (on, key), one in standing.items() if on == order.channel and key in about]
        return max(words, key=lambda one: one.n)

    async def _topic(self, tx: Transaction, order: ConsentOrder) -> str:
        if order.topic is None:
            return ALL_MARKETING
        if await self._parts.topics.find(tx, order.topic) is None:
            raise refuse("/topic", "unknown_topic", "There is no topic of this key.")
        return order.topic

    async def _title(self, tx: Transaction, topic: str) -> str | None:
        found: Topic | None = await self._parts.topics.find(tx, topic) if topic else None
        return found.title if found else topic or None

    async def _watch(self, tx: Transaction, recipient_id: UUID) -> None:
        chosen = await self._parts.people.find(tx, recipient_id)
        await self._parts.people.watch(tx, recipient_id, always=chosen.quiet_hours is not None)


def _check(order: ConsentOrder) -> None:
    for pointer, text in (("/source", order.source), ("/text_version", order.text_version)):
        if text is not None and not (1 <= len(text) <= LONGEST_SOURCE and text.isprintable() and text.strip()):
            raise refuse(pointer, "out_of_range", f"Write 1 to {LONGEST_SOURCE} printable characters.")
