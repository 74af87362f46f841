"""Consent, platform-wide suppressions and what is queued already, on the real database."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from waypost.adapters.postgres.audit import PgAuditStore
from waypost.adapters.postgres.delivery import PgDelivery
from waypost.adapters.postgres.platform_suppression import PgPlatformSuppressions
from waypost.adapters.postgres.preferences import PgChoices, PgConsents, PgTopics
from waypost.adapters.postgres.suppression import PgSuppressions
from waypost.adapters.postgres.tenants import PgKeyring
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.vault.keyring import LocalVault
from waypost.delivery.gate import MessageKind
from waypost.kernel.clock import SystemClock
from waypost.kernel.ids import mint
from waypost.kernel.tenancy import PLATFORM
from waypost.kernel.vocabulary import Category, Channel, TenantMode
from waypost.preferences.choices import ChoiceDesk
from waypost.preferences.history import ConsentHistory
from waypost.preferences.joining import JoinPreferences
from waypost.preferences.model import ChannelChoice, ConsentState, NewConsent, Policy, QuietHours
from waypost.suppression.desk import Order, SuppressionDesk
from waypost.suppression.everywhere import Everywhere
from waypost.suppression.model import SuppressionReason
from waypost.suppression.suppress import Suppressions
from waypost.tenants.audit import Audit
from waypost.tenants.platform import operator_scope

CLOCK = SystemClock()
ADDRESS = "jane@example.com"


class House:
    """The stores of one installation with a platform and two tenants who both know Jane."""

    def __init__(self, work: PgWork, vault: LocalVault, admin: asyncpg.Connection) -> None:
        self.work, self.admin = work, admin
        self.keyring = PgKeyring(vault)
        self.history = ConsentHistory(store=PgConsents(), keyring=self.keyring, clock=CLOCK)
        audit = Audit(PgAuditStore(), CLOCK)
        self.choices = ChoiceDesk(store=PgChoices(), topics=PgTopics(), audit=audit, clock=CLOCK)
        self.everywhere = Everywhere(store=PgPlatformSuppressions(), keyring=self.keyring)
        self.desk = SuppressionDesk(
            suppressions=Suppressions(store=PgSuppressions(), clock=CLOCK),
            topics=PgTopics(),
            everywhere=self.everywhere,
            keyring=self.keyring,
            audit=audit,
        )
        self.people: dict[str, UUID] = {}

    async def know_jane(self, tenant: str) -> UUID:
        async with self.work.begin(tenant) as tx:
            hashed = (await self.keyring.of(tx)).hash_address("email", ADDRESS)
        person = mint(CLOCK)
        await self.admin.execute(
            "insert into waypost.recipients (tenant_id, id, external_id, kind, data_key, created_at, updated_at)"
            " values ($1, $2, $3, 'user', 'k', now(), now())",
            tenant,
            person,
            str(person),
        )
        await self.admin.execute(
            "insert into waypost.addresses"
            " (tenant_id, id, recipient_id, channel, hash, ciphertext, status, given_at, created_at, updated_at)"
            " values ($1, $2, $2, 1, $3, 'c', 'active', now(), now(), now())",
            tenant,
            person,
            hashed,
        )
        self.people[tenant] = person
        return person

    async def facts(self, tenant: str, topic: str | None = None) -> Any:
        person = self.people[tenant]
        kind = MessageKind(Category.MARKETING, topic)
        async with self.work.begin(tenant) as tx:
            delivery = PgDelivery(clock=CLOCK, ring=lambda: None)
            [found] = await delivery.gate_facts(tx, Channel.EMAIL, [(person, person)], [kind])
        return found

    async def say(self, tenant: str, state: ConsentState, topic: str = "news") -> None:
        new = NewConsent(channel=Channel.EMAIL, topic=topic, state=state, source="test", text_version="1")
        async with self.work.begin(tenant) as tx:
            await self.history.add(tx, self.people[tenant], new)

    async def fault(self, tenant: str) -> int | None:
        async with self.work.begin(tenant) as tx:
            return await self.history.first_fault(tx, self.people[tenant])


@pytest.fixture
async def house(
    api_work: PgWork, vault: LocalVault, admin: asyncpg.Connection, make_tenant: Callable[..., Awaitable[str]]
) -> House:
    made = House(api_work, vault, admin)
    for tenant in (PLATFORM, "acme", "other"):
        await make_tenant(tenant)
    for tenant in ("acme", "other"):
        await made.know_jane(tenant)
    return made


async def test_whatever_is_altered_in_a_history_is_found(house: House) -> None:
    for state in (ConsentState.PENDING, ConsentState.GRANTED, ConsentState.WITHDRAWN):
        await house.say("acme", state)
    assert await house.fault("acme") is None
    for statement, place in (
        ("update waypost.consents set state = 'granted' where n = 3", 3),
        ("update waypost.consents set at = at - interval '1 year' where n = 2", 2),
        ("delete from waypost.consents where n = 3", 3),
        ("delete from waypost.consent_heads", 1),
        ("update waypost.consent_heads set n = 2; delete from waypost.consents where n = 3", 2),
    ):
        await house.admin.execute("create table waypost.kept as select * from waypost.consents")
        await house.admin.execute("create table waypost.kept_heads as select * from waypost.consent_heads")
        await house.admin.execute(statement)
        assert await house.fault("acme") == place, statement
        await house.admin.execute(
            "delete from waypost.consents; insert into waypost.consents select * from waypost.kept;"
            "delete from waypost.consent_heads; insert into waypost.consent_heads select * from waypost.kept_heads;"
            "drop table waypost.kept, waypost.kept_heads"
        )
    assert await house.fault("acme") is None


async def test_no_role_of_the_application_can_alter_a_history(house: House, connect: Any) -> None:
    await house.say("acme", ConsentState.GRANTED)
    for role in ("api", "worker"):
        connection = await connect(role)
        await connection.execute("select set_config('app.tenant_id', 'acme', false)")
        for statement in ("update consents set source = 'x'", "delete from consents", "truncate consents"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(statement)


async def test_the_last_word_about_a_topic_or_all_marketing_counts(house: House) -> None:
    assert (await house.facts("acme", "news")).consent is ConsentState.NONE
    await house.say("acme", ConsentState.GRANTED)
    assert (await house.facts("acme", "news")).consent is ConsentState.GRANTED
    assert (await house.facts("acme", "offers")).consent is ConsentState.NONE
    await house.say("acme", ConsentState.WITHDRAWN, "")
    assert (await house.facts("acme", "news")).consent is ConsentState.WITHDRAWN
    await house.say("acme", ConsentState.GRANTED)
    assert (await house.facts("acme", "news")).consent is ConsentState.GRANTED
    assert (await house.facts("acme", "offers")).consent is ConsentState.WITHDRAWN
    assert (await house.facts("other", "news")).consent is ConsentState.NONE


async def test_the_platform_suppresses_in_every_tenant_also_in_those_to_come(
    house: House, make_tenant: Callable[..., Awaitable[str]], admin: asyncpg.Connection
) -> None:
    order = Order(channel=Channel.EMAIL, address=ADDRESS.upper(), reason=SuppressionReason.COMPLIANCE, notes="by law")
    async with house.work.begin(PLATFORM) as tx:
        standing = await house.desk.suppress(tx, operator_scope("r"), order)
    for tenant in ("acme", "other"):
        facts = await house.facts(tenant)
        assert facts.platform_suppressed
        assert facts.suppressions == ()
        async with house.work.begin(tenant) as tx:
            assert (await PgSuppressions().page(tx, None, 10)) == []
    marked = {row["tenant_id"] for row in await admin.fetch("select tenant_id from waypost.gate_changes")}
    assert marked == {"acme", "other"}
    await make_tenant("newcomer")
    async with house.work.begin(PLATFORM) as tx:
        await house.everywhere.welcome(tx, "newcomer")
    await house.know_jane("newcomer")
    assert (await house.facts("newcomer")).platform_suppressed
    hashes = {row["hash"] for row in await admin.fetch("select hash from waypost.platform_suppressions")}
    assert len(hashes) == 3
    async with house.work.begin(PLATFORM) as tx:
        await house.desk.release(tx, operator_scope("r"), standing.id)
    for tenant in ("acme", "other", "newcomer"):
        assert not (await house.facts(tenant)).platform_suppressed
    assert await admin.fetchval("select count(*) from waypost.suppressions where sealed is not null") == 0


async def test_a_platforms_suppression_ends_by_itself(house: House, admin: asyncpg.Connection) -> None:
    ends = CLOCK.now() + timedelta(days=1)
    order = Order(channel=Channel.EMAIL, address=ADDRESS, reason=SuppressionReason.SOFT_BOUNCE, expires_at=ends)
    async with house.work.begin(PLATFORM) as tx:
        await house.desk.suppress(tx, operator_scope("r"), order)
    assert (await house.facts("acme")).platform_suppressed
    await admin.execute("update waypost.platform_suppressions set expires_at = now() - interval '1 second'")
    assert not (await house.facts("acme")).platform_suppressed


async def test_who_has_quiet_hours_is_always_asked_about(house: House, admin: asyncpg.Connection) -> None:
    person = house.people["acme"]
    quiet = QuietHours(start=1320, end=420)
    async with house.work.begin("acme") as tx:
        standing = await PgChoices().find_for_change(tx, person)
        kept = await house.choices.keep(tx, person, standing, _with(standing, quiet))
    changed = "select changed_at = 'infinity' from waypost.gate_changes where recipient_id = $1"
    assert await admin.fetchval(changed, person) is True
    async with house.work.begin("acme") as tx:
        await house.desk.suppress(
            tx, _scope(), Order(channel=Channel.EMAIL, address=ADDRESS, reason=SuppressionReason.MANUAL)
        )
    assert await admin.fetchval(changed, person) is True
    facts = await house.facts("acme")
    assert facts.quiet_hours == quiet
    async with house.work.begin("acme") as tx:
        await house.choices.keep(tx, person, kept, _with(kept, None))
    assert await admin.fetchval(changed, person) is False


async def test_what_a_tenant_decides_is_read_with_the_facts(house: House) -> None:
    policy = Policy(quiet_hours=QuietHours(start=0, end=60), timezone="Asia/Tokyo", channels={Channel.EMAIL: False})
    async with house.work.begin("acme") as tx:
        await PgChoices().put_policy(tx, policy, CLOCK.now())
        await PgChoices().watch_everyone(tx, always=True)
    assert (await house.facts("acme")).policy == policy
    assert (await house.facts("other")).policy == Policy()
    everyone = await house.admin.fetchval(
        "select changed_at = 'infinity' from waypost.gate_changes where tenant_id = 'acme' and recipient_id = $1",
        UUID(int=0),
    )
    assert everyone is True


async def test_when_two_become_one_the_stricter_wish_holds_and_an_erasure_takes_the_wishes(house: House) -> None:
    first = house.people["acme"]
    await house.say("acme", ConsentState.WITHDRAWN)
    async with house.work.begin("acme") as tx:
        await house.choices.turn_off(tx, first, Channel.EMAIL, "news")
    second = await house.know_jane("acme")
    await house.say("acme", ConsentState.GRANTED)
    join = JoinPreferences(store=PgChoices(), choices=house.choices, history=house.history)
    async with house.work.begin("acme") as tx:
        await join.merge(tx, first, second)
    facts = await house.facts("acme", "news")
    assert facts.consent is ConsentState.WITHDRAWN
    assert facts.choice == ChannelChoice(topics={"news": False})
    assert await house.fault("acme") is None
    async with house.work.begin("acme") as tx:
        assert await join.forget(tx, [first, second], []) == {"preferences": 2}
        assert (await PgChoices().find(tx, second)).channels == {}


def _with(choices: Any, quiet: QuietHours | None) -> Any:
    return replace(choices, quiet_hours=quiet)


def _scope() -> Any:
    return replace(operator_scope("r"), tenant_id="acme", mode=TenantMode.SANDBOX)
