"""Paths into an event: `$.data.guest`, `$.data.items[0].id`, `$.data['guest name']`. Nothing more: no wildcards, no
filters, so a path means one place and costs nothing."""

import re
from dataclasses import dataclass
from typing import Final

from msgspec import UNSET, UnsetType

from waypost.kernel.jsontypes import JsonObject, JsonValue

LONGEST: Final = 200
_STEP: Final = re.compile(
    r"\.(?P<name>[A-Za-z_][A-Za-z0-9_-]*)|\[(?P<index>0|[1-9][0-9]{0,5})\]|\['(?P<quoted>[^'\\\x00-\x1f]{1,100})'\]"
)
FORM: Final = "Write a path such as `$.data.guest`, `$.data.guests[0].id` or `$.data['guest name']`."


@dataclass(frozen=True, slots=True)
class Path:
    text: str
    steps: tuple[str | int, ...]

    @property
    def pointer(self) -> str:
        """The same place as a JSON pointer into the event."""
        return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in self.steps)

    def of(self, event: JsonObject) -> JsonValue | UnsetType:
        """What lies there; UNSET where nothing does."""
        value: JsonValue = event
        for step in self.steps:
            match step, value:
                case str(), dict() if step in value:
                    value = value[step]
                case int(), list() if step < len(value):
                    value = value[step]
                case _:
                    return UNSET
        return value


def looks_like_path(text: str) -> bool:
    return text == "$" or text.startswith(("$.", "$["))


def read_path(text: str) -> Path | None:
    """None where the text is no path."""
    if len(text) > LONGEST or not text.startswith("$"):
        return None
    steps: list[str | int] = []
    place = 1
    while place < len(text):
        step = _STEP.match(text, place)
        if step is None:
            return None
        steps.append(int(step["index"]) if step["index"] is not None else step["name"] or step["quoted"])
        place = step.end()
    return Path(text, tuple(steps)) if steps else None
