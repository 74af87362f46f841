"""Neighbours of a bulk share the message that they ask for, and only where they ask for the very same."""

from typing import Any, Final

import msgspec
import pytest

from waypost.api.bulk_body import read_items
from waypost.api.notification_bulk import BulkNotification, ItemReader
from waypost.api.notification_shapes import ITS_OWN, NewNotification, command_of
from waypost.kernel.errors import Refused
from waypost.notifications.bulk import BulkItem

PLAIN: Final[dict[str, Any]] = {"to": "user-1", "content": {"subject": "Hello", "text": "You."}}
OTHERWISE: Final[dict[str, Any]] = {
    "actor": "user-9",
    "content": {"subject": "Hello", "text": "You!"},
    "template": "welcome",
    "channel": "sms",
    "channels": ["email", "sms"],
    "routing": "first",
    "after": "10m",
    "category": "marketing",
    "topic": "news",
    "priority": "low",
    "send_at": "2026-01-15T12:00:00Z",
    "expires_at": "2026-01-16T12:00:00Z",
    "from": "Acme <hello@example.com>",
    "reply_to": "hello@example.com",
    "cc": ["cc@example.com"],
    "bcc": ["bcc@example.com"],
    "headers": {"X-Order": "1"},
    "attachments": [{"filename": "a.txt", "content": "SGVsbG8="}],
    "tracking": {"opens": True},
}


def items_of(*bodies: dict[str, Any]) -> list[BulkItem | Refused]:
    reader = ItemReader()
    read = read_items("application/json", msgspec.json.encode(bodies), BulkNotification)
    return [reader.item_of(written, one) for slice_ in read.slices() for written, one in slice_]


def alone(body: dict[str, Any]) -> object:
    read = msgspec.convert(body, BulkNotification)
    return command_of(read, read.idempotency_key)


def commands_of(*bodies: dict[str, Any]) -> list[object]:
    return [item.command if isinstance(item, BulkItem) else item for item in items_of(*bodies)]


def test_everything_is_tried_in_which_messages_differ() -> None:
    fields = set(NewNotification.__struct_encode_fields__)
    assert fields - set(ITS_OWN) == OTHERWISE.keys()


@pytest.mark.parametrize("name", OTHERWISE)
def test_an_item_that_differs_from_its_neighbour_in_anything_gets_what_it_asks_for(name: str) -> None:
    other = PLAIN | {name: OTHERWISE[name]}
    assert commands_of(PLAIN, other, PLAIN) == [alone(PLAIN), alone(other), alone(PLAIN)]
    assert alone(PLAIN) != alone(other)


def test_neighbours_share_a_message_and_keep_what_is_their_own() -> None:
    one = PLAIN | {"to": {"id": "a", "email": "a@example.com"}, "idempotency_key": "1", "variables": {"n": 1}}
    two = PLAIN | {"to": ["b", "c"], "metadata": {"order": 7}}
    three = PLAIN | {"to": {"list": "friends"}, "variables": {"n": True}}
    made = commands_of(one, two, three)
    assert made == [alone(one), alone(two), alone(three)]
    first, second, third = (item for item in items_of(one, two, three) if isinstance(item, BulkItem))
    assert first.command.content is second.command.content is third.command.content
    assert third.command.variables["n"] is True


def test_numbers_and_truths_inside_json_are_not_taken_for_each_other() -> None:
    contents = [{"subject": "Hello", "json": {"body": "You.", "data": {"n": value}}} for value in (1, True, 1.0)]
    bodies = [{"to": "user-1", "channel": "inapp", "content": content} for content in contents]
    assert [msgspec.json.encode(made) for made in commands_of(*bodies)] == [
        msgspec.json.encode(alone(body)) for body in bodies
    ]


def test_what_is_wrong_with_a_message_is_told_to_each_that_asks_for_it() -> None:
    wrong = PLAIN | {"content": {"subject": "Hello", "html": "<p>", "markdown": "#"}}
    codes = [item.code if isinstance(item, Refused) else "" for item in items_of(PLAIN, wrong, wrong, PLAIN)]
    assert codes == ["", "one_body", "one_body", ""]
