import pytest
from email_validator import EmailNotValidError, validate_email
from hypothesis import given
from hypothesis import strategies as st

from waypost.kernel import address as module
from waypost.kernel.address import Address, AddressFault, mask, normalise, read_address, split_mailbox
from waypost.kernel.errors import Refused
from waypost.kernel.vocabulary import Channel

LOCAL = "abcdefghijklmnopqrstuvwxyzABCXYZ0123456789.+_-'!#é"
DOMAIN = "abcdefghijklmnopqrstuvwxyzABXY0123456789.-"
emails = st.builds(
    "{}@{}.{}".format,
    st.text(LOCAL, min_size=1, max_size=70),
    st.text(DOMAIN, min_size=1, max_size=70),
    st.sampled_from(["com", "COM", "test", "local", "co.uk", "x", "c0m", "xn--p1ai", "museum", "invalid", "de.test"]),
)


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("jane@example.com", "jane@example.com"),
        ("Jane.DOE+News@Example.COM", "jane.doe+news@example.com"),
        ("jane@bücher.example", "jane@xn--bcher-kva.example"),
        ("JURGEN@BÜCHER.example", "jurgen@xn--bcher-kva.example"),
        ("o'neil@example.co.uk", "o'neil@example.co.uk"),
        ("dev@acme.test", "dev@acme.test"),
        ("JÜRGEN@example.com", "jürgen@example.com"),
        ("Ju\u0308rgen@example.com", "jürgen@example.com"),
        ("用户@例子.example", "用户@xn--fsqu00a.example"),
    ],
)
def test_emails_get_their_one_spelling(given_text: str, expected: str) -> None:
    assert normalise(Channel.EMAIL, given_text) == Address(Channel.EMAIL, expected)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "jane",
        "@example.com",
        "jane@",
        "jane@example",
        "jane@localhost",
        "jane@server.local",
        "jane@[127.0.0.1]",
        '"jane doe"@example.com',
        "Jane <jane@example.com>",
        "jane@example.com\r\nBcc: x@example.com",
        "jane@example.com\n",
        "jane\x00@example.com",
        "jane@example.com\u2028",
        "jane\ud800@example.com",
        "ja ne@example.com",
        " jane@example.com",
        ".jane@example.com",
        "jane..doe@example.com",
        "jane@exa_mple.com",
        "jane@-example.com",
        "jane@ab--cd.com",
        "a" * 65 + "@example.com",
        "jane@" + "a" * 64 + ".com",
        "jane@" + "a." * 124 + "com",
        "j@" + ".".join(["ü" * 40] * 5) + ".com",
        "ju\u00adrgen@example.com",
        "ü" * 33 + "@example.com",
    ],
)
def test_what_is_no_email_is_refused_without_being_repeated(text: str) -> None:
    fault = normalise(Channel.EMAIL, text)
    assert isinstance(fault, AddressFault)
    assert fault.code == "invalid_address"
    assert fault.at("/to/email").pointer == "/to/email"
    assert fault in {module._NO_EMAIL, module._EMAIL_TOO_LONG}


@given(emails | st.text(max_size=40).map("{}@example.com".format) | st.emails())
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise(Channel.EMAIL, text)
    if isinstance(once, Address):
        assert normalise(Channel.EMAIL, once.text) == once
        assert len(once.text.encode()) <= 254
        assert once.text.isprintable()
        assert once.text == once.text.lower()


@given(emails)
def test_the_quick_way_agrees_with_the_library(text: str) -> None:
    if module._PLAIN_EMAIL.match(text.lower()):
        checked = validate_email(text.lower(), check_deliverability=False, strict=True)
        assert checked.ascii_email == text.lower()


@given(emails)
def test_what_the_library_refuses_is_refused(text: str) -> None:
    try:
        validate_email(text.lower(), check_deliverability=False, strict=True, test_environment=True)
    except EmailNotValidError:
        assert isinstance(normalise(Channel.EMAIL, text), AddressFault)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("+1 (415) 555-0123", "+14155550123"),
        ("+44 20 7946 0018", "+442079460018"),
        (" +4915112345678 ", "+4915112345678"),
    ],
)
def test_phones_become_e164(text: str, expected: str) -> None:
    assert normalise(Channel.SMS, text) == Address(Channel.SMS, expected)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "+",
        "4155550123",
        "+1",
        "+1415555012x",
        "+1 415 555 0123 ext. 5",
        "tel:+14155550123",
        "+1415555\n0123",
        "+" + "9" * 30,
        "+999123456789",
        "+١٤١٥٥٥٥٠١٢٣",
    ],
)
def test_what_is_no_phone_is_refused(text: str) -> None:
    assert normalise(Channel.SMS, text) == module._NO_PHONE


@given(st.integers(min_value=1, max_value=10**15).map("+{}".format))
def test_phones_normalised_twice_stay(text: str) -> None:
    once = normalise(Channel.SMS, text)
    if isinstance(once, Address):
        assert normalise(Channel.SMS, once.text) == once


def test_channels_without_typed_addresses_are_refused() -> None:
    assert isinstance(normalise(Channel.PUSH, "token"), AddressFault)


def test_a_refusal_names_the_field() -> None:
    with pytest.raises(Refused) as refusal:
        read_address(Channel.EMAIL, "nobody", "/to/3/email")
    assert [(error.pointer, error.code) for error in refusal.value.errors] == [("/to/3/email", "invalid_address")]
    assert read_address(Channel.EMAIL, "a@example.com", "/to").text == "a@example.com"


def test_masks() -> None:
    assert mask(Channel.EMAIL, "jane@example.com") == "j***@example.com"
    assert mask(Channel.EMAIL, "j@example.com") == "***@example.com"
    assert mask(Channel.SMS, "+14155550112") == "+1******12"
    assert mask(Channel.SMS, "+12345") == "+******"
    assert mask(Channel.PUSH, "some-device-token") == "******"


@given(st.emails())
def test_an_address_never_shows_itself(text: str) -> None:
    found = normalise(Channel.EMAIL, text)
    if isinstance(found, Address):
        local = found.text.partition("@")[0]
        for shown in (repr(found), str(found), f"{found}", f"{[found]}"):
            assert found.text not in shown
            assert len(local) < 3 or local not in shown


@pytest.mark.parametrize(
    ("text", "name", "email"),
    [
        ("jane@example.com", None, "jane@example.com"),
        ("Jane Doe <Jane@Example.com>", "Jane Doe", "jane@example.com"),
        ("<jane@example.com>", None, "jane@example.com"),
        ('"Doe, \\"J\\" <x>" <jane@example.com>', 'Doe, "J" <x>', "jane@example.com"),
        ("Jürgen, Billing <jane@example.com>", "Jürgen, Billing", "jane@example.com"),
    ],
)
def test_mailboxes(text: str, name: str | None, email: str) -> None:
    mailbox = split_mailbox(text)
    assert mailbox is not None
    assert (mailbox.name, mailbox.address.text) == (name, email)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Jane",
        "Jane <>",
        "Jane <jane>",
        "a <b@example.com> c",
        "x\r\n <b@example.com>",
        "Jane\x00 <b@example.com>",
        "J\u2028 <b@example.com>",
        "a@example.com, b@example.com",
        "n" * 201 + " <b@example.com>",
        " " * 10_000,
    ],
)
def test_what_is_no_mailbox(text: str) -> None:
    assert split_mailbox(text) is None
