"""Addresses in their one spelling, and masked wherever they might be seen.

Email: the whole address in lower case, the domain as IDNA ASCII; the part before the `@` may be in any script, and then
only a mail server that offers SMTPUTF8 takes it. Phone: E.164. A refusal never repeats what was given.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

import msgspec

from waypost.kernel.errors import FieldError, Refused
from waypost.kernel.vocabulary import Channel

# Named once: to ask an enumeration for a member takes as long as to make a small struct.
_EMAIL: Final = Channel.EMAIL
LONGEST_EMAIL: Final = 254
LONGEST_NAME: Final = 200
_LONGEST_LOCAL_PART: Final = 64
PHONE_CHANNELS: Final = frozenset({Channel.SMS, Channel.WHATSAPP, Channel.VOICE})
_LONGEST_PHONE: Final = 40
_LONGEST_MAILBOX: Final = 2 * LONGEST_NAME + LONGEST_EMAIL + 5

# What nearly every address looks like. Anything else, and each reserved domain, goes the library's long way.
_PLAIN_EMAIL: Final = re.compile(
    r"[a-z0-9_+-]+(?:\.[a-z0-9_+-]+)*@"
    r"(?:(?!-)(?!..--)[a-z0-9-]{1,63}(?<!-)\.)+"
    r"(?!arpa\Z|invalid\Z|local\Z|localhost\Z|onion\Z|test\Z)[a-z]{2,63}\Z"
)
_PHONE: Final = re.compile(r"\+[0-9 ().\-/]+\Z")
_MAILBOX: Final = re.compile(r'(?:"(?P<quoted>(?:[^"\\]|\\["\\])*)"|(?P<name>[^<>"]*?))\s*<(?P<address>[^<>]*)>\Z')
_IN_WORDS: Final = re.compile(r"[^\s<>()\[\]:;,\"'@]{1,64}@[^\s<>()\[\]:;,\"'@]{1,255}")


class Address(msgspec.Struct, frozen=True, gc=False):
    """A normalised address. `text` is the person's data: it goes to the vault and to the wire, nowhere else."""

    channel: Channel
    text: str

    @property
    def masked(self) -> str:
        return mask(self.channel, self.text)

    def __repr__(self) -> str:
        return f"Address({self.masked})"

    __str__ = __repr__


@dataclass(frozen=True, kw_only=True, slots=True)
class AddressFault:
    """Why a text is no address."""

    message: str
    code: str = "invalid_address"

    def at(self, pointer: str) -> FieldError:
        return FieldError(pointer=pointer, code=self.code, message=self.message)


@dataclass(frozen=True, slots=True)
class Mailbox:
    """A display name and an email address, as in `Jane Doe <jane@example.com>`."""

    name: str | None
    address: Address


_NO_EMAIL: Final = AddressFault(message="This is not an email address. Write it as `name@example.com`.")
_EMAIL_TOO_LONG: Final = AddressFault(message=f"An email address has at most {LONGEST_EMAIL} characters.")
_NO_PHONE: Final = AddressFault(
    message="This is not a telephone number. Write it with `+` and the country's code, as `+14155550123`."
)


def normalise(channel: Channel, text: str) -> Address | AddressFault:
    if channel is _EMAIL:
        return normalise_email(text)
    if channel in PHONE_CHANNELS:
        return normalise_phone(channel, text)
    return AddressFault(message=f"The channel {channel.word} has no addresses that can be given this way.")


def normalise_email(text: str) -> Address | AddressFault:
    lowered = text.lower()
    fits = len(lowered) <= LONGEST_EMAIL and lowered.find("@") <= _LONGEST_LOCAL_PART
    if fits and _PLAIN_EMAIL.match(lowered):
        return Address(_EMAIL, lowered)
    if len(text) > LONGEST_EMAIL:
        return _EMAIL_TOO_LONG
    if _unprintable(text):
        return _NO_EMAIL
    # Here and below: a process that meets only plain addresses never loads the tables of all the others.
    from email_validator import EmailNotValidError, validate_email

    try:
        # A lower-cased letter may need composing again, and an address must be as valid after that as before.
        composed = unicodedata.normalize("NFC", lowered)
        checked = validate_email(composed, check_deliverability=False, strict=True, test_environment=True)
    except EmailNotValidError:
        return _NO_EMAIL
    spelled = f"{checked.local_part}@{checked.ascii_domain}"
    if len(spelled.encode()) > LONGEST_EMAIL or len(checked.local_part.encode()) > _LONGEST_LOCAL_PART:
        return _EMAIL_TOO_LONG
    if _unprintable(spelled) or unicodedata.normalize("NFC", spelled.lower()) != spelled:
        return _NO_EMAIL
    return Address(Channel.EMAIL, spelled)


def normalise_phone(channel: Channel, text: str) -> Address | AddressFault:
    trimmed = text.strip(" ")
    if len(trimmed) > _LONGEST_PHONE or not _PHONE.match(trimmed):
        return _NO_PHONE
    spelled = _spell_phone(trimmed)
    # A number whose own spelling reads as another number (a doubled trunk prefix) would have two hashes.
    if spelled is None or _spell_phone(spelled) != spelled:
        return _NO_PHONE
    return Address(channel, spelled)


def _spell_phone(text: str) -> str | None:
    import phonenumbers

    try:
        number = phonenumbers.parse(text, None)
    except phonenumbers.NumberParseException:
        return None
    if not phonenumbers.is_possible_number(number):
        return None
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)


def read_address(channel: Channel, text: str, pointer: str) -> Address:
    found = normalise(channel, text)
    if isinstance(found, AddressFault):
        raise Refused(found.message, code=found.code, errors=[found.at(pointer)])
    return found


def split_mailbox(text: str) -> Mailbox | None:
    """`name@example.com` or `Name <name@example.com>`; None for anything else."""
    if len(text) > _LONGEST_MAILBOX or _unprintable(text):
        return None
    match = _MAILBOX.match(text.strip(" "))
    if match is None:
        bare = normalise_email(text.strip(" "))
        return Mailbox(None, bare) if isinstance(bare, Address) else None
    quoted: str | None = match["quoted"]
    name = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else match["name"].strip(" ")
    address = normalise_email(match["address"])
    if len(name) > LONGEST_NAME or not isinstance(address, Address):
        return None
    return Mailbox(name or None, address)


def mask(channel: Channel, address: str) -> str:
    """Enough to recognise one's own address, too little to learn another's."""
    if channel is Channel.EMAIL:
        local, _, domain = address.rpartition("@")
        return f"{local[0] if len(local) > 1 else ''}***@{domain}"
    if channel in PHONE_CHANNELS:
        return f"{address[:2]}******{address[-2:]}" if len(address) > 6 else "+******"
    return "******"


def mask_within(text: str) -> str:
    """Foreign words, with everything in them that could be a mail address masked."""
    return _IN_WORDS.sub(lambda found: mask(Channel.EMAIL, found[0]), text)


def _unprintable(text: str) -> bool:
    """Line ends, NUL, other control or invisible characters, lone surrogates."""
    return not text.isprintable()
