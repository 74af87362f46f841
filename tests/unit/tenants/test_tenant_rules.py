from dataclasses import replace
from datetime import timedelta
from itertools import product
from uuid import uuid4

import pytest

from waypost.kernel.clock import VirtualClock
from waypost.kernel.errors import Conflict, Forbidden, Refused
from waypost.kernel.tenancy import PLATFORM, PLATFORM_ONLY, Permission, Scope, Withheld
from waypost.kernel.vocabulary import TenantMode
from waypost.tenants.model import TRANSITIONS, TenantStatus
from waypost.tenants.rules import (
    READING,
    check_expiry,
    check_grant,
    check_transition,
    is_slug,
    read_name,
    read_scopes,
    standing,
    without_tenant,
)

ALL = frozenset(Permission)
SCOPE = Scope(
    tenant_id="acme",
    mode=TenantMode.SANDBOX,
    key_id=uuid4(),
    key_tenant="acme",
    permissions=frozenset({Permission.KEYS_MANAGE, Permission.TEMPLATES_READ}),
    request_id="req_1",
)


@pytest.mark.parametrize(("before", "after"), list(product(TenantStatus, TenantStatus)))
def test_only_listed_transitions_are_legal(before: TenantStatus, after: TenantStatus) -> None:
    if after is before or after in TRANSITIONS[before]:
        check_transition(before, after)
    else:
        with pytest.raises(Conflict):
            check_transition(before, after)


def test_nothing_comes_back_from_deleting_and_every_status_has_its_line() -> None:
    assert TRANSITIONS.keys() == set(TenantStatus)
    assert TRANSITIONS[TenantStatus.DELETING] == frozenset()


def test_what_each_status_takes_away() -> None:
    assert standing(TenantStatus.ACTIVE, ALL) is None
    onboarding = standing(TenantStatus.ONBOARDING, ALL)
    assert onboarding is not None
    assert onboarding.permissions == {Permission.NOTIFICATIONS_SEND, Permission.EVENTS_SEND}
    suspended = standing(TenantStatus.SUSPENDED, ALL)
    assert suspended is not None
    assert suspended.permissions == ALL - READING
    with pytest.raises(Forbidden):
        standing(TenantStatus.DELETING, ALL)


def test_reading_permissions_read() -> None:
    assert {permission for permission in Permission if permission.value.endswith(":read")} == READING


def test_a_platform_key_without_a_tenant_keeps_only_what_is_the_platforms() -> None:
    withheld = without_tenant(ALL)
    own = {"keys:manage", "audit:read", "templates", "triggers", "suppressions", "operations", "domains"}
    assert ALL - withheld.permissions == PLATFORM_ONLY | {
        permission for permission in ALL if permission.value in own or permission.value.partition(":")[0] in own
    }


def test_a_scope_says_why_it_refuses() -> None:
    withheld = Withheld(permissions=frozenset({Permission.TEMPLATES_READ}), code="tenant_suspended", message="No.")
    scope = replace(SCOPE, permissions=frozenset({Permission.KEYS_MANAGE}), withheld=withheld)
    scope.demand(Permission.KEYS_MANAGE)
    with pytest.raises(Forbidden) as suspended:
        scope.demand(Permission.TEMPLATES_READ)
    with pytest.raises(Forbidden) as lacking:
        scope.demand(Permission.TEMPLATES_WRITE)
    assert (suspended.value.code, lacking.value.code) == ("tenant_suspended", "missing_scope")
    assert scope.held == SCOPE.permissions == SCOPE.held


@pytest.mark.parametrize("slug", ["abc", "a-1", "0ab", "a" * 63])
def test_slugs(slug: str) -> None:
    assert is_slug(slug)


@pytest.mark.parametrize("slug", ["", "ab", "-ab", "ab-", "Abc", "a_b", "a" * 64, "abc\n", PLATFORM])
def test_what_is_no_slug(slug: str) -> None:
    assert not is_slug(slug)


@pytest.mark.parametrize("name", ["", " ", "x" * 201, "a\nb", "a\x00"])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(Refused) as refusal:
        read_name(name, "/name")
    assert refusal.value.errors[0].pointer == "/name"


def test_scopes_are_a_closed_list() -> None:
    assert read_scopes([permission.value for permission in Permission], "/scopes") == ALL
    for words in ([], ["nothing"], ["NOTIFICATIONS:SEND"], ["audit:read"] * 65):
        with pytest.raises(Refused):
            read_scopes(words, "/scopes")


def test_grants() -> None:
    check_grant(SCOPE, "acme", frozenset({Permission.TEMPLATES_READ}))
    with pytest.raises(Forbidden):
        check_grant(SCOPE, "acme", frozenset({Permission.TEMPLATES_WRITE}))
    mighty = replace(SCOPE, tenant_id=PLATFORM, permissions=ALL)
    check_grant(mighty, PLATFORM, ALL)
    for permission in PLATFORM_ONLY:
        with pytest.raises(Refused):
            check_grant(mighty, "acme", frozenset({permission}))


def test_expiry_lies_ahead() -> None:
    now = VirtualClock().now()
    check_expiry(None, now)
    check_expiry(now + timedelta(seconds=1), now)
    with pytest.raises(Refused):
        check_expiry(now, now)
