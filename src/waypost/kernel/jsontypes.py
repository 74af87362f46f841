"""Plain JSON data as types."""

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
else:
    # msgspec cannot build a decoder for a recursive type; it reads plain JSON as plain values anyway.
    JsonValue: TypeAlias = Any
JsonObject: TypeAlias = dict[str, JsonValue]
