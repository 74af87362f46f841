"""Repeated calls: one effect, one answer, and no key that stays stuck."""

import asyncio
from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from waypost.adapters.postgres.idempotency import PgIdempotencyStore
from waypost.adapters.postgres.tenants import PgKeyring
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import MasterKey
from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import Conflict, MalformedRequest, Refused, Unavailable
from waypost.tenants.idempotency import Idempotency
from waypost.tenants.model import StoredAnswer

VAULT = LocalVault(MasterKey(bytes(range(32))))
ROUTE = "POST /v1/notifications"


@pytest.fixture
async def idempotency(clock: VirtualClock, make_tenant: Callable[..., Awaitable[str]]) -> Idempotency:
    for tenant_id in ("acme", "other"):
        await make_tenant(tenant_id, wrapped_key=VAULT.new_tenant_key(tenant_id))
    return Idempotency(store=PgIdempotencyStore(), keyring=PgKeyring(VAULT), clock=clock)


async def _call(
    work: PgWork,
    idempotency: Idempotency,
    key: str,
    *,
    fingerprint: bytes = b"f",
    route: str = ROUTE,
    tenant_id: str = "acme",
    body: bytes = b'{"id": 1}',
) -> tuple[bool, StoredAnswer]:
    """A keyed call whose effect is an outbox row. Answers whether the work was done now."""
    async with work.begin(tenant_id) as tx:
        stored = await idempotency.claim(tx, key, route, fingerprint)
        if stored is not None:
            return False, stored
        await tx.connection.execute(
            "insert into outbox (tenant_id, kind, subject_id) values ($1, 1, gen_random_uuid())", tenant_id
        )
        await idempotency.keep(tx, key, 202, body)
        return True, StoredAnswer(status=202, body=body)


async def _effects(admin: asyncpg.Connection) -> int:
    return await admin.fetchval("select count(*) from waypost.outbox")


async def test_the_first_answer_is_given_again(
    api_work: PgWork, idempotency: Idempotency, admin: asyncpg.Connection
) -> None:
    first = await _call(api_work, idempotency, "k 1~")
    second = await _call(api_work, idempotency, "k 1~", body=b"never seen")
    assert first == (True, StoredAnswer(status=202, body=b'{"id": 1}'))
    assert second == (False, StoredAnswer(status=202, body=b'{"id": 1}'))
    assert await _effects(admin) == 1
    kept = await admin.fetchval("select answer from waypost.idempotency_keys")
    assert b"id" not in kept


async def test_another_body_or_route_under_the_same_key_is_refused(
    api_work: PgWork, idempotency: Idempotency, admin: asyncpg.Connection
) -> None:
    await _call(api_work, idempotency, "k")
    for other in ({"fingerprint": b"g"}, {"route": "POST /v1/templates"}):
        with pytest.raises(Refused) as refusal:
            await _call(api_work, idempotency, "k", **other)
        assert (refusal.value.code, refusal.value.status) == ("idempotency_key_reused", 422)
    assert await _effects(admin) == 1


async def test_tenants_share_no_keys(api_work: PgWork, idempotency: Idempotency) -> None:
    assert (await _call(api_work, idempotency, "k"))[0]
    assert (await _call(api_work, idempotency, "k", tenant_id="other", fingerprint=b"g"))[0]


@pytest.mark.parametrize("key", ["", "x" * 256, "a\nb", "a\x00", "clé", "a\x7f"])
async def test_keys_must_be_printable_ascii(api_work: PgWork, idempotency: Idempotency, key: str) -> None:
    with pytest.raises(MalformedRequest) as refusal:
        await _call(api_work, idempotency, key)
    assert refusal.value.code == "invalid_idempotency_key"


async def test_a_key_is_free_again_after_a_day(
    api_work: PgWork, idempotency: Idempotency, clock: VirtualClock, admin: asyncpg.Connection
) -> None:
    await _call(api_work, idempotency, "k")
    await clock.advance(24 * 3600)
    assert not (await _call(api_work, idempotency, "k"))[0]
    await clock.advance(1)
    assert (await _call(api_work, idempotency, "k", fingerprint=b"another"))[0]
    assert await _effects(admin) == 2


async def test_twenty_twins_have_one_effect_and_one_answer(
    api_work: PgWork, idempotency: Idempotency, admin: asyncpg.Connection
) -> None:
    calls = [_call(api_work, idempotency, "k", body=f"answer {number}".encode()) for number in range(20)]
    answers = await asyncio.gather(*calls)
    assert sum(worked for worked, _ in answers) == 1
    assert len({answer.body for _, answer in answers}) == 1
    assert await _effects(admin) == 1


async def test_twenty_twins_after_a_day_have_one_effect_too(
    api_work: PgWork, idempotency: Idempotency, clock: VirtualClock, admin: asyncpg.Connection
) -> None:
    await _call(api_work, idempotency, "k")
    await clock.advance(25 * 3600)
    answers = await asyncio.gather(*[_call(api_work, idempotency, "k") for _ in range(20)])
    assert sum(worked for worked, _ in answers) == 1
    assert await _effects(admin) == 2


async def test_a_killed_first_call_leaves_the_key_to_the_second(
    api_work: PgWork, idempotency: Idempotency, admin: asyncpg.Connection
) -> None:
    async def killed() -> None:
        async with api_work.begin("acme") as tx:
            await idempotency.claim(tx, "k", ROUTE, b"f")
            await idempotency.keep(tx, "k", 202, b"lost")
            waiting = asyncio.create_task(_call(api_work, idempotency, "k"))
            await _until_someone_waits(admin)
            pid = await tx.connection.fetchval("select pg_backend_pid()")
            await admin.execute("select pg_terminate_backend($1)", pid)
            survivors.append(await waiting)
            await tx.connection.execute("select 1")

    survivors: list[tuple[bool, StoredAnswer]] = []
    with pytest.raises(Unavailable):
        await killed()
    assert survivors == [(True, StoredAnswer(status=202, body=b'{"id": 1}'))]
    assert await _effects(admin) == 1


async def test_a_twin_does_not_wait_for_ever(api_work: PgWork, idempotency: Idempotency, clock: VirtualClock) -> None:
    impatient = Idempotency(store=PgIdempotencyStore(patience_seconds=0.05), keyring=PgKeyring(VAULT), clock=clock)
    async with api_work.begin("acme") as tx:
        await idempotency.claim(tx, "k", ROUTE, b"f")
        with pytest.raises(Conflict) as refusal:
            await _call(api_work, impatient, "k")
        assert (refusal.value.code, refusal.value.status) == ("in_progress", 409)


async def _until_someone_waits(admin: asyncpg.Connection) -> None:
    waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    async with asyncio.timeout(10):
        while await admin.fetchval(waiting) == 0:
            pass
