"""Pure decisions about what a caller says of a recipient: what is valid, and how it merges with what is there."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final
from zoneinfo import available_timezones

import msgspec
from msgspec import UNSET, UnsetType

from waypost.kernel.address import Address, AddressFault, normalise_email, normalise_phone
from waypost.kernel.errors import FieldError
from waypost.kernel.jsontypes import JsonObject, JsonValue
from waypost.kernel.locale_tag import spell_locale
from waypost.kernel.vocabulary import Channel
from waypost.recipients.model import PHONE, CheckedFields, RecipientFields, RecipientKind

# Named once: to ask an enumeration for a member takes as long as to make a small struct.
_EMAIL: Final = Channel.EMAIL
_ANONYMOUS: Final = RecipientKind.ANONYMOUS
MINTED_PREFIX: Final = "rcp_"
MOST_ATTRIBUTES: Final = 200
ATTRIBUTE_BYTES: Final = 32_768
DEEPEST_ATTRIBUTE: Final = 8
LONGEST_ATTRIBUTE_NAME: Final = 128
MOST_ADDRESSES: Final = 10
"""Of one recipient on one channel; the one given longest ago makes room."""

MOST_TAGS: Final = 100
LONGEST_TAG: Final = 64

_EXTERNAL_ID: Final = re.compile(r"[A-Za-z0-9._:@|+=~-]{1,128}\Z")
_LIST_KEY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}\Z")
_encode: Final = msgspec.json.Encoder().encode
_NESTING: Final = (dict, list)
_BETWEEN_TAGS: Final = frozenset(",;|")


def is_external_id(text: str) -> bool:
    return _EXTERNAL_ID.match(text) is not None


def check_external_id(text: str, pointer: str) -> Iterator[FieldError]:
    if not is_external_id(text):
        message = "An id has 1 to 128 letters, digits or characters of `._:@|+=~-`."
        yield FieldError(pointer=pointer, code="invalid_id", message=message)


def is_minted(external_id: str) -> bool:
    """Ids that only we make: a caller may name one that exists, not make one up."""
    return external_id.startswith(MINTED_PREFIX)


def check_fields(fields: RecipientFields, pointer: str) -> tuple[CheckedFields, list[FieldError]]:
    """Everything that is wrong at once, and what is right in its one spelling."""
    errors: list[FieldError] = []
    addresses = _addresses(fields, pointer, errors)
    if fields.kind is _ANONYMOUS:
        message = "Write user, guest or vendor; anonymous ones are made by calls that give no id."
        errors.append(FieldError(pointer=f"{pointer}/kind", code="invalid_kind", message=message))
    locale = fields.locale
    if isinstance(locale, str):
        locale = spell_locale(locale)
        if locale is None:
            message = "Write a language tag such as `en`, `de-AT` or `zh-Hant-TW`."
            errors.append(FieldError(pointer=f"{pointer}/locale", code="invalid_locale", message=message))
    if isinstance(fields.timezone, str) and fields.timezone not in _timezones():
        message = "Write a time zone of the IANA database such as `Europe/Vienna`."
        errors.append(FieldError(pointer=f"{pointer}/timezone", code="invalid_timezone", message=message))
    attributes_json: bytes | None = None
    if isinstance(fields.attributes, dict):
        attributes_json = _written_if_sound(fields.attributes)
        if attributes_json is None:
            errors.extend(check_attributes(fields.attributes, f"{pointer}/attributes"))
    tags: tuple[str, ...] | None = None
    if fields.tags is not UNSET:
        tags, faults = check_tags(fields.tags or (), f"{pointer}/tags")
        errors += faults
    kind = None if fields.kind is UNSET else fields.kind
    checked = CheckedFields(kind, locale, fields.timezone, fields.attributes, attributes_json, addresses, tags)
    return checked, errors


def check_attributes(attributes: JsonObject, pointer: str) -> Iterator[FieldError]:
    if _written_if_sound(attributes) is not None:
        return
    if len(attributes) > MOST_ATTRIBUTES:
        message = f"A recipient has at most {MOST_ATTRIBUTES} attributes."
        yield FieldError(pointer=pointer, code="too_many", message=message)
        return
    if attributes and ("" in attributes or max(map(len, attributes)) > LONGEST_ATTRIBUTE_NAME):
        message = f"The name of an attribute has 1 to {LONGEST_ATTRIBUTE_NAME} characters."
        yield FieldError(pointer=pointer, code="invalid_name", message=message)
        return
    fault = _fault_within(attributes, DEEPEST_ATTRIBUTE)
    if fault is not None:
        yield FieldError(pointer=pointer, code=fault[0], message=fault[1])
    elif len(msgspec.json.encode(attributes)) > ATTRIBUTE_BYTES:
        message = f"The attributes of a recipient have at most {ATTRIBUTE_BYTES} bytes as JSON."
        yield FieldError(pointer=pointer, code="too_large", message=message)


def check_tags(tags: Sequence[str], pointer: str) -> tuple[tuple[str, ...], list[FieldError]]:
    """Each once, in order, and what is wrong with them."""
    errors: list[FieldError] = []
    for position, tag in enumerate(tags):
        if not _is_tag(tag):
            message = f"A tag has 1 to {LONGEST_TAG} printable characters and none of `,;|`."
            errors.append(FieldError(pointer=f"{pointer}/{position}", code="invalid_tag", message=message))
    kept = tuple(sorted(set(tags)))
    if len(kept) > MOST_TAGS:
        message = f"A recipient has at most {MOST_TAGS} tags."
        errors.append(FieldError(pointer=pointer, code="too_many", message=message))
    return kept, errors


def check_list_key(key: str, pointer: str) -> Iterator[FieldError]:
    if not _LIST_KEY.match(key):
        message = (
            "The key of a list has 1 to 100 letters, digits or characters of `._:-` and begins with a letter or digit."
        )
        yield FieldError(pointer=pointer, code="invalid_key", message=message)


def _is_tag(tag: str) -> bool:
    fits = 1 <= len(tag) <= LONGEST_TAG and tag.isprintable() and tag == tag.strip()
    return fits and _BETWEEN_TAGS.isdisjoint(tag)


def merge_attributes(current: JsonObject, given: JsonObject | UnsetType | None) -> JsonObject:
    """An absent key keeps, None removes, anything else replaces."""
    if isinstance(given, UnsetType) or given is current:
        return current
    if given is None:
        return {}
    return {name: value for name, value in {**current, **given}.items() if value is not None}


def _addresses(fields: RecipientFields, pointer: str, errors: list[FieldError]) -> dict[Channel, Address | None]:
    addresses: dict[Channel, Address | None] = {}
    if fields.email is not UNSET:
        found = None if fields.email is None else normalise_email(fields.email)
        if isinstance(found, AddressFault):
            errors.append(found.at(f"{pointer}/email"))
        else:
            addresses[_EMAIL] = found
    if fields.phone is not UNSET:
        found = None if fields.phone is None else normalise_phone(PHONE, fields.phone)
        if isinstance(found, AddressFault):
            errors.append(found.at(f"{pointer}/phone"))
        else:
            addresses[PHONE] = found
    return addresses


@cache
def _timezones() -> frozenset[str]:
    return frozenset(available_timezones())


def _written_if_sound(attributes: JsonObject) -> bytes | None:
    """Told from how they are written, as it can be of nearly all: NUL is written as an escape, half a character cannot
    be written, and so few openers cannot nest too deeply."""
    if len(attributes) > MOST_ATTRIBUTES or not attributes or "" in attributes:
        return None
    try:
        written = _encode(attributes)
    except (ValueError, OverflowError, RecursionError):
        return None
    is_sound = (
        len(written) <= ATTRIBUTE_BYTES
        and (len(written) <= LONGEST_ATTRIBUTE_NAME or max(map(len, attributes)) <= LONGEST_ATTRIBUTE_NAME)
        and (b"\\" not in written or b"\\u0000" not in written)
        and written.count(b"{") + written.count(b"[") <= DEEPEST_ATTRIBUTE
    )
    return written if is_sound else None


def _fault_within(value: JsonValue, depth: int) -> tuple[str, str] | None:
    """Code and message of the first thing in a nested value that cannot be kept."""
    if isinstance(value, str):
        return None if _is_clean(value) else ("invalid_text", "Text must not contain NUL or half characters.")
    if not isinstance(value, _NESTING):
        return None
    if depth == 0:
        return "too_deep", f"Attributes nest at most {DEEPEST_ATTRIBUTE} levels deep."
    inside: list[JsonValue] = [*value.keys(), *value.values()] if isinstance(value, dict) else value
    for item in inside:
        # Nearly all of them, found sound without a call for each.
        if type(item) is str and item.isascii() and "\0" not in item:
            continue
        if (fault := _fault_within(item, depth - 1)) is not None:
            return fault
    return None


def _is_clean(text: str) -> bool:
    if "\0" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
