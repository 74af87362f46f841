"""Inboxes: a page and the counts against a bare SELECT, posting to everyone, mark-all, and streams."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from statistics import median
from uuid import UUID

from prometheus_client import CollectorRegistry

from benchmarks.installation import TENANT, Installation, installed
from benchmarks.results import Entry, Findings, Spread, compared
from benchmarks.sinks import free_port
from waypost.adapters.postgres.inbox_feed import PgInboxFeed
from waypost.api.live.app import live_app
from waypost.api.live.metrics import LiveMetrics
from waypost.api.server import server_of
from waypost.inbox.model import Audience, AudienceKind, FeedFilter, PostCommand, PostContent, Visitor
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import TenantMode
from waypost.recipients.model import RecipientFields

_TOPICS = ("billing", "news", "product", "")
_AGED = """
create function public.bench_aged(p_milliseconds bigint, p_number bigint) returns uuid language sql as $$
    select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint - p_milliseconds), 12, '0')
            || lpad(to_hex(p_number), 20, '0'))::uuid
$$
"""
_PEOPLE = """
insert into waypost.recipients (tenant_id, id, external_id, kind, data_key, created_at, updated_at)
select $1, public.bench_aged(3000000000 + k, k), 'bench-' || k, 'user', $4, now() - interval '40 days', now()
from generate_series($2::bigint, $3::bigint) k
"""
_POSTS = """
insert into waypost.inbox_posts (tenant_id, inbox_id, id, audience, topic, content, place, n, expires_at, created_by)
select $1, $2, public.bench_aged(100000000 - k, k), 'everyone', ($4::text[])[1 + k % 4], $5, k, k,
       now() + interval '30 days', $2
from generate_series(1, $3::bigint) k
"""
_COUNT = """
insert into waypost.inbox_counters (tenant_id, inbox_id, run, topic, live)
select p.tenant_id, p.inbox_id, r.run, p.topic, count(*) from waypost.inbox_posts p
cross join lateral (values (p.place / 512), (-1)) as r (run)
where p.tenant_id = $1 and p.audience = 'everyone' group by 1, 2, 3, 4
"""
_ADVANCE = """
update waypost.inboxes b set n = p.n, place = p.n, last_post = p.id, first_post = f.id
from (select n, id from waypost.inbox_posts where tenant_id = $1 order by n desc limit 1) p,
     (select id from waypost.inbox_posts where tenant_id = $1 order by n limit 1) f where b.tenant_id = $1
"""
_MEMBERS = """
insert into waypost.inbox_members (tenant_id, inbox_id, recipient_id, n, visible_from)
select $1, $2, id, 50, '00000000-0000-0000-0000-000000000000' from waypost.recipients
where tenant_id = $1 and external_id like 'bench-%' order by id limit $3
"""
_COPIES = """
insert into waypost.inbox_items (tenant_id, inbox_id, recipient_id, post_id, public, topic, content, n, as_of,
                                 expires_at)
select m.tenant_id, m.inbox_id, m.recipient_id, public.bench_aged(50000000 - k, k), false, ($2::text[])[1 + k % 4], $3,
       k, k, now() + interval '30 days'
from generate_series(1, 50) k cross join waypost.inbox_members m where m.tenant_id = $1
"""
_OWNERS = """
select m.recipient_id, r.external_id from waypost.inbox_members m
join waypost.recipients r on r.tenant_id = m.tenant_id and r.id = m.recipient_id order by random() limit 200
"""
# As bare as it gets: twenty posts by the index that the feed uses, in a transaction that row level security sees.
_BARE = """
select id, topic, content, expires_at from inbox_posts
where tenant_id = $1 and inbox_id = $2 and audience = 'everyone' and redacted_at is null and id < $3
order by id desc limit 20
"""
_LAST = UUID(int=2**128 - 1)


async def measure(*, quick: bool) -> Findings:
    people, posts, owners = (200, 100, 20) if quick else (1_000_000, 10_000, 10_000)
    rounds, calls = (1, 5) if quick else (8, 200)
    async with installed() as house, installed() as small_house:
        bench, small = _Bench(house), _Bench(small_house)
        await small.furnish()
        await bench.furnish()
        await bench.fill(people, posts, owners)
        entries = [
            *await bench.reading(rounds, calls),
            await _everyone(small, bench, people, rounds, 5 if quick else 40),
        ]
        entries += [await bench.marking(rounds, 5 if quick else 40)]
        entries += [await bench.streaming(10 if quick else 1_000, 2 if quick else 10)]
    return Findings(entries)


async def _everyone(few: "_Bench", many: "_Bench", people: int, rounds: int, calls: int) -> Entry:
    """By turns, in two installations, so that whatever else the machine does slows both."""
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        theirs.append(await _each(few.post, calls))
        ours.append(await _each(many.post, calls))
    return compared(
        name="inbox-everyone",
        what=f"post to everyone, {people:,} recipients",
        unit="ms",
        ours=ours,
        reference="the same, 10 recipients",
        theirs=theirs,
        goal="≤ 1.3",
        at_most=1.3,
    )


class _Bench:
    def __init__(self, house: Installation) -> None:
        self._house = house
        self._app = house.app
        self._scope = Scope(
            tenant_id=TENANT,
            mode=TenantMode.LIVE,
            key_id=UUID(int=1),
            key_tenant=TENANT,
            permissions=frozenset(Permission),
            request_id="rid_bench",
        )

    async def fill(self, people: int, posts: int, owners: int) -> None:
        """As the API would leave it, but set-based."""
        admin, content = self._house.admin, PostContent(title="Something new", body="A sentence or two about it. " * 8)
        async with self._app.work.begin(TENANT) as tx:
            posted = await self._app.inbox.posts.post(tx, self._scope, "main", _command(content))
            inbox = await self._app.inbox.inboxes.find(tx, "main")
        sealed = await admin.fetchval("select content from waypost.inbox_posts where id = $1", posted.id)
        await admin.execute(_AGED)
        await admin.execute("truncate waypost.inbox_counters; delete from waypost.inbox_posts")
        person = await admin.fetchrow("select data_key from waypost.recipients limit 1")
        for start in range(1, people, 100_000):
            await admin.execute(_PEOPLE, TENANT, start, min(start + 99_999, people), person["data_key"])
        await admin.execute(_POSTS, TENANT, inbox.id, posts, list(_TOPICS), sealed)
        await admin.execute(_COUNT, TENANT)
        await admin.execute(_ADVANCE, TENANT)
        await admin.execute(_MEMBERS, TENANT, inbox.id, owners)
        await admin.execute(_COPIES, TENANT, list(_TOPICS), sealed)
        await admin.execute("vacuum analyze")
        # What was just loaded is written out now, not while something is measured.
        await admin.execute("checkpoint")
        self.inbox_id = inbox.id
        rows = await admin.fetch(_OWNERS)
        expires_at = self._app.clock.now() + timedelta(hours=1)
        self.visitors = [
            Visitor(tenant_id=TENANT, recipient_id=row[0], external_id=row[1], expires_at=expires_at) for row in rows
        ]

    async def furnish(self) -> None:
        """An inbox and ten recipients."""
        async with self._app.work.begin(TENANT) as tx:
            await self._app.inbox.inboxes.put(tx, self._scope, "main", title="Main", description="", ttl={})
        for number in range(10):
            async with self._app.work.begin(TENANT) as tx:
                await self._app.recipients.put(tx, self._scope, f"few-{number}", RecipientFields())

    async def post(self) -> None:
        async with self._app.work.begin(TENANT) as tx:
            await self._app.inbox.posts.post(tx, self._scope, "main", _command(PostContent(title="Hello")))

    async def reading(self, rounds: int, calls: int) -> list[Entry]:
        store, clock = PgInboxFeed(), self._app.clock
        turn = 0

        async def page() -> None:
            nonlocal turn
            turn += 1
            who = self.visitors[turn % len(self.visitors)]
            async with self._app.work.begin(TENANT) as tx:
                found = await store.page(
                    tx, "main", who.recipient_id, FeedFilter(), before=_LAST, now=clock.now(), limit=20
                )
                assert found is not None
                assert len(found[1]) == 20

        async def counts() -> None:
            nonlocal turn
            turn += 1
            who = self.visitors[turn % len(self.visitors)]
            async with self._app.work.begin(TENANT) as tx:
                found = await store.counts(tx, "main", [who.recipient_id], clock.now())
                assert found[who.recipient_id].total > 0

        async def bare() -> None:
            async with self._app.work.begin(TENANT) as tx:
                assert len(await tx.connection.fetch(_BARE, TENANT, self.inbox_id, _LAST)) == 20

        ours: dict[str, list[float]] = {"page": [], "counts": []}
        theirs: list[float] = []
        for _ in range(rounds):
            theirs.append(1_000 / await _each(bare, calls))
            ours["page"].append(1_000 / await _each(page, calls))
            ours["counts"].append(1_000 / await _each(counts, calls))
        return [
            compared(
                name=f"inbox-{name}",
                what=f"first {name}" if name == "page" else "counts, in total and by topic",
                unit="1/s",
                ours=values,
                reference="a bare indexed SELECT of one page",
                theirs=theirs,
                goal="≥ 0.5",
                at_least=0.5,
            )
            for name, values in ours.items()
        ]

    async def marking(self, rounds: int, calls: int) -> Entry:
        """Everything read, by people with fifty messages of their own and all those for everyone, against nobody's."""
        with_many, with_none = iter(self.visitors), iter(await self._newcomers(rounds * calls))

        async def mark(who: Visitor, inbox: str) -> None:
            async with self._app.work.begin(TENANT) as tx:
                await self._app.inbox.feed.read_before(tx, who, inbox, self._app.clock.now())

        ours: list[float] = []
        theirs: list[float] = []
        for _ in range(rounds):
            theirs.append(await _each(lambda: mark(next(with_none), "empty"), min(calls, 200 // rounds)))
            ours.append(await _each(lambda: mark(next(with_many), "main"), min(calls, 200 // rounds)))
        return compared(
            name="inbox-mark-all",
            what="mark all read, of all messages",
            unit="ms",
            ours=ours,
            reference="the same by someone who has none",
            theirs=theirs,
            goal="≤ 1.3",
            at_most=1.3,
        )

    async def streaming(self, clients: int, posts: int) -> Entry:
        """From the call that posts to the last byte at each client, all on one process."""
        app = self._app
        # All of them come from this machine.
        roomy = replace(app, settings=replace(app.settings, streams_per_address=clients))
        live = live_app(roomy, LiveMetrics(CollectorRegistry()))
        port = free_port()
        server = server_of(live, "127.0.0.1", port, websockets=True)
        serving = asyncio.create_task(server.serve())
        latencies: list[float] = []
        begun = 0.0
        arrived = asyncio.Semaphore(0)
        readers: list[asyncio.Task[None]] = []

        async def follow(token: str, ready: asyncio.Event) -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(
                f"GET /v1/me/inboxes/main/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
            )
            try:
                while line := await reader.readline():
                    if line.startswith(b"event: counts"):
                        ready.set()
                    elif line.startswith(b"event: message"):
                        latencies.append((time.perf_counter() - begun) * 1_000)
                        arrived.release()
            finally:
                writer.close()

        try:
            await asyncio.sleep(1)
            tokens = await self._tokens(clients)
            for start in range(0, clients, 100):
                events = [asyncio.Event() for _ in tokens[start : start + 100]]
                readers += [
                    asyncio.create_task(follow(token, event))
                    for token, event in zip(tokens[start : start + 100], events, strict=True)
                ]
                await asyncio.gather(*(event.wait() for event in events))
            for _ in range(posts):
                begun = time.perf_counter()
                async with app.work.begin(TENANT) as tx:
                    await app.inbox.posts.post(tx, self._scope, "main", _command(PostContent(title="Live")))
                for _ in range(clients):
                    await arrived.acquire()
                await asyncio.sleep(2)
        finally:
            for task in readers:
                task.cancel()
            await asyncio.gather(*readers, return_exceptions=True)
            await live.close()
            server.stop()
            await serving
        slowest = sorted(latencies)[int(len(latencies) * 0.99)]
        return Entry(
            name="inbox-live",
            what=f"post to everyone until it is at each of {clients:,} clients, 99th percentile",
            unit="ms",
            ours=Spread.of([slowest]),
            goal="< 250",
            met=slowest < 250,
        )

    async def _newcomers(self, count: int) -> list[Visitor]:
        async with self._app.work.begin(TENANT) as tx:
            empty = await self._app.inbox.inboxes.put(tx, self._scope, "empty", title="Empty", description="", ttl={})
        rows = await self._house.admin.fetch(
            "select r.id, r.external_id from waypost.recipients r where not exists"
            " (select from waypost.inbox_members m where m.recipient_id = r.id) limit $1",
            count,
        )
        # They have been here before, like the others.
        await self._house.admin.executemany(
            "insert into waypost.inbox_members (tenant_id, inbox_id, recipient_id, n, visible_from)"
            " values ($1, $2, $3, 50, '00000000-0000-0000-0000-000000000000')",
            [(TENANT, empty.id, row[0]) for row in rows],
        )
        expires_at = self._app.clock.now() + timedelta(hours=1)
        return [Visitor(tenant_id=TENANT, recipient_id=r[0], external_id=r[1], expires_at=expires_at) for r in rows]

    async def _tokens(self, count: int) -> list[str]:
        rows = await self._house.admin.fetch("select external_id from waypost.recipients limit $1", count)
        async with self._app.work.begin(TENANT) as tx:
            return [(await self._app.inbox.visitors.issue(tx, self._scope, row[0]))[0] for row in rows]


def _command(content: PostContent) -> PostCommand:
    return PostCommand(audience=Audience(kind=AudienceKind.EVERYONE), content=content)


async def _each(call: Callable[[], Awaitable[None]], count: int) -> float:
    """Milliseconds, in the middle."""
    times: list[float] = []
    for _ in range(count):
        begun = time.perf_counter()
        await call()
        times.append((time.perf_counter() - begun) * 1_000)
    return median(times)
