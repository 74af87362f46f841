"""What a content may read. It is frozen when a message is accepted, so the message can be made again for ever."""

from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Final

import msgspec

from waypost.templates.model import JsonObject, JsonValue

LINKS: Final = ("unsubscribe_url", "preferences_url")
"""Each message has its own, made when it is sent; nobody else can set them, and wherever a content is only shown they
lead nowhere."""
INERT: Final = "#"
_LINKS: Final = frozenset(LINKS)
_OF_THE_RECIPIENT: Final = ("id", "locale", "timezone")


class Reader(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The person whom a content is rendered for, as `recipient` shows them."""

    id: str
    locale: str | None
    timezone: str | None
    attributes: JsonObject

    def __repr__(self) -> str:
        return "Reader(…)"


def build_context(
    mentioned: AbstractSet[str], *, variables: JsonObject, reader: Reader | None, tenant: JsonObject | None
) -> dict[str, JsonValue]:
    """`variables` flat; below them the recipient's attributes of the same name, `recipient` and `tenant`; of all but
    the variables only what the content mentions. A null among the recipient's own is left out: it reads as missing."""
    context: dict[str, JsonValue] = {}
    if reader is not None:
        attributes = reader.attributes
        context = {name: attributes[name] for name in mentioned if name in attributes}
        if _mentions_recipient(frozenset(mentioned)) and (about := _recipient(reader, mentioned)):
            context["recipient"] = about
    if tenant is not None and (house := _members("tenant", tenant, mentioned)):
        context["tenant"] = house
    if variables:
        context.update(variables)
    if not _LINKS.isdisjoint(mentioned):
        context.update((name, INERT) for name in LINKS if name in mentioned)
    return context


def speaks(mentioned: AbstractSet[str]) -> bool:
    """Does the content need to know the recipient's language and time zone?"""
    return "recipient.locale" in mentioned or "recipient" in mentioned


def spoken(context: JsonObject) -> tuple[str | None, str | None]:
    """The recipient's locale and time zone, as they were frozen for a content that speaks."""
    about = context.get("recipient")
    if not isinstance(about, dict):
        return None, None
    locale, timezone = about.get("locale"), about.get("timezone")
    return locale if isinstance(locale, str) else None, timezone if isinstance(timezone, str) else None


def _recipient(reader: Reader, mentioned: AbstractSet[str]) -> dict[str, JsonValue]:
    own = {name: value for name in _OF_THE_RECIPIENT if (value := getattr(reader, name)) is not None}
    everything: JsonObject = {**reader.attributes, **own}
    about = _members("recipient", everything, mentioned)
    if "recipient" in mentioned or "recipient.attributes" in mentioned:
        about["attributes"] = reader.attributes
    elif nested := _members("recipient.attributes", reader.attributes, mentioned):
        about["attributes"] = nested
    return about


@lru_cache(maxsize=1_000)
def _mentions_recipient(mentioned: frozenset[str]) -> bool:
    return any(name.startswith("recipient") for name in mentioned)


def _members(space: str, members: JsonObject, mentioned: AbstractSet[str]) -> dict[str, JsonValue]:
    if space in mentioned:
        return dict(members)
    return {name: value for name, value in members.items() if f"{space}.{name}" in mentioned}
