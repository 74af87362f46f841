"""Intent → resolve → gate → queue, in the caller's transaction, for one call or for many at once.

Every step works on the whole batch. Each call is accepted or refused on its own; one call is the batch of one.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Final, TypeAlias
from uuid import UUID

from waypost.delivery.gate import GateFacts, Skip, Verdict
from waypost.delivery.ports import DeliveryStore
from waypost.kernel.clock import Clock
from waypost.kernel.errors import Refused, Unavailable
from waypost.kernel.ids import mint
from waypost.kernel.in_turns import in_turns
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import Channel
from waypost.kernel.work import Transaction
from waypost.notifications.attaching import Attacher
from waypost.notifications.choose import ContentChooser
from waypost.notifications.drafts import Drafting, Leg
from waypost.notifications.intent import Intent, going
from waypost.notifications.keep import Keeper
from waypost.notifications.list_members import name_members
from waypost.notifications.model import Accepted, Request, Routing, SubmitCommand
from waypost.notifications.own_names import OwnNames
from waypost.notifications.ports import Decided, Escalation, FirstStep, SubmitTelemetry
from waypost.notifications.render_check import RenderCheck, put_into_words
from waypost.notifications.rules import check_command
from waypost.recipients.lists import ListKeys
from waypost.recipients.party import Party
from waypost.recipients.resolve import Ahead, Foreseen, Plan, Resolver

Heard: TypeAlias = tuple[Verdict, GateFacts]
"""What the gate says to somebody, and why."""
# Named once: to ask an enumeration for a member takes as long as to make a small struct.
_ALL: Final = Routing.ALL
_UNTIL_SEEN: Final = Routing.UNTIL_SEEN


class Submit:
    def __init__(
        self,
        *,
        own_names: OwnNames,
        contents: ContentChooser,
        attacher: Attacher,
        resolver: Resolver,
        lists: ListKeys,
        rendering: RenderCheck,
        delivery: DeliveryStore,
        keeper: Keeper,
        telemetry: SubmitTelemetry,
        escalation: Escalation,
        clock: Clock,
    ) -> None:
        self._own_names = own_names
        self._contents = contents
        self._attacher = attacher
        self._resolver = resolver
        self._rendering = rendering
        self._delivery = delivery
        self._keeper = keeper
        self._escalation = escalation
        self._telemetry = telemetry
        self._clock = clock
        self._lists = lists

    async def __call__(self, tx: Transaction, scope: Scope, command: SubmitCommand) -> Accepted:
        answer = (await self.many(tx, scope, [command]))[0]
        if isinstance(answer, Refused):
            raise answer
        return answer

    async def many(
        self, tx: Transaction, scope: Scope, commands: Sequence[SubmitCommand], *, part_of: UUID | None = None
    ) -> Sequence[Accepted | Refused]:
        """One answer for each, in order. What is accepted belongs to one request; what is refused leaves no trace.

        `part_of`: the request that the caller will note for all of them."""
        return await (await self.decide(tx, scope, commands, part_of=part_of)).store()

    async def decide(
        self,
        tx: Transaction,
        scope: Scope,
        commands: Sequence[SubmitCommand],
        *,
        part_of: UUID | None = None,
        before: Decided | None = None,
        foreseen: Foreseen | None = None,
    ) -> Decided:
        """The first half of `many`, which says who is refused. Its other half may run beside the next batch."""
        scope.demand(Permission.NOTIFICATIONS_SEND)
        request = Request(id=part_of or mint(self._clock), asker=None if part_of else scope.key_id)
        return await self._decide(tx, [Intent(command, request) for command in commands], before, foreseen)

    async def foresee(self, tx: Transaction, commands: Sequence[SubmitCommand]) -> Foreseen:
        """Looks up the people whom they name by id."""
        named = (target.id for command in commands for target in command.to)
        return await self._resolver.foresee(tx, (name for name in named if name is not None))

    async def each(self, tx: Transaction, asked: Sequence[tuple[Scope, SubmitCommand]]) -> Sequence[Accepted | Refused]:
        """The same for calls that know nothing of each other: each is a request of its own."""
        for scope, _ in asked:
            scope.demand(Permission.NOTIFICATIONS_SEND)
        decided = await self._decide(
            tx,
            [Intent(command, Request(id=mint(self._clock), asker=scope.key_id)) for scope, command in asked],
        )
        return await decided.store()

    async def _decide(
        self,
        tx: Transaction,
        intents: Sequence[Intent],
        before: Decided | None = None,
        foreseen: Foreseen | None = None,
    ) -> Decided:
        begun, now = self._clock.monotonic(), self._clock.now()
        _check(intents, now)
        await self._own_names.check(tx, going(intents))
        await name_members(tx, self._lists, going(intents))
        await self._contents.choose(tx, going(intents), now)
        files = await self._attacher.read(tx.tenant_id, going(intents))
        changed = await self._resolve(tx, going(intents), before, Ahead(foreseen=foreseen))
        judged = asyncio.Event()

        async def store() -> Sequence[Accepted | Refused]:
            try:
                verdicts = await self._judge(tx, going(intents), now)
            finally:
                judged.set()
            await _draft(tx.tenant_id, going(intents), verdicts, now)
            await self._attacher.keep(tx, going(intents), files)
            await self._keeper.keep(tx, going(intents), now)
            for intent in intents:
                if intent.command.routing is _UNTIL_SEEN:
                    await self._escalation.begin(tx, intent.command, _first_steps(intent))
            answers = [_answer_of(intent) for intent in intents]
            accepted = [answer for answer in answers if isinstance(answer, Accepted)]
            self._telemetry.accepted(accepted, self._clock.monotonic() - begun)
            return answers

        refused = [isinstance(intent.answer, Refused) for intent in intents]
        return Decided(refused=refused, changed=changed, store=store, judged=judged)

    async def _resolve(self, tx: Transaction, intents: Sequence[Intent], before: Decided | None, ahead: Ahead) -> bool:
        """Looks who is meant and tries the content on everybody, again without those refused: what they say about
        people does not count. Only then is anybody made or changed, and the batch before has been judged by then.

        Says whether anybody was."""
        while True:
            plan = await self._resolver.look(tx, [_party_of(intent.command) for intent in intents], ahead)
            _see(intents, plan, tx.tenant_id)
            await self._rendering.check(tx, going(intents))
            if len(standing := going(intents)) == len(intents):
                break
            intents = standing
        if not plan.changes_anybody:
            return False
        if before is not None:
            await before.judged.wait()
        try:
            someone_else = await self._resolver.bring_in(tx, plan)
        except Refused as refusal:
            if len(intents) > 1:
                raise Unavailable("Someone changed these recipients at the same moment. Try again.") from refusal
            intents[0].refuse(refusal)
            return True
        if someone_else:
            _see(intents, plan, tx.tenant_id)
            put_into_words(tx.tenant_id, intents)
        return True

    async def _judge(self, tx: Transaction, intents: Sequence[Intent], now: datetime) -> Sequence[Heard]:
        """What the gate says to each person on each leg, in order, and why; the facts are read once per channel."""
        asked = [asks for intent in intents for seen in intent.people for asks in zip(intent.legs, seen, strict=True)]
        heard: dict[Channel, Iterator[Heard]] = {}
        for channel in {leg.channel for leg, _ in asked}:
            those = [asks for asks in asked if asks[0].channel is channel]
            people = [(person.recipient_id, person.address_id) for _, person in those]
            facts = await self._delivery.gate_facts(tx, channel, people, [leg.chosen.kind for leg, _ in those])
            heard[channel] = iter(_judge_each([leg for leg, _ in those], facts, now))
        if len(heard) == 1:
            return list(*heard.values())
        return [next(heard[leg.channel]) for leg, _ in asked]


def _judge_each(legs: Sequence[Leg], facts: Sequence[GateFacts], now: datetime) -> Sequence[Heard]:
    heard: list[Heard] = []
    last, known, answer = None, None, None
    for leg, fact in zip(legs, facts, strict=True):
        # Of the same message most people hear the same.
        if answer is None or last is not leg or (known is not fact and known != fact):
            answer = (leg.judge(fact, now), fact)
        last, known = leg, fact
        heard.append(answer)
    return heard


def _check(intents: Sequence[Intent], now: datetime) -> None:
    for intent in intents:
        try:
            check_command(intent.command, now)
        except Refused as refusal:
            intent.refuse(refusal)


def _party_of(command: SubmitCommand) -> Party:
    return Party(targets=command.to, is_list=command.to_is_list, channels=command.channels)


def _see(intents: Sequence[Intent], plan: Plan, tenant_id: str) -> None:
    for number, intent in enumerate(intents):
        seen = plan.seen_by(number, tenant_id)
        if isinstance(seen, Refused):
            intent.refuse(seen)
        else:
            actor = intent.command.actor
            intent.people = seen if actor is None else [each for each in seen if each[0].external_id != actor]


async def _draft(tenant_id: str, intents: Sequence[Intent], verdicts: Iterable[Heard], now: datetime) -> None:
    drafting = Drafting(tenant_id, now)
    answers = iter(verdicts)

    def draft(intent: Intent) -> None:
        command, legs, withheld = intent.command, intent.legs, intent.command.withheld
        for seen, words in zip(intent.people, intent.words, strict=True):
            heard = list(islice(answers, len(legs)))
            judged = [heard[0][0]] if len(heard) == 1 else [verdict for verdict, _ in heard]
            if withheld is not None:
                judged = [withheld] * len(heard)
            for place in _chosen_legs(command.routing, judged):
                leg, said = legs[place], words[place]
                tracks = leg.tracks(command.tracking, said.wording, heard[place][1])
                verdict, person = judged[place], seen[place]
                intent.drafts.append(
                    drafting.draft(intent.request.id, command, leg, person, said, verdict, tracks, intent.files)
                )

    await in_turns(draft, intents)


def _chosen_legs(routing: Routing, judged: Sequence[Verdict]) -> Sequence[int]:
    if routing is _ALL:
        return range(len(judged))
    if routing is _UNTIL_SEEN:
        return [0]
    return [next((place for place, verdict in enumerate(judged) if not isinstance(verdict, Skip)), 0)]


def _first_steps(intent: Intent) -> Sequence[FirstStep]:
    """Of those that are new: what was sent before under the same name has gone its way."""
    if not isinstance(intent.answer, Accepted):
        return []
    return [
        FirstStep(notification_id=one.row.id, person=one.person, goes_out=one.goes_out, send_at=one.row.send_at)
        for one, made in zip(intent.drafts, intent.answer.notifications, strict=True)
        if made.id == one.row.id
    ]


def _answer_of(intent: Intent) -> Accepted | Refused:
    if intent.answer is None:
        raise AssertionError("a step has left a call without an answer")
    return intent.answer
