"""Many at once: exactly one count for each reading, no deadlocks, no drift, and what commits late stays unread."""

import asyncio
import json
import random
from typing import Any
from uuid import UUID, uuid4

from waypost.adapters.postgres.queries import load
from waypost.inbox.model import Act, AudienceKind, FeedFilter, PostContent
from waypost.inbox.ports import Copy, NewPost
from waypost.inbox.sealing import seal_copy
from waypost.kernel.errors import NotFound
from waypost.kernel.ids import mint, mint_at
from waypost.kernel.vault import place


async def test_however_many_devices_read_a_message_it_is_read_once(house: Any) -> None:
    jane = await house.make_person("jane")
    message = (await house.post(topic="billing")).id
    await house.post()

    async def read() -> Any:
        async with house.begin() as tx:
            return await house.feed.act(tx, jane, "main", Act.READ, [message])

    answers = await asyncio.gather(*(read() for _ in range(20)))
    assert len({facts.read_at for acted in answers for _, facts in acted.done}) == 1
    assert await house.counts(jane) == (1, 2, {"billing": (0, 1), "": (1, 1)})
    await house.clock.advance(60)
    assert (await read()).done[0][1].read_at == answers[0].done[0][1].read_at


async def test_nothing_drifts_and_nobody_waits_for_each_other_for_ever(house: Any) -> None:
    """Sorted locks: posts to many, acts, redactions and sweeps at the same time, on the same rows."""
    people = [await house.make_person(f"p{number}") for number in range(6)]
    posted: list[UUID] = [(await house.post()).id, (await house.post("p0", "p1")).id]
    chance = random.Random(7)

    async def one(number: int) -> None:
        who = people[number % len(people)]
        match number % 6:
            case 0:
                posted.append((await house.post(topic=chance.choice([None, "billing"]), ttl="30s")).id)
            case 1:
                some = chance.sample([person.external_id for person in people], 4)
                posted.append((await house.post(*some, ttl=chance.choice(["20s", "1h"]))).id)
            case 2:
                async with house.begin() as tx:
                    await house.feed.read_before(tx, who, "main", chance.choice(posted))
            case 3:
                async with house.begin() as tx:
                    await house.posts.redact(tx, house.scope, "main", chance.choice(posted))
            case 4:
                await house.sweep()
            case _:
                act = chance.choice([Act.READ, Act.UNREAD, Act.ARCHIVE, Act.SEEN])
                async with house.begin() as tx:
                    await house.feed.act(tx, who, "main", act, chance.sample(posted, min(3, len(posted))))

    async def tried(number: int) -> None:
        try:
            await one(number)
        except NotFound:
            return  # redacted or expired meanwhile

    for start in range(0, 120, 12):
        await asyncio.gather(*(tried(number) for number in range(start, start + 12)))
        await house.clock.advance(chance.choice([0, 1, 15]))
        assert await house.drift() == []


async def test_what_commits_after_the_mark_stays_unread_however_old_its_id(house: Any) -> None:
    jane = await house.make_person("jane")
    early = mint_at(house.clock.now())
    await house.clock.advance(10)
    await house.post("jane", title="Seen")
    async with house.begin() as tx:
        await house.feed.read_before(tx, jane, "main", house.clock.now())
    async with house.begin() as tx:
        inbox = await house.inboxes.find(tx, "main")
        row = await tx.connection.fetchrow("select data_key from recipients where id = $1", jane.recipient_id)
        key = (await house.keyring.of(tx)).unwrap(row["data_key"], place("data_key", "acme", jane.recipient_id))
        sealed = seal_copy("acme", key, early, PostContent(title="Late"))
        expires_at = house.clock.now().replace(year=2027)
        post = NewPost(
            inbox_id=inbox.id, id=early, audience=AudienceKind.USERS, label=None, copies=1, topic="", content=None,
            expires_at=expires_at, created_by=mint(house.clock),
        )  # fmt: skip
        await house.posts_store.add(tx, post)
        copy = Copy(recipient_id=jane.recipient_id, post_id=early, topic="", content=sealed, expires_at=expires_at)
        await house.posts_store.deliver(tx, inbox.id, [copy])
    async with house.begin() as tx:
        unread = await house.feed.page(tx, jane, "main", FeedFilter(unread=True), None, 10)
    assert [message.content.title for message in unread.items] == ["Late"]
    assert (await house.counts(jane))[:2] == (1, 2)
    assert await house.drift() == []


async def test_posts_for_everyone_take_growing_ids_whatever_the_clock_says(house: Any) -> None:
    ids = await asyncio.gather(*(house.post() for _ in range(12)))
    assert len({one.id for one in ids}) == 12
    async with house.begin() as tx:
        rows = await tx.connection.fetch("select id, place, n from inbox_posts order by place")
    assert [row["id"] for row in rows] == sorted(one.id for one in ids)
    assert [row["n"] for row in rows] == sorted(row["n"] for row in rows)


async def test_sweeping_late_or_twice_changes_nothing_that_anyone_sees(house: Any) -> None:
    jane = await house.make_person("jane")
    read: list[UUID] = []
    for ttl in ("10s", "1h"):
        await house.post(ttl=ttl, topic="billing")
        read.append((await house.post("jane", ttl=ttl)).id)
    async with house.begin() as tx:
        await house.feed.act(tx, jane, "main", Act.READ, read)
    await house.clock.advance(20)
    before = await house.counts(jane)
    assert before == (1, 2, {"billing": (1, 1), "": (0, 1)})
    assert await house.sweep() > 0
    assert await house.sweep() == 0
    assert await house.counts(jane) == before
    assert await house.drift() == []


async def test_reading_stays_cheap_among_many_posts(house: Any, admin: Any) -> None:
    """As the role of the API: a page and the counts touch a bounded number of blocks, however many posts there are."""
    jane = await house.make_person("jane")
    last = (await house.post()).id
    await admin.execute(
        "insert into waypost.inbox_posts (tenant_id, inbox_id, id, audience, topic, content, place, n, expires_at,"
        " created_by) select p.tenant_id, p.inbox_id, ('ffff' || lpad(to_hex(k), 28, '0'))::uuid, 'everyone', '',"
        " p.content, k, k, p.expires_at, p.created_by from waypost.inbox_posts p, generate_series(2, 4000) k"
    )
    await admin.execute(
        "insert into waypost.inbox_counters select tenant_id, inbox_id, place / 512, topic, count(*)"
        " from waypost.inbox_posts group by 1, 2, 3, 4 on conflict (tenant_id, inbox_id, run, topic)"
        " do update set live = excluded.live"
    )
    assert last
    for call in (
        "select * from inbox_page('acme', 'main', $1, 'ffffffff-ffff-ffff-ffff-ffffffffffff', $2, 21, null, false,"
        " false, false, false)",
        "select * from inbox_counts('acme', 'main', array[$1::uuid], $2)",
    ):
        async with house.begin() as tx:
            for _ in range(2):
                plan = await tx.connection.fetchval(
                    f"explain (analyze, buffers, format json) {call}", jane.recipient_id, house.clock.now()
                )
        found = json.loads(plan)[0]["Plan"]
        assert found["Shared Hit Blocks"] + found["Shared Read Blocks"] < 400, call


async def test_marking_everything_read_does_not_look_at_every_message(house: Any, admin: Any) -> None:
    jane = await house.make_person("jane")
    await house.post("jane")
    await admin.execute(
        "insert into waypost.inbox_items (tenant_id, inbox_id, recipient_id, post_id, public, topic, content, n, as_of,"
        " expires_at) select i.tenant_id, i.inbox_id, i.recipient_id, ('0000' || lpad(to_hex(k), 28, '0'))::uuid,"
        " false, '', i.content, k, k, i.expires_at from waypost.inbox_items i, generate_series(2, 3000) k"
    )
    await admin.execute("analyze waypost.inbox_items")
    [inbox] = await admin.fetch("select id from waypost.inboxes")
    last = UUID(int=2**128 - 1)
    async with house.begin() as tx:
        statement = load("inbox_feed")["unseen_notifications"]
        plan = await tx.connection.fetchval(
            f"explain (analyze, buffers, format json) {statement}", "acme", inbox["id"], jane.recipient_id, 0, last
        )
    found = json.loads(plan)[0]["Plan"]
    assert found["Shared Hit Blocks"] + found["Shared Read Blocks"] < 20, plan


async def test_an_inbox_from_before_sums_counts_the_same_and_gets_them_with_its_next_change(
    house: Any, admin: Any
) -> None:
    jane = await house.make_person("jane")
    kept = [await house.post(topic="news") for _ in range(3)]
    await house.clock.advance(1)
    await house.post("jane")
    async with house.begin() as tx:
        await house.feed.read_before(tx, jane, "main", kept[0].id)
    await house.clock.advance(1)
    late = await house.make_person("late", age_days=0)
    await admin.execute(
        "update waypost.inboxes set first_post = null; delete from waypost.inbox_counters where run = -1;"
        " update waypost.inbox_members set marked = 9223372036854775807"
    )
    assert await house.counts(jane) == (3, 4, {"": (1, 1), "news": (2, 3)})
    assert await house.counts(late) == (0, 0, {})
    assert await house.drift() == []
    async with house.begin() as tx:
        await house.posts.redact(tx, house.scope, "main", kept[2].id)
    await house.post(topic="news")
    assert await admin.fetchval("select live from waypost.inbox_counters where run = -1") == 3
    assert await house.counts(jane) == (3, 4, {"": (1, 1), "news": (2, 3)})
    assert await house.counts(late) == (1, 1, {"news": (1, 1)})
    assert await house.drift() == []


async def test_a_sum_that_is_wrong_is_found(house: Any, admin: Any) -> None:
    await house.post()
    assert await house.drift() == []
    await admin.execute("update waypost.inbox_counters set live = live + 1 where run = -1")
    assert [(found.counted, found.there) for found in await house.drift()] == [(2, 1)]


async def test_the_reach_of_posts_counts_who_had_joined_by_then(house: Any) -> None:
    jane = await house.make_person("jane")
    first = (await house.post()).id
    await house.clock.advance(1)
    john = await house.make_person("john", age_days=0)
    second, own = (await house.post()).id, (await house.post("john")).id
    async with house.begin() as tx:
        await house.feed.read_before(tx, jane, "main", second)
        await house.feed.act(tx, john, "main", Act.SEEN, [second, own])
    wanted = [second, uuid4(), own, first]
    async with house.begin() as tx:
        found = await house.posts.reach(tx, house.scope, "main", wanted)
    assert [(one.delivered, one.seen, one.read) for one in found] == [(2, 2, 1), (0, 0, 0), (1, 1, 0), (1, 1, 1)]
    async with house.begin() as tx:
        assert await house.posts.reach(tx, house.scope, "main", []) == []
