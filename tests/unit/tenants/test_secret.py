import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.kernel.tenancy import PLATFORM
from waypost.kernel.vocabulary import TenantMode
from waypost.tenants.secret import hash_secret, hint_of, looks_right, mint_secret

SECRET = mint_secret("acme", TenantMode.SANDBOX)


@pytest.mark.parametrize(
    ("tenant_id", "mode", "head"),
    [
        ("acme", TenantMode.SANDBOX, "wp_test_"),
        ("acme", TenantMode.LIVE, "wp_live_"),
        (PLATFORM, TenantMode.LIVE, "wp_platform_"),
    ],
)
def test_the_head_tells_what_the_key_is_for(tenant_id: str, mode: TenantMode, head: str) -> None:
    secret = mint_secret(tenant_id, mode)
    assert secret.startswith(head)
    assert len(secret) == len(head) + 47
    assert looks_right(secret)
    assert hint_of(secret) == f"{head}…{secret[-4:]}"
    assert mint_secret(tenant_id, mode) != secret


@given(st.integers(0, len(SECRET) - 1), st.sampled_from("abcXYZ019-_"))
def test_a_typing_error_is_seen(position: int, typed: str) -> None:
    mistyped = SECRET[:position] + typed + SECRET[position + 1 :]
    assert looks_right(mistyped) == (mistyped == SECRET)


@given(st.text(max_size=80))
def test_other_text_is_no_key(text: str) -> None:
    assert not looks_right(text)


def test_the_hash_is_of_the_whole_text() -> None:
    assert len(hash_secret(SECRET)) == 32
    assert hash_secret(SECRET) != hash_secret(SECRET.replace("wp_test_", "wp_live_"))
