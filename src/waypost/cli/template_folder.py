"""A folder of templates: `<key>/<channel>/template.toml`, a body for each locale beside it, and what belongs to them.

    order-paid/email/template.toml   what it is, and the version it was pulled from
    order-paid/email/en.html         the body in English; `.mjml`, `.md`, `.txt` and `.json` are the other formats
    order-paid/email/en.text.txt     its text part, where one is written
    order-paid/email/schema.json     the JSON Schema of the variables
    order-paid/email/samples.json    variables to preview with

What is read is what was written, byte by byte, so that pulling and pushing changes nothing.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from waypost.cli.template_toml import to_toml
from waypost.client.template_answers import LocaleSource, Template, TemplateVersion
from waypost.kernel.errors import Refused

EXTENSIONS: Final = {"html": ".html", "mjml": ".mjml", "markdown": ".md", "text": ".txt", "json": ".json"}
_FORMATS: Final = {extension: name for name, extension in EXTENSIONS.items()}
_TEXT_PART: Final = ".text.txt"
_ABOUT: Final = "template.toml"
_SCHEMA: Final = "schema.json"
_SAMPLES: Final = "samples.json"
_KEY: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}\Z")
_LOCALE: Final = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,4}\Z")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One template with one version, wherever it comes from. `written` is what `POST …/versions` takes."""

    key: str
    channel: str
    category: str
    name: str
    topic: str | None = None
    default_locale: str = "en"
    kind: str = "message"
    version: str | None = None
    written: Mapping[str, Any] = field(default_factory=dict[str, Any])


def entry_of(template: Template, version: TemplateVersion) -> Entry:
    return Entry(
        key=template.key,
        channel=template.channel,
        category=template.category,
        name=template.name,
        topic=template.topic,
        default_locale=template.default_locale,
        kind=template.kind,
        version=version.semver,
        written={
            "profile": version.profile,
            "layout": version.layout,
            "fallback_chain": list(version.fallback_chain),
            "locales": {tag: msgspec.structs.asdict(source) for tag, source in sorted(version.locales.items())},
            "variables_schema": version.variables_schema,
            "samples": version.samples,
            "tracking": {name: on for name, on in version.tracking.items() if on is not None},
        },
    )


def write_entry(folder: Path, entry: Entry) -> bool:
    """Whether anything in the folder has changed. Bodies of locales that are gone are removed."""
    if not _KEY.match(entry.key) or not entry.channel.isalpha():
        raise Refused("The server answered with a key that is none.")
    place = folder / entry.key / entry.channel
    wanted = dict(_files(entry))
    here = {path.name for path in place.iterdir() if _is_ours(path.name)} if place.is_dir() else set[str]()
    place.mkdir(parents=True, exist_ok=True)
    changed = bool(here - wanted.keys())
    for name in here - wanted.keys():
        (place / name).unlink()
    for name, text in wanted.items():
        path = place / name
        if not path.exists() or path.read_bytes() != text.encode():
            path.write_bytes(text.encode())
            changed = True
    return changed


def read_folder(folder: Path) -> Iterator[Entry]:
    """By key and channel."""
    if not folder.is_dir():
        raise Refused(f"There is no folder {folder}.")
    for path in sorted(folder.glob(f"*/*/{_ABOUT}")):
        yield _read(path.parent)


def _files(entry: Entry) -> Iterator[tuple[str, str]]:
    written = entry.written
    about: dict[str, Any] = {
        "name": entry.name,
        "kind": entry.kind,
        "category": entry.category,
        "topic": entry.topic,
        "default_locale": entry.default_locale,
        "version": entry.version,
        "profile": written["profile"],
        "layout": written["layout"],
        "fallback_chain": written["fallback_chain"],
        "tracking": written.get("tracking", {}),
        "locales": {},
    }
    for tag, source in written["locales"].items():
        if not _LOCALE.match(tag):
            raise Refused("The server answered with a locale that is none.")
        about["locales"][tag] = {name: source[name] for name in ("subject", "preheader", "direction")}
        yield f"{tag}{EXTENSIONS[source['format']]}", source["body"]
        if source["text"] is not None:
            yield f"{tag}{_TEXT_PART}", source["text"]
    yield _ABOUT, to_toml(about)
    if written["variables_schema"] is not None:
        yield _SCHEMA, _pretty(written["variables_schema"])
    if written["samples"]:
        yield _SAMPLES, _pretty(written["samples"])


def _read(place: Path) -> Entry:
    about = _toml(place / _ABOUT)
    tables = about.get("locales", {})
    locales: dict[str, Any] = {}
    for path in sorted(place.iterdir()):
        tag = path.name.removesuffix(path.suffix)
        if path.name in (_SCHEMA, _SAMPLES, _ABOUT) or path.suffix not in _FORMATS or not _LOCALE.match(tag):
            continue
        if tag in locales:
            raise Refused(f"{place} has two bodies for {tag}.")
        part = place / f"{tag}{_TEXT_PART}"
        source = LocaleSource(
            **{"subject": "", **tables.get(tag, {})},
            body=_text(path),
            format=_FORMATS[path.suffix],
            text=_text(part) if part.exists() else None,
        )
        locales[tag] = msgspec.structs.asdict(source)
    if missing := sorted(tables.keys() - locales.keys()):
        raise Refused(f"{place / _ABOUT} names {', '.join(missing)}, but there is no body beside it.")
    try:
        return Entry(
            key=place.parent.name,
            channel=place.name,
            category=about["category"],
            name=about.get("name", place.parent.name),
            topic=about.get("topic"),
            default_locale=about.get("default_locale", "en"),
            kind=about.get("kind", "message"),
            version=about.get("version"),
            written={
                "profile": about.get("profile", "jinja"),
                "layout": about.get("layout"),
                "fallback_chain": about.get("fallback_chain", []),
                "locales": locales,
                "variables_schema": _json(place / _SCHEMA),
                "samples": _json(place / _SAMPLES) or {},
                "tracking": about.get("tracking", {}),
            },
        )
    except KeyError as missing_field:
        raise Refused(f"{place / _ABOUT} needs {missing_field}.") from None


def _is_ours(name: str) -> bool:
    stem, _, extension = name.partition(".")
    known = {extension[1:] for extension in (*EXTENSIONS.values(), _TEXT_PART)}
    return name in (_SCHEMA, _SAMPLES) or (extension in known and _LOCALE.match(stem) is not None)


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"{path} is no TOML: {error}.") from None


def _json(path: Path) -> Any:
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(path.read_bytes())
    except msgspec.DecodeError as error:
        raise Refused(f"{path} is no JSON: {error}.") from None


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        raise Refused(f"{path} is not written in UTF-8.") from None


def _pretty(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
