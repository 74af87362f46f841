"""What processes ring to one another, as words: ids only, so that whoever overhears it learns nothing."""

from typing import Final
from uuid import UUID

from waypost.inbox.ports import Ringing

MOST_PEOPLE: Final = 200
"""Of one inbox at once; beyond, everyone who is connected to it looks."""


def for_everyone(inbox_id: UUID) -> str:
    return f"i{inbox_id.hex}"


def for_all_connected(inbox_id: UUID) -> str:
    return f"a{inbox_id.hex}"


def for_person(inbox_id: UUID, recipient_id: UUID) -> str:
    return f"p{inbox_id.hex}{recipient_id.hex}"


def about_person(recipient_id: UUID) -> str:
    return f"r{recipient_id.hex}"


def read_ringings(text: str) -> list[Ringing]:
    """Whatever cannot be read was rung by a newer process: better look at everything."""
    found: list[Ringing] = []
    for word in text.split(","):
        kind, ids = word[:1], word[1:]
        try:
            match kind, len(ids):
                case "i", 32:
                    found.append(Ringing(inbox_id=UUID(ids), is_public=True))
                case "a", 32:
                    found.append(Ringing(inbox_id=UUID(ids)))
                case "p", 64:
                    found.append(Ringing(inbox_id=UUID(ids[:32]), recipient_id=UUID(ids[32:])))
                case "r", 32:
                    found.append(Ringing(recipient_id=UUID(ids)))
                case _:
                    found.append(Ringing(is_gap=True))
        except ValueError:
            found.append(Ringing(is_gap=True))
    return found
