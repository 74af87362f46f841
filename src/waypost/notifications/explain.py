"""Why somebody would, or would not, get a message: the gate's answer for any case, without sending anything."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import msgspec

from waypost.delivery.gate import Allow, Defer, MessageKind, Question, Skip, Step, Verdict, walk
from waypost.delivery.gate_model import NoRoom
from waypost.delivery.ports import DeliveryStore, LimitStore
from waypost.kernel.address import PHONE_CHANNELS
from waypost.kernel.clock import Clock
from waypost.kernel.errors import refuse
from waypost.kernel.ids import show
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import Category, Channel, Priority
from waypost.kernel.work import Transaction
from waypost.notifications.rules import FURTHEST_AHEAD, LIFETIME, USUAL_LIFETIME, choose_category
from waypost.preferences.ports import ChoiceStore, TopicBook
from waypost.preferences.rules import is_topic_key
from waypost.recipients.model import PHONE
from waypost.senders.forecast import Forecast
from waypost.templates.versions import Versions

NO_GATE: Final = (
    "Posts to an inbox, whether to everyone, to a filter, a list or some people, "
    "are not notifications: they pass no gate."
)
_EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """What might be sent. The template, where one is named, says category and topic."""

    recipient: str
    channel: Channel
    category: Category | None = None
    topic: str | None = None
    template: str | None = None
    priority: Priority = Priority.NORMAL
    at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    case: Case
    category: Category
    topic: str | None
    at: datetime
    verdict: Verdict
    steps: Sequence[Step]
    """Every rule's word, also after the one that decides."""
    note: str | None = None

    @property
    def word(self) -> str:
        return {Allow: "allow", Skip: "skip", Defer: "defer"}[type(self.verdict)]

    @property
    def reason(self) -> str | None:
        match self.verdict:
            case Skip(reason=reason):
                return reason.value
            case Defer(rule=rule):
                return rule
            case Allow():
                return None

    @property
    def until(self) -> datetime | None:
        return self.verdict.until if isinstance(self.verdict, Defer) else None


class Explain:
    def __init__(
        self,
        *,
        people: ChoiceStore,
        topics: TopicBook,
        versions: Versions,
        delivery: DeliveryStore,
        limits: LimitStore,
        room: Forecast,
        clock: Clock,
    ) -> None:
        self._people = people
        self._topics = topics
        self._versions = versions
        self._delivery = delivery
        self._limits = limits
        self._room = room
        self._clock = clock

    async def __call__(self, tx: Transaction, scope: Scope, case: Case) -> Explanation:
        scope.demand(Permission.NOTIFICATIONS_READ)
        at = self._moment(case)
        category, topic = await self._kind(tx, case)
        person = await self._people.someone(tx, case.recipient)
        if person is None:
            raise refuse("/recipient", "unknown_recipient", "There is no recipient of this id.")
        kept_under = PHONE if case.channel in PHONE_CHANNELS else case.channel
        address_id = await self._delivery.current_address(tx, person.id, kept_under)
        kind = MessageKind(category, topic)
        [facts] = await self._delivery.gate_facts(tx, case.channel, [(person.id, address_id)], [kind])
        if (limits := await self._limits.limits(tx)) is not None:
            ledger = await self._limits.read(tx, limits, [person.id], at)
            facts = msgspec.structs.replace(facts, limits=ledger.facts(case.channel, person.id))
        if case.channel is Channel.EMAIL and (full := await self._room(tx, category, at)) is not None:
            account = show("acc", full.account_id)
            facts = msgspec.structs.replace(
                facts, no_room=NoRoom(rule=full.rule.word, account=account, until=full.until)
            )
        expires_at = at + LIFETIME.get(category, USUAL_LIFETIME)
        question = Question(facts=facts, category=category, priority=case.priority, expires_at=expires_at, now=at)
        steps = walk(question)
        return Explanation(
            case=case,
            category=category,
            topic=topic,
            at=at,
            verdict=next((step.verdict for step in steps if not isinstance(step.verdict, Allow)), Allow()),
            steps=steps,
            note=NO_GATE if case.channel is Channel.INAPP else None,
        )

    def _moment(self, case: Case) -> datetime:
        now = self._clock.now()
        if case.at is None:
            return now
        if case.at > now + FURTHEST_AHEAD:
            raise refuse("/at", "too_far_ahead", "May lie at most 366 days ahead, as what is sent.")
        if case.at < _EARLIEST:
            raise refuse("/at", "out_of_range", "Write a time after 1970.")
        return case.at

    async def _kind(self, tx: Transaction, case: Case) -> tuple[Category, str | None]:
        found = await self._topics.find(tx, case.topic) if case.topic and is_topic_key(case.topic) else None
        if case.topic is not None and found is None:
            raise refuse("/topic", "unknown_topic", "There is no topic of this key.")
        if case.template is None:
            return choose_category(case.category, found.category if found else None), case.topic
        active = await self._versions.find_active(tx, case.template, case.channel)
        if active is None or active.template is None:
            raise refuse("/template", "unknown_template", "There is no published template with this key and channel.")
        template = active.template
        if case.topic is not None and template.topic not in (None, case.topic):
            raise refuse("/topic", "topic_mismatch", "The template belongs to another topic, and that one counts.")
        return choose_category(case.category, template.category), template.topic or case.topic
