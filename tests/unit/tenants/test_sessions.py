"""Sessions: as long as a day's work, bound to their key, told apart, and opened by nobody else."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import pytest

from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import MasterKey
from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import Forbidden, Unauthenticated
from waypost.kernel.tenancy import PLATFORM, Permission, Scope
from waypost.kernel.vocabulary import TenantMode
from waypost.kernel.work import Transaction
from waypost.tenants.sessions import LASTS, Sessions

SECRET = "wp_test_" + "x" * 47


class FakeWork:
    @asynccontextmanager
    async def begin(self, tenant_id: str) -> AsyncIterator[Transaction]:
        yield Transaction(tenant_id)


class FakeKeyring:
    def __init__(self, master: bytes) -> None:
        vault = LocalVault(MasterKey(master))
        self._key = vault.tenant_key(PLATFORM, vault.new_tenant_key(PLATFORM))

    async def of(self, _tx: Transaction) -> Any:
        return self._key


class FakeAccess:
    """Knows one key, of the platform, that may act for `acme`."""

    revoked = False

    async def authenticate(self, secret: str | None, tenant: str | None, request_id: str) -> Scope:
        if self.revoked or secret != SECRET:
            raise Unauthenticated("No.")
        if tenant not in (None, "acme"):
            raise Forbidden("No.")
        return Scope(
            tenant_id=tenant or PLATFORM,
            mode=TenantMode.LIVE,
            key_id=UUID(int=7),
            key_tenant=PLATFORM,
            permissions=frozenset({Permission.TENANTS_ACT}),
            request_id=request_id,
        )


@pytest.fixture
def access() -> FakeAccess:
    return FakeAccess()


@pytest.fixture
def sessions(access: Any, clock: VirtualClock) -> Sessions:
    return Sessions(work=FakeWork(), keyring=FakeKeyring(bytes(32)), access=access, clock=clock)


async def test_a_session_is_the_key_again(sessions: Sessions) -> None:
    opened = await sessions.open(SECRET, "rid_1")
    session = await sessions.resume(opened.token, "rid_2")
    assert session.scope.request_id == "rid_2"
    assert session.form_proof == opened.session.form_proof
    assert session.hint.endswith("xxxx")
    assert SECRET not in opened.token
    assert SECRET not in repr(opened) + repr(session)


async def test_a_session_ends_after_its_time(sessions: Sessions, clock: VirtualClock) -> None:
    opened = await sessions.open(SECRET, "rid")
    await clock.advance(LASTS.total_seconds() - 1)
    await sessions.resume(opened.token, "rid")
    await clock.advance(1)
    with pytest.raises(Unauthenticated):
        await sessions.resume(opened.token, "rid")


async def test_choosing_a_tenant_does_not_lengthen_a_session(sessions: Sessions, clock: VirtualClock) -> None:
    opened = await sessions.open(SECRET, "rid")
    await clock.advance(3600)
    acting = await sessions.act_for(opened.token, "acme", "rid")
    assert acting.session.scope.tenant_id == "acme"
    assert acting.session.ends_at == opened.session.ends_at
    assert acting.session.is_proved_by(opened.session.form_proof)
    assert acting.session.chooses_tenants


async def test_a_tenant_that_went_away_leaves_the_platform(sessions: Sessions) -> None:
    opened = await sessions.open(SECRET, "rid")
    assert (await sessions.act_for(opened.token, "gone", "rid")).session.scope.tenant_id == PLATFORM


async def test_a_session_ends_with_its_key(sessions: Sessions, access: FakeAccess) -> None:
    opened = await sessions.open(SECRET, "rid")
    access.revoked = True
    with pytest.raises(Unauthenticated):
        await sessions.resume(opened.token, "rid")


async def test_two_sessions_of_one_key_prove_nothing_to_each_other(sessions: Sessions) -> None:
    first, second = await sessions.open(SECRET, "rid"), await sessions.open(SECRET, "rid")
    assert first.token != second.token
    assert not first.session.is_proved_by(second.session.form_proof)
    assert not first.session.is_proved_by("é")


async def test_another_deployment_s_session_is_none(sessions: Sessions, access: Any, clock: VirtualClock) -> None:
    elsewhere = Sessions(work=FakeWork(), keyring=FakeKeyring(b"\1" * 32), access=access, clock=clock)
    with pytest.raises(Unauthenticated):
        await sessions.resume((await elsewhere.open(SECRET, "rid")).token, "rid")


@pytest.mark.parametrize("token", ["", "A", "AAAA", "é" * 10, "A" * 2000, "%%%%", "AQ" * 100])
async def test_what_was_made_up_is_none(sessions: Sessions, token: str) -> None:
    with pytest.raises(Unauthenticated):
        await sessions.resume(token, "rid")
