"""The form in which a version is written: its fields, and the version that they say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

import msgspec

from waypost.console.visit import Visit
from waypost.kernel.errors import Refused, refuse
from waypost.kernel.locale_tag import reads_from_right, spell_locale
from waypost.kernel.tenancy import Permission
from waypost.kernel.tracking import Tracking
from waypost.templates.model import Direction, Format, JsonObject, LocaleSource, Profile, Version, Written
from waypost.templates.preview import For

_LOCALES: Final = "locales"
SWITCH: Final[Mapping[bool | None, str]] = {None: "", True: "on", False: "off"}
_SAID: Final = {word: on for on, word in SWITCH.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class LocaleFields:
    subject: str = ""
    preheader: str = ""
    body: str = ""
    format: str = Format.HTML.value
    text: str = ""
    direction: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class EditorFields:
    """Everything as it stands in the form, so that nothing is lost when something is refused."""

    locales: Mapping[str, LocaleFields]
    semver: str = ""
    layout: str = ""
    profile: str = Profile.JINJA.value
    fallback_chain: str = ""
    variables_schema: str = ""
    samples: str = ""
    opens: str = ""
    clicks: str = ""
    """`on`, `off`, or empty where the version says nothing about tracking."""
    variables: str = ""
    recipient: str = ""
    locale: str = ""
    base: str = ""
    """The version that this one began as."""
    troubles: Mapping[str, str] = field(default_factory=dict[str, str])


def blank_fields(default_locale: str) -> EditorFields:
    return EditorFields(locales={default_locale: LocaleFields()}, locale=default_locale)


def fields_of(version: Version, default_locale: str) -> EditorFields:
    written = version.written
    return EditorFields(
        locales={
            tag: LocaleFields(
                subject=source.subject,
                preheader=source.preheader or "",
                body=source.body,
                format=source.format.value,
                text=source.text or "",
                direction=source.direction.value,
            )
            for tag, source in sorted(written.locales.items(), key=lambda each: (each[0] != default_locale, each[0]))
        },
        layout=written.layout or "",
        profile=written.profile.value,
        fallback_chain=", ".join(written.fallback_chain),
        variables_schema=_pretty(written.variables_schema),
        samples=_pretty(dict(written.samples) or None),
        opens=SWITCH[written.tracking.opens],
        clicks=SWITCH[written.tracking.clicks],
        variables=_pretty(next(iter(written.samples.values()), None)),
        locale=default_locale,
        base=version.semver,
    )


def read_fields(visit: Visit) -> EditorFields:
    """As it was sent. A body keeps its spaces; browsers end lines with CR LF, templates with LF."""
    tags = [tag for tag in visit.form.get(_LOCALES, ()) if f"drop:{tag}" not in visit.form]
    added = visit.given("add_locale")
    if added and "add" in visit.form:
        tags.append(spell_locale(added) or added)
    return EditorFields(
        locales={tag: _read_locale(visit, tag) for tag in dict.fromkeys(tags)},
        semver=_raw(visit, "semver"),
        layout=_raw(visit, "layout"),
        profile=visit.given("profile") or Profile.JINJA.value,
        fallback_chain=_raw(visit, "fallback_chain"),
        variables_schema=_raw(visit, "variables_schema"),
        samples=_raw(visit, "samples"),
        opens=_raw(visit, "opens"),
        clicks=_raw(visit, "clicks"),
        variables=_raw(visit, "variables"),
        recipient=_raw(visit, "recipient"),
        locale=_raw(visit, "locale"),
        base=_raw(visit, "base"),
    )


def _read_locale(visit: Visit, tag: str) -> LocaleFields:
    return LocaleFields(
        subject=_raw(visit, f"subject:{tag}"),
        preheader=_raw(visit, f"preheader:{tag}"),
        body=_raw(visit, f"body:{tag}"),
        format=_raw(visit, f"format:{tag}") or Format.HTML.value,
        text=_raw(visit, f"text:{tag}"),
        direction=_raw(visit, f"direction:{tag}"),
    )


def written_of(fields: EditorFields) -> Written:
    return Written(
        locales={tag: _source(tag, each) for tag, each in fields.locales.items()},
        layout=fields.layout.strip() or None,
        profile=_one_of(Profile, fields.profile, "/profile"),
        fallback_chain=tuple(tag.strip() for tag in fields.fallback_chain.split(",") if tag.strip()),
        variables_schema=_object(fields.variables_schema, "/variables_schema"),
        samples=_samples(fields.samples),
        tracking=Tracking(opens=_SAID.get(fields.opens), clicks=_SAID.get(fields.clicks)),
    )


def whom_of(visit: Visit, fields: EditorFields) -> For:
    may_see = Permission.RECIPIENTS_READ in visit.scope.permissions
    return For(
        variables=_object(fields.variables, "/variables"),
        recipient=fields.recipient.strip() or None if may_see else None,
        locale=fields.locale if fields.locale in fields.locales else None,
    )


def _source(tag: str, fields: LocaleFields) -> LocaleSource:
    own = Direction.RTL if reads_from_right(spell_locale(tag) or "") else Direction.LTR
    return LocaleSource(
        subject=fields.subject,
        preheader=fields.preheader or None,
        body=fields.body,
        format=_one_of(Format, fields.format, f"/locales/{tag}/format"),
        text=fields.text if fields.text.strip() else None,
        direction=_one_of(Direction, fields.direction, f"/locales/{tag}/direction") if fields.direction else own,
    )


Word = TypeVar("Word", Profile, Format, Direction)


def _one_of(words: type[Word], text: str, pointer: str) -> Word:
    try:
        return words(text)
    except ValueError:
        raise refuse(pointer, "unknown_value", "Not one of the values that this field takes.") from None


def _object(text: str, pointer: str) -> JsonObject | None:
    if not text.strip():
        return None
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError:
        found = None
    if not isinstance(found, dict):
        raise refuse(pointer, "invalid_json", "Write a JSON object such as {} here.")
    return found  # pyright: ignore[reportUnknownVariableType] — plain JSON


def _samples(text: str) -> dict[str, JsonObject]:
    found = _object(text, "/samples") or {}
    named = {name: each for name, each in found.items() if isinstance(each, dict)}
    if len(named) != len(found):
        raise refuse("/samples", "invalid_json", 'Write samples by name, such as {"first": {"order": 7}}.')
    return named


def troubles_of(refusal: Refused) -> dict[str, str]:
    """By field, for the form to show beside each; what has no field of its own under the empty name."""
    found: dict[str, str] = {}
    for error in refusal.errors:
        found.setdefault(_field_at(error.pointer), error.message)
    return found or {"": refusal.detail}


def _field_at(pointer: str) -> str:
    parts = pointer.strip("/").split("/")
    if parts[0] == _LOCALES and len(parts) > 2:
        return f"{parts[2]}:{parts[1]}"
    return parts[0]


def _raw(visit: Visit, name: str) -> str:
    return "".join(visit.form.get(name, ("",))[:1]).replace("\r\n", "\n")


def _pretty(value: JsonObject | dict[str, JsonObject] | None) -> str:
    return "" if value is None else msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
