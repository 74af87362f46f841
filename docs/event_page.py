"""The catalogue of events, made from `outbox/catalogue.py`."""

import json

import msgspec

from waypost.outbox.catalogue import CATALOGUE, Data

_HEAD = """\
# Events

Every type of event that [webhooks](webhooks.md) and brokers are told. A webhook carries `{"id", "type", "timestamp",
"data"}`; a broker gets the same `data` in a CloudEvent. No event holds an address or the content of a message.

| type | when |
| --- | --- |
"""


def events_page() -> str:
    parts = [_HEAD]
    parts.extend(f"| `{entry.name}` | {entry.sentence} |\n" for entry in CATALOGUE.values())
    shown: set[type[Data]] = set()
    for entry in CATALOGUE.values():
        if entry.data not in shown:
            shown.add(entry.data)
            parts.append(_shape(entry.data, entry.name, json.dumps(entry.example, indent=2)))
    return "".join(parts)


def _shape(data: type[Data], name: str, example: str) -> str:
    types = [entry.name for entry in CATALOGUE.values() if entry.data is data]
    (_,), components = msgspec.json.schema_components([data], ref_template="{name}")
    schema = components[data.__name__]
    lines = [f"| `{field}` | {_kind(about)} | {_about(about)} |\n" for field, about in schema["properties"].items()]
    return (
        f"\n## {data.__name__.removesuffix('Data')}\n\n"
        f"The `data` of {', '.join(f'`{one}`' for one in types)}.\n\n| field | kind | |\n| --- | --- | --- |\n"
        + "".join(lines)
        + f"\nFor example, of `{name}`:\n\n```json\n{example}\n```\n"
    )


def _kind(about: dict[str, object]) -> str:
    options = about.get("anyOf")
    if isinstance(options, list):
        return " or ".join(_kind(one) for one in options)
    form = about.get("format")
    return f"{about.get('type', 'any')}{f' ({form})' if form else ''}"


def _about(about: dict[str, object]) -> str:
    options = about.get("anyOf")
    described = [about, *(options if isinstance(options, list) else [])]
    return str(next((one["description"] for one in described if "description" in one), ""))
