from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import MasterKey
from waypost.kernel.address import Address
from waypost.kernel.clock import VirtualClock
from waypost.kernel.ids import mint
from waypost.kernel.vault import place
from waypost.kernel.vocabulary import Channel
from waypost.recipients.merge import merge
from waypost.recipients.model import PHONE, CheckedFields, Person, RecipientKind, StoredRecipient
from waypost.recipients.rules import MOST_ADDRESSES

VAULT = LocalVault(MasterKey(bytes(32)))
TENANT_KEY = VAULT.tenant_key("acme", VAULT.new_tenant_key("acme"))
CLOCK = VirtualClock()

emails = st.sampled_from([Address(Channel.EMAIL, f"u{number}@example.com") for number in range(MOST_ADDRESSES + 4)])
phones = st.sampled_from([Address(PHONE, f"+1415555010{number}") for number in range(4)])
sayings = st.builds(
    CheckedFields,
    kind=st.none() | st.sampled_from([RecipientKind.USER, RecipientKind.GUEST]),
    locale=st.sampled_from([UNSET, None, "en", "de"]),
    timezone=st.sampled_from([UNSET, None, "Europe/Vienna", "UTC"]),
    attributes=st.sampled_from([UNSET, None, {}, {"a": 1}, {"a": None}, {"b": {"c": 2}}]),
    addresses=st.fixed_dictionaries(
        {}, optional={Channel.EMAIL: st.none() | emails | emails, PHONE: st.none() | phones}
    ),
)


def _nobody() -> Person:
    now = CLOCK.now()
    recipient_id = mint(CLOCK)
    wrapped, key = TENANT_KEY.new_data_key(place("data_key", "acme", recipient_id))
    row = StoredRecipient(
        id=recipient_id,
        external_id="user-42",
        kind=RecipientKind.USER,
        locale=None,
        timezone=None,
        attributes=None,
        data_key=wrapped,
        version=1,
        created_at=now,
        updated_at=now,
    )
    return Person(row=row, key=key, wrapped_key=wrapped, attributes={})


def _told(person: Person, *said: CheckedFields) -> Person:
    return merge("acme", person, said, TENANT_KEY, CLOCK).person


def _spoken(person: Person) -> object:
    """What can be said of a person, ids and times apart."""
    row = person.row
    return row.kind, row.locale, row.timezone, person.attributes, [address.hash for address in person.addresses]


@given(st.lists(sayings, max_size=14))
def test_the_address_given_last_is_in_front_and_few_are_kept(said: list[CheckedFields]) -> None:
    person = _nobody()
    for one in said:
        person = _told(person, one)
        for channel, address in one.addresses.items():
            front = person.address_on(channel)
            expected = TENANT_KEY.hash_address(channel.word, address.text) if address else None
            assert (front.hash if front else None) == expected
    for channel in (Channel.EMAIL, PHONE):
        kept = [address for address in person.addresses if address.channel is channel]
        assert len(kept) <= MOST_ADDRESSES
        assert len({address.hash for address in kept}) == len(kept)
        assert kept == sorted(kept, key=lambda address: address.given_at, reverse=True)


@given(st.lists(sayings, max_size=8), sayings)
def test_saying_it_again_changes_nothing(said: list[CheckedFields], last: CheckedFields) -> None:
    person = _told(_nobody(), *said, last)
    again = merge("acme", person, [last], TENANT_KEY, CLOCK)
    assert not again.changed
    assert not again.concerns_gate
    assert again.person is person


@given(st.lists(sayings, max_size=8))
def test_saying_all_at_once_is_saying_one_after_another(said: list[CheckedFields]) -> None:
    nobody = _nobody()
    one_by_one = nobody
    for one in said:
        one_by_one = _told(one_by_one, one)
    assert _spoken(_told(nobody, *said)) == _spoken(one_by_one)


@given(st.lists(sayings, max_size=6), st.lists(sayings, max_size=8))
def test_what_is_written_adds_up_to_the_person(before: list[CheckedFields], said: list[CheckedFields]) -> None:
    person = _told(_nobody(), *before)
    merged = merge("acme", person, said, TENANT_KEY, CLOCK)
    stored = {address.id: address.given_at for address in person.addresses}
    assert set(merged.revoked) <= stored.keys()
    assert set(merged.fronted) <= stored.keys() - set(merged.revoked)
    for address_id in merged.revoked:
        del stored[address_id]
    stored |= merged.fronted
    stored |= {address.id: address.given_at for address in merged.added}
    assert stored == {address.id: address.given_at for address in merged.person.addresses}
    assert merged.changed == (merged.person.row.version == person.row.version + 1)
    sealed = merged.person.row.attributes
    plain = person.key.open(sealed, place("attributes", "acme", person.row.id)) if sealed else b"{}"
    assert (plain == b"{}") == (merged.person.attributes == {})


def test_an_address_given_again_in_the_same_instant_is_still_newer() -> None:
    first, second = Address(Channel.EMAIL, "one@example.com"), Address(Channel.EMAIL, "two@example.com")
    person = _nobody()
    for address in (first, second, first):
        person = _told(person, CheckedFields(addresses={Channel.EMAIL: address}))
    front, behind = person.addresses
    assert front.given_at - behind.given_at == timedelta(microseconds=1)
    assert front.hash == TENANT_KEY.hash_address("email", first.text)


def test_a_number_that_becomes_a_truth_has_changed() -> None:
    person = _told(_nobody(), CheckedFields(attributes={"a": 1}))
    for value in (True, 1.0):
        assert merge("acme", person, [CheckedFields(attributes={"a": value})], TENANT_KEY, CLOCK).changed
    assert not merge("acme", person, [CheckedFields(attributes={"a": 1})], TENANT_KEY, CLOCK).changed
