"""37. Eight writers that commit when they like, four relays that are killed, an endpoint that fails: nothing is
missing, and of each subject the broker hears in the order in which it happened."""

import asyncio
import json
import random
import signal
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.web_peer import Asked, Reply

from waypost.adapters.postgres.outbox import PgOutbox
from waypost.adapters.postgres.work import connection_of
from waypost.kernel.ids import show
from waypost.outbox.model import News, OutboxKind

SCRIPT = Path(__file__).with_name("killable_relay.py")
WRITERS, RELAYS, KILLS, SUBJECTS, WRITES = 8, 4, 8, 12, 30


async def start(database: Any, published: Path) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        sys.executable, SCRIPT, database.worker, published, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    return process


async def kill(process: asyncio.subprocess.Process) -> None:
    process.send_signal(signal.SIGKILL)
    await process.wait()
    process._transport.close()  # type: ignore[attr-defined]


async def write(hall: Any, subjects: list[UUID], chance: random.Random) -> None:
    """Each write holds its subject's lock from the change to the commit, as every writer of ours does."""
    for _ in range(WRITES):
        subject = chance.choice(subjects)
        async with hall.worker.begin("acme") as tx:
            await asyncio.sleep(chance.uniform(0, 0.01))
            number = await connection_of(tx).fetchval(
                "update notifications set reason = (coalesce(reason, '0')::int + 1)::text"
                " where tenant_id = 'acme' and id = $1 returning reason",
                subject,
            )
            news = News(kind=OutboxKind.NOTIFICATION_DEFERRED, subject_id=subject, n=int(number))
            await PgOutbox().append(tx, [news])
            await asyncio.sleep(chance.uniform(0, 0.03))


async def until(condition: Any, seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 — other processes work meanwhile
            await asyncio.sleep(0.1)


def heard(published: Path) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for line in published.read_text().splitlines():
        event = json.loads(line)
        found[event["subject"]].append(event["data"]["attempt"])
    return found


@pytest.mark.timeout(300)
async def test_nothing_missing_and_in_order_per_subject(hall: Any, database: Any, tmp_path: Path) -> None:
    chance, published = random.Random(37), tmp_path / "published"
    received: dict[str, set[int]] = defaultdict(set)
    ids: dict[tuple[str, int], set[str]] = defaultdict(set)

    async def behave(asked: Asked) -> Reply:
        if asked.path == "/failing":
            return Reply(500)
        data = json.loads(asked.body)["data"]
        received[data["notification_id"]].add(data["attempt"])
        ids[data["notification_id"], data["attempt"]].add(asked.headers["webhook-id"])
        return Reply()

    hall.peer.behave = behave
    await hall.endpoint("/good")
    await hall.endpoint("/failing")
    subjects = [await hall.notification() for _ in range(SUBJECTS)]
    relays = list(await asyncio.gather(*(start(database, published) for _ in range(RELAYS))))
    writing = [asyncio.create_task(write(hall, subjects, random.Random(number))) for number in range(WRITERS)]
    for _ in range(KILLS):
        await asyncio.sleep(chance.uniform(0.05, 0.25))
        victim = chance.randrange(RELAYS)
        await kill(relays[victim])
        relays[victim] = await start(database, published)
    await asyncio.gather(*writing)

    async def all_told() -> bool:
        # The dead had taken places and deliveries: their leases are made to have run out.
        await hall.admin.execute("update webhook_lanes set busy_a = '-infinity', busy_b = '-infinity', due = now()")
        await hall.admin.execute("update webhook_deliveries set due = now() where state = 'waiting'")
        delivered = "select endpoint_id from webhook_deliveries where state = 'delivered'"
        waiting = f"state = 'waiting' and endpoint_id in ({delivered})"
        return await hall.count("outbox_unread") == 0 and await hall.count("webhook_deliveries", waiting) == 0

    try:
        await until(all_told, 120)
    finally:
        for process in relays:
            await kill(process)

    rows = await hall.admin.fetch("select id, reason from notifications where reason is not null")
    written = {show("ntf", row["id"]): int(row["reason"]) for row in rows}
    assert sum(written.values()) == WRITERS * WRITES == await hall.count("outbox")
    told = heard(published)
    for subject, last in written.items():
        first_heard = list(dict.fromkeys(told[subject]))
        assert first_heard == list(range(1, last + 1)), "in order, none missing; what comes twice came first in order"
        assert received[subject] == set(range(1, last + 1)), "no endpoint misses an event because another fails"
    assert all(len(of_event) == 1 for of_event in ids.values()), "an event keeps its id over every try"
    assert await hall.count("webhook_deliveries", "state = 'delivered'") == WRITERS * WRITES
