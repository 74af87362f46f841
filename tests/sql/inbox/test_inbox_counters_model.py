"""38. Counters equal a recount at every step, whatever happens in whatever order, and while time passes unswept."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.inbox.model import Act, FeedFilter
from waypost.kernel.errors import NotFound

PEOPLE = ("ann", "bob", "cy")
LATE = "cy"
"""Joins halfway, and sees no post for everyone from before."""
TTLS = ("20s", "60s", "1h")


@dataclass
class Known:
    """One message as the plain model sees it."""

    id: UUID
    topic: str
    holders: frozenset[str] | None
    expires_at: datetime
    redacted: bool = False
    missed: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    archived: set[str] = field(default_factory=set)
    snoozed: dict[str, datetime] = field(default_factory=dict)

    def is_for(self, name: str, now: datetime, erased: set[str]) -> bool:
        return (
            not self.redacted
            and self.expires_at > now
            and name not in erased
            and name not in self.missed
            and (self.holders is None or name in self.holders)
        )


def expected(messages: list[Known], name: str, now: datetime, erased: set[str]) -> tuple[int, int, Any]:
    topics: dict[str, tuple[int, int]] = {}
    for one in messages:
        if not one.is_for(name, now, erased) or name in one.archived or one.snoozed.get(name, now) > now:
            continue
        unread, total = topics.get(one.topic, (0, 0))
        topics[one.topic] = (unread + (name not in one.read), total + 1)
    return sum(a for a, _ in topics.values()), sum(b for _, b in topics.values()), topics


steps = st.lists(
    st.one_of(
        st.tuples(st.just("everyone"), st.sampled_from(["", "billing", "news"]), st.sampled_from(TTLS)),
        st.tuples(
            st.just("users"),
            st.sampled_from(["", "billing"]),
            st.sampled_from(TTLS),
            st.sets(st.sampled_from(PEOPLE), min_size=1),
        ),
        st.tuples(
            st.sampled_from(["read", "unread", "archive", "unarchive", "seen", "snooze", "pin"]),
            st.sampled_from(PEOPLE),
            st.lists(st.integers(0, 30), min_size=1, max_size=3),
        ),
        st.tuples(st.just("read_all"), st.sampled_from(PEOPLE), st.integers(0, 30)),
        st.tuples(st.just("redact"), st.integers(0, 30)),
        st.tuples(st.just("pass"), st.sampled_from([1, 15, 40])),
        st.tuples(st.just("sweep")),
        st.tuples(st.just("erase"), st.sampled_from(PEOPLE)),
    ),
    min_size=4,
    max_size=28,
)


async def walk(house: Any, steps: list[tuple[Any, ...]]) -> None:
    inbox = uuid4().hex
    await house.make_inbox(inbox)
    people = {name: await house.make_person(f"{name}-{inbox}") for name in PEOPLE if name != LATE}
    messages: list[Known] = []
    erased: set[str] = {LATE}
    for place, step in enumerate(steps):
        if place == len(steps) // 2:
            await join(house, inbox, people, messages, erased)
        await take(house, inbox, people, messages, erased, step)
        now = house.clock.now()
        for name in PEOPLE:
            if name not in erased:
                assert await house.counts(people[name], inbox) == expected(messages, name, now, erased), step
    assert await house.drift() == []
    for name in set(PEOPLE) - erased:
        await check_pages(house, inbox, people[name], messages, name)


async def join(house: Any, inbox: str, people: dict[str, Any], messages: list[Known], absent: set[str]) -> None:
    await house.clock.advance(1)
    people[LATE] = await house.make_person(f"{LATE}-{inbox}", age_days=0)
    absent.discard(LATE)
    for one in messages:
        one.missed.add(LATE)


async def take(
    house: Any, inbox: str, people: dict[str, Any], messages: list[Known], erased: set[str], step: tuple[Any, ...]
) -> None:
    now = house.clock.now()
    match step:
        case ("everyone", topic, ttl):
            made = await house.post(inbox=inbox, topic=topic or None, ttl=ttl)
            messages.append(Known(made.id, topic, None, made.expires_at))
        case ("users", topic, ttl, names):
            alive = sorted(names - erased)
            if alive:
                made = await house.post(
                    *(people[n].external_id for n in alive), inbox=inbox, topic=topic or None, ttl=ttl
                )
                messages.append(Known(made.id, topic, frozenset(alive), made.expires_at))
        case ("read_all", name, place) if messages and name not in erased:
            upto = messages[place % len(messages)].id
            async with house.begin() as tx:
                await house.feed.read_before(tx, people[name], inbox, upto)
            for one in messages:
                if one.id <= upto and one.is_for(name, now, erased):
                    one.read.add(name)
        case ("redact", place) if messages:
            one = messages[place % len(messages)]
            try:
                async with house.begin() as tx:
                    await house.posts.redact(tx, house.scope, inbox, one.id)
                one.redacted = True
            except NotFound:
                assert one.expires_at <= now
        case ("pass", seconds):
            await house.clock.advance(seconds)
        case ("sweep",):
            await house.sweep()
        case ("erase", name) if name not in erased:
            async with house.begin() as tx:
                await house.feed.forget(tx, [people[name].recipient_id], [])
                await tx.connection.execute(
                    "update recipients set data_key = null, erased_at = $2 where id = $1",
                    people[name].recipient_id,
                    now,
                )
            erased.add(name)
        case (word, name, places) if messages and name not in erased:
            await act(house, inbox, people[name], messages, name, Act(word), [p % len(messages) for p in places], now)
        case _:
            pass


async def act(
    house: Any, inbox: str, who: Any, messages: list[Known], name: str, word: Act, places: list[int], now: datetime
) -> None:
    chosen = [messages[place] for place in dict.fromkeys(places)]
    there = {one.id for one in chosen if one.is_for(name, now, set())}
    until = now + timedelta(seconds=25) if word is Act.SNOOZE else None
    try:
        async with house.begin() as tx:
            acted = await house.feed.act(tx, who, inbox, word, [one.id for one in chosen], until)
    except NotFound:
        assert not there
        return
    assert {one for one, _ in acted.done} == there
    assert set(acted.missing) == {one.id for one in chosen} - there
    for one in chosen:
        if one.id in there:
            match word:
                case Act.READ:
                    one.read.add(name)
                case Act.UNREAD:
                    one.read.discard(name)
                case Act.ARCHIVE:
                    one.archived.add(name)
                case Act.UNARCHIVE:
                    one.archived.discard(name)
                case Act.SNOOZE:
                    one.snoozed[name] = now + timedelta(seconds=25)
                case _:
                    pass


async def check_pages(house: Any, inbox: str, who: Any, messages: list[Known], name: str) -> None:
    """The pages, put together, are the messages: newest first, each once, unread ones where they are asked for."""
    now = house.clock.now()
    live = [one for one in messages if one.is_for(name, now, set())]
    shown = [one for one in live if name not in one.archived and one.snoozed.get(name, now) <= now]
    for wanted, there in (
        (FeedFilter(), shown),
        (FeedFilter(unread=True), [one for one in shown if name not in one.read]),
        (FeedFilter(topic="billing"), [one for one in shown if one.topic == "billing"]),
        (
            FeedFilter(archived=True),
            [one for one in live if name in one.archived and one.snoozed.get(name, now) <= now],
        ),
    ):
        found: list[UUID] = []
        cursor = None
        while True:
            async with house.begin() as tx:
                page = await house.feed.page(tx, who, inbox, wanted, cursor, 3)
            found += [message.id for message in page.items]
            cursor = page.next
            if cursor is None:
                break
        assert found == sorted((one.id for one in there), reverse=True), wanted


async def test_counters_equal_a_recount_at_every_step(house: Any) -> None:
    loop = asyncio.get_running_loop()

    @settings(max_examples=25)
    @given(steps=steps)
    def run(steps: list[tuple[Any, ...]]) -> None:
        asyncio.run_coroutine_threadsafe(walk(house, steps), loop).result()

    await asyncio.to_thread(run)
