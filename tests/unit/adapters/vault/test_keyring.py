import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import MasterKey
from waypost.kernel.vault import SealBroken, TenantKey, Vault

MASTER = MasterKey(bytes(range(32)))
VAULT: Vault = LocalVault(MASTER)
ACME_WRAPPED = VAULT.new_tenant_key("acme")
ACME: TenantKey = VAULT.tenant_key("acme", ACME_WRAPPED)


@given(st.binary(max_size=300), st.text(max_size=50).filter(lambda text: text.isprintable()))
def test_what_was_sealed_opens_again_only_in_its_place(plain: bytes, place: str) -> None:
    sealed = ACME.seal(plain, place)
    assert ACME.open(sealed, place) == plain
    assert len(sealed) == len(plain) + 29
    with pytest.raises(SealBroken):
        ACME.open(sealed, place + "x")


@given(st.data())
def test_one_altered_byte_breaks_the_seal(data: st.DataObject) -> None:
    sealed = bytearray(ACME.seal(b"jane@example.com", "address:acme:1"))
    position = data.draw(st.integers(0, len(sealed) - 1))
    sealed[position] ^= data.draw(st.integers(1, 255))
    with pytest.raises(SealBroken):
        ACME.open(bytes(sealed), "address:acme:1")


@pytest.mark.parametrize("junk", [b"", b"\x01", b"\x01" * 28, b"\x00" * 60])
def test_junk_does_not_open(junk: bytes) -> None:
    with pytest.raises(SealBroken):
        ACME.open(junk, "x")


def test_sealing_twice_gives_different_bytes() -> None:
    assert ACME.seal(b"a", "x") != ACME.seal(b"a", "x")


def test_a_data_key_comes_back_from_its_wrapping() -> None:
    wrapped, key = ACME.new_data_key("data_key:acme:1")
    sealed = key.seal(b"jane@example.com", "address:acme:1")
    assert ACME.unwrap(wrapped, "data_key:acme:1").open(sealed, "address:acme:1") == b"jane@example.com"
    with pytest.raises(SealBroken):
        ACME.unwrap(wrapped, "data_key:acme:2")
    with pytest.raises(SealBroken):
        ACME.open(wrapped, "data_key:acme:1")


def test_a_tenant_key_opens_for_its_tenant_and_master_only() -> None:
    again = VAULT.tenant_key("acme", ACME_WRAPPED)
    assert again.open(ACME.seal(b"a", "x"), "x") == b"a"
    with pytest.raises(SealBroken):
        VAULT.tenant_key("other", ACME_WRAPPED)
    with pytest.raises(SealBroken):
        LocalVault(MasterKey(bytes(32))).tenant_key("acme", ACME_WRAPPED)


def test_address_hashes_meet_within_a_tenant_and_channel_only() -> None:
    other = VAULT.tenant_key("other", VAULT.new_tenant_key("other"))
    again = VAULT.tenant_key("acme", ACME_WRAPPED)
    hashed = ACME.hash_address("email", "jane@example.com")
    assert hashed == again.hash_address("email", "jane@example.com")
    assert hashed.startswith("sha256:")
    assert len(hashed) == 71
    assert hashed != ACME.hash_address("sms", "jane@example.com")
    assert hashed != ACME.hash_address("email", "joan@example.com")
    assert hashed != other.hash_address("email", "jane@example.com")


def test_signatures_differ_by_purpose() -> None:
    assert ACME.sign("unsubscribe", b"m") == ACME.sign("unsubscribe", b"m")
    assert len(ACME.sign("unsubscribe", b"m")) == 32
    assert ACME.sign("unsubscribe", b"m") != ACME.sign("open", b"m")
    assert ACME.sign("unsubscribe", b"m") != ACME.sign("unsubscribe", b"n")
    proof = ACME.proves("unsubscribe")(b"m")
    assert (len(proof), proof) == (16, ACME.proves("unsubscribe")(b"m"))
    assert proof not in (
        ACME.proves("open")(b"m"),
        ACME.proves("unsubscribe")(b"n"),
        ACME.sign("unsubscribe", b"m")[:16],
    )


def test_nothing_secret_shows() -> None:
    _, data_key = ACME.new_data_key("x")
    for thing in (MASTER, VAULT, ACME, data_key):
        assert repr(thing).endswith("(…)")


def test_derived_secrets_are_lasting_and_apart() -> None:
    assert MASTER.derive("role/api") == MasterKey(bytes(range(32))).derive("role/api")
    assert MASTER.derive("role/api") != MASTER.derive("role/worker")
    assert MASTER.derive("role/api") != MasterKey(bytes(32)).derive("role/api")
    assert len(MASTER.derive("role/api")) == 43
