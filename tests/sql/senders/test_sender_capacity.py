"""Room on sender accounts: never one more than the limit, however many workers ask at once."""

import asyncio
from datetime import date, timedelta
from typing import Any

import asyncpg
import pytest

from waypost.adapters.postgres.queries import load
from waypost.kernel.ids import mint
from waypost.senders.capacity import Rule
from waypost.senders.model import AccountStatus, Stage, Tally
from waypost.senders.warmup import start


async def test_ten_workers_at_once_get_the_limit_and_not_one_more(house: Any) -> None:
    account = await house.account(daily_limit=137)
    desks = [house.desk() for _ in range(10)]
    rounds = await asyncio.gather(*(house.ask(desk, 9) for desk in desks for _ in range(4)))
    going = [one for _, batch, _ in rounds for one in batch]
    assert len(going) == len(set(going)) == 137
    assert (await house.today(account))["reserved"] == 137
    waiting = [wait for _, _, waits in rounds for wait in waits]
    assert len(waiting) == 360 - 137
    assert {wait.rule for wait in waiting} == {Rule.LIMIT}


async def test_those_over_the_limit_are_promised_days_that_can_take_them(house: Any) -> None:
    await house.account(daily_limit=10)
    _, going, waiting = await house.ask(house.desk(), 35)
    assert len(going) == 10
    tomorrow = house.clock.now().date() + timedelta(days=1)
    promised = [wait.until.date() for wait in waiting]
    assert [promised.count(tomorrow + timedelta(days=n)) for n in range(3)] == [10, 10, 5]


async def test_midnight_needs_nobody_to_come(house: Any) -> None:
    account = await house.account(daily_limit=5)
    desk = house.desk()
    assert len((await house.ask(desk, 8))[1]) == 5
    assert len((await house.ask(desk, 8))[1]) == 0
    await house.clock.advance(12 * 3600 + 1)
    assert len((await house.ask(desk, 8))[1]) == 5
    assert (await house.today(account))["reserved"] == 5


async def test_what_is_not_used_is_given_back_once(house: Any) -> None:
    account = await house.account(daily_limit=10)
    desk = house.desk()
    batch, going, _ = await house.ask(desk, 10)
    tallies = dict(zip(going, [Tally.SENT] * 4 + [Tally.BOUNCED, Tally.REFUSED, Tally.DEFERRED, Tally.AWAY, Tally.AWAY,
                               Tally.UNUSED], strict=True))  # fmt: skip
    for _ in range(2):
        await house.settle(batch, tallies)
        assert await house.today(account) == {"reserved": 6, "sent": 4, "bounced": 1, "errors": 2, "deferred": 1}
    assert len((await house.ask(desk, 10))[1]) == 4
    assert await house.admin.fetchval("select count(*) from sender_reservations where batch_id = $1", batch) == 0


async def test_a_batch_settled_in_halves_counts_as_one(house: Any) -> None:
    account = await house.account(daily_limit=10)
    batch, going, _ = await house.ask(house.desk(), 4)
    await house.settle(batch, dict.fromkeys(going[:1], Tally.SENT))
    await house.settle(batch, dict.fromkeys(going[1:], Tally.UNUSED))
    await house.settle(batch, dict.fromkeys(going, Tally.SENT))
    assert await house.today(account) == {"reserved": 1, "sent": 1, "bounced": 0, "errors": 0, "deferred": 0}


async def test_errors_in_a_row_end_with_an_answer(house: Any) -> None:
    account = await house.account()
    desk = house.desk()

    async def in_a_row(*tallies: Tally) -> int:
        batch, going, _ = await house.ask(desk, len(tallies))
        await house.settle(batch, dict(zip(going, tallies, strict=True)))
        return await house.admin.fetchval(
            "select consecutive_errors from sender_states where account_id = $1", account.id
        )

    assert await in_a_row(Tally.REFUSED, Tally.REFUSED) == 2
    assert await in_a_row(Tally.AWAY, Tally.AWAY, Tally.AWAY) == 3
    assert await in_a_row(Tally.UNUSED) == 3
    assert await in_a_row(Tally.SENT, Tally.REFUSED) == 0


async def test_a_pause_counts_with_the_next_batch_even_before_the_roster_is_read_again(house: Any) -> None:
    account = await house.account()
    desk = house.desk()
    assert len((await house.ask(desk, 3))[1]) == 3
    async with house.api_work.begin("acme") as tx:
        await house.accounts.set_status(tx, account.id, AccountStatus.PAUSED, None, house.clock.now())
    _, going, waiting = await house.ask(desk, 3)
    assert going == []
    assert {wait.rule for wait in waiting} == {Rule.PAUSED}


async def test_a_new_account_and_a_gone_one_are_noticed_within_a_second(house: Any) -> None:
    desk = house.desk()
    assert await desk.tenants_with_accounts({"acme"}) == set()
    account = await house.account(daily_limit=1)
    assert await desk.tenants_with_accounts({"acme"}) == set()
    await house.clock.advance(1)
    assert len((await house.ask(desk, 2))[1]) == 1
    await house.account("second")
    await house.clock.advance(1)
    assert len((await house.ask(desk, 2))[1]) == 2
    async with house.api_work.begin("acme") as tx:
        await house.accounts.set_status(tx, account.id, AccountStatus.ARCHIVED, None, house.clock.now())
    assert len((await house.ask(desk, 2))[1]) == 2


async def test_delay_and_batch_size_hand_out_a_few_at_a_time(house: Any) -> None:
    await house.account(batch_size=10, delay_ms=6_000)
    desk = house.desk()
    begun = house.clock.now()
    _, going, waiting = await house.ask(desk, 25)
    assert len(going) == 10
    assert [(wait.until - begun).total_seconds() for wait in waiting] == [60 + 6 * n for n in range(15)]
    await house.clock.advance(59)
    assert (await house.ask(desk, 5))[1] == []
    await house.clock.advance(1)
    assert len((await house.ask(desk, 25))[1]) == 10


async def test_a_provider_s_limit_holds_for_the_hour_and_for_nobody_else(house: Any) -> None:
    await house.account(provider_limits={"gmail": 5})
    desk = house.desk()
    _, going, waiting = await house.ask(desk, 8)
    assert len(going) == 5
    assert {wait.rule for wait in waiting} == {Rule.PROVIDER}
    assert all(wait.until >= house.clock.now() + timedelta(hours=1) for wait in waiting)
    assert len((await house.ask(desk, 8, provider="icloud"))[1]) == 8
    await house.clock.advance(3600)
    assert len((await house.ask(desk, 8))[1]) == 5


async def test_a_warm_up_goes_on_with_the_first_batch_of_a_day_and_one_stage_at_a_time(house: Any) -> None:
    stages = (Stage(limit=2, days=3), Stage(limit=4, days=3))
    account = await house.account(daily_limit=3, warmup=start(stages, house.clock.now().date()))
    desk = house.desk()

    async def stage() -> tuple[int | None, list[date], date | None]:
        row = await house.admin.fetchrow("select * from sender_accounts where id = $1", account.id)
        return row["warmup_stage"], row["warmup_started_on"], row["warmup_finished_on"]

    assert len((await house.ask(desk, 9))[1]) == 2
    await house.clock.advance(30 * 86_400)
    assert len((await house.ask(desk, 9))[1]) == 3
    assert await stage() == (2, [date(2026, 1, 15), date(2026, 2, 14)], None)
    await house.clock.advance(3 * 86_400)
    assert len((await house.ask(desk, 9))[1]) == 3
    assert await stage() == (None, [date(2026, 1, 15), date(2026, 2, 14)], date(2026, 2, 17))


async def test_when_the_first_account_is_full_the_next_one_helps(house: Any) -> None:
    small = await house.account("small", daily_limit=3)
    large = await house.account("large", daily_limit=5)
    assert len((await house.ask(house.desk(), 20))[1]) == 8
    assert (await house.today(small))["reserved"] == 3
    assert (await house.today(large))["reserved"] == 5


async def test_a_named_sender_waits_for_its_own_account(house: Any) -> None:
    await house.account("other")
    await house.account("named", from_address="news@acme.example", daily_limit=1)
    _, going, waiting = await house.ask(house.desk(), 3, sender="news@acme.example")
    assert (len(going), len(waiting)) == (1, 2)


async def test_the_database_itself_refuses_one_more_than_the_limit(house: Any) -> None:
    """Should the arithmetic ever be wrong, the statement is not."""
    from waypost.senders.capacity import Handout

    account = await house.account(daily_limit=2)
    async with house.worker_work.begin("acme") as tx:
        today = house.clock.now().date()
        await house.capacity.hold(tx, [account.id], today)
        [standing] = await house.capacity.held_standings(tx, [account.id], today, [])
        handout = Handout(standing, house.clock.now())
        handout.going += [mint(house.clock) for _ in range(3)]
        with pytest.raises(RuntimeError):
            await house.capacity.reserve(tx, mint(house.clock), today, [handout], house.clock.now())


async def test_a_worker_may_not_touch_what_is_configured(house: Any) -> None:
    account = await house.account()
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with house.worker_work.begin("acme") as tx:
            await tx.connection.execute("update sender_accounts set daily_limit = 9 where id = $1", account.id)


@pytest.mark.parametrize("name", ["states", "paces", "by_ids", "hold", "reserve", "settle"])
async def test_every_statement_of_a_batch_finds_its_rows_by_index(house: Any, name: str) -> None:
    """As the worker, under row level security, with more accounts than anybody asks for."""
    wanted = [(await house.account(f"account {number}")).id for number in range(3)]
    today = house.clock.now().date()
    arguments = {
        "states": ("acme", wanted, today),
        "paces": ("acme", wanted, ["gmail"]),
        "by_ids": ("acme", wanted),
        "hold": ("acme", wanted, today),
        "reserve": ("acme", today, wanted, [1, 1, 1], [9, 9, 9]),
        "settle": ("acme", mint(house.clock)),
    }[name]
    statements = {**load("senders"), **load("sender_capacity"), "settle": _RESERVED}
    async with house.worker_work.begin("acme") as tx:
        rows = await tx.connection.fetch(f"explain {statements[name]}", *arguments)
    plan = "\n".join(row[0] for row in rows)
    assert "Index" in plan
    assert "Seq Scan" not in plan, plan


_RESERVED = "select * from sender_reservations r where r.tenant_id = $1 and r.batch_id = $2"
