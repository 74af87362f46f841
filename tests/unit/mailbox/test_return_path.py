"""Only what we signed is taken for ours."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.vault.keyring import OpenTenantKey
from waypost.mailbox import return_path

KEY, OTHER = OpenTenantKey(b"a" * 32), OpenTenantKey(b"b" * 32)

tenants = st.from_regex(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]", fullmatch=True)
moments = st.integers(0, 2**47 - 1)
notifications = st.builds(lambda ms, rest: UUID(int=(ms << 80) | rest), moments, st.integers(0, 2**80 - 1))
domains = st.sampled_from(["example.com", "bounce.mail.example.com", "x.co", "xn--bcher-kva.example"])


@given(tenants, notifications)
def test_what_is_made_is_read_and_genuine(tenant: str, notification: UUID) -> None:
    address = return_path.make(tenant, notification, KEY)
    local, _, domain = address.partition("@")
    assert len(local) <= 64
    assert domain == f"{tenant}.sandbox.invalid"
    for spelling in (address, address.upper()):
        found = return_path.read(spelling)
        assert found is not None
        assert (found.tenant_id, found.notification_id) == (tenant, notification)
        assert found.is_genuine(KEY)
        assert not found.is_genuine(OTHER)


@given(tenants, notifications, domains)
def test_at_any_domain_it_comes_back_as_what_it_was(tenant: str, notification: UUID, domain: str) -> None:
    address = return_path.make(tenant, notification, KEY, domain)
    assert len(address.partition("@")[0]) <= 64
    for spelling in (address, address.upper(), address.title()):
        assert return_path.verify(spelling, tenant, KEY) == notification
        assert return_path.verify(spelling, f"{tenant}x", KEY) is None
        assert return_path.verify(spelling, tenant, OTHER) is None
    found = return_path.read(address)
    assert found is not None
    assert (found.tenant_id, found.domain) == ("", domain)
    assert not found.is_genuine(KEY), "without its tenant it proves nothing"


@given(notifications, st.integers(0, 44), st.sampled_from("0123456789abcdef"))
def test_any_change_breaks_the_proof(notification: UUID, place: int, letter: str) -> None:
    address = return_path.make("acme", notification, KEY)
    changed = address[:place] + letter + address[place + 1 :]
    found = return_path.read(changed)
    assert changed == address or found is None or not found.is_genuine(KEY)


def test_a_proof_holds_for_one_tenant() -> None:
    address = return_path.make("acme", UUID(int=1), KEY)
    found = return_path.read(address.replace("@acme.", "@other."))
    assert found is not None
    assert not found.is_genuine(KEY)


def test_what_was_signed_in_the_past_still_comes_back() -> None:
    proof = KEY.sign(return_path.PURPOSE, b"acme\n" + UUID(int=1).bytes)[:8].hex()
    address = f"b+{'0' * 25}1-{proof}@bounce.example.com"
    assert return_path.verify(address, "acme", KEY) == UUID(int=1)
    assert return_path.verify(address, "acme", OTHER) is None
    assert return_path.verify(address, "other", KEY) is None


@pytest.mark.parametrize(
    "address",
    [
        "",
        "jane@example.com",
        "b+01hx@acme.sandbox.invalid",
        "b-01hx0000000000000000000000-0123456789abcdef@acme.sandbox.invalid",
        "b+01hx0000000000000000000000-0123456789abcdef@exa mple.com",
        "b+01hx0000000000000000000000-0123456789abcdef@sandbox.invalid",
        "b+71hx0000000000000000000000-0123456789abcdef@_platform.sandbox.invalid",
        "b+7zzzzzzzzzzzzzzzzzzzzzzzzz-0123456789abcdef@acme.sandbox.invalid",
        "b+01hx0000000000000000000000-0123456789abcdef@acme.sandbox.invalid\n",
    ],
)
def test_anything_else_is_not_read(address: str) -> None:
    assert return_path.read(address) is None


def test_a_domain_that_only_looks_like_the_catch_all_names_no_tenant() -> None:
    found = return_path.read("b+01hx0000000000000000000000-0123456789abcdef@acme.sandbox.invalid.example.com")
    assert found is not None
    assert found.tenant_id == ""
