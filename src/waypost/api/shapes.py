"""What every request and answer is made of: strict structs, and the shapes that all lists share."""

from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from waypost.kernel.paging import DEFAULT_LIMIT, HIGHEST_LIMIT
from waypost.kernel.vocabulary import CATEGORIES, CHANNELS, PRIORITIES

Item = TypeVar("Item")

JsonMap: TypeAlias = dict[str, Any]
"""Plain JSON: msgspec cannot spell a recursive type, and the door has checked what is inside."""
Moment = Annotated[datetime, Meta(tz=True, description="RFC 3339, with an offset.", examples=["2026-01-15T12:00:00Z"])]


class Shape(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A request or an answer. What it does not name does not come in and does not go out."""


class NoBody(Shape):
    """Nothing, or an empty object."""


class NoQuery(Shape):
    """No parameters."""


class PageQuery(Shape):
    limit: Annotated[
        int, Meta(ge=1, le=HIGHEST_LIMIT, description="How many items at most.", examples=[DEFAULT_LIMIT])
    ] = DEFAULT_LIMIT
    cursor: Annotated[str, Meta(max_length=1000, description="`next` of the page before.")] | None = None


class Listing(Shape, Generic[Item]):
    """One page. `next` is the cursor of the following one, null on the last."""

    items: list[Item]
    next: str | None


class Created(Shape):
    id: str
    secret: Annotated[str, Meta(description="Shown this once; only its hash is kept.")]


ChannelWord = Literal["email", "sms", "whatsapp", "push", "inapp", "voice", "chat"]
CategoryWord = Literal["transactional", "operational", "security", "reminder", "marketing", "system"]
PriorityWord = Literal["urgent", "normal", "low"]

ShownChannel = Annotated[str, Meta(extra_json_schema={"enum": list(CHANNELS)})]
ShownCategory = Annotated[str, Meta(extra_json_schema={"enum": list(CATEGORIES)})]
ShownPriority = Annotated[str, Meta(extra_json_schema={"enum": list(PRIORITIES)})]
