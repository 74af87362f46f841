"""Content that is given as JSON in a call: for inboxes only, and instead of every other body."""

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("channel", "content", "pointer"),
    [
        ("email", {"json": {"body": "Hello"}}, "/content/json"),
        ("inapp", {"json": {"body": "Hello"}, "text": "Hello"}, "/content/text"),
        ("inapp", {"json": {"body": "Hello"}, "markdown": "Hello"}, "/content/json"),
        ("inapp", {"json": {"body": "{{ broken"}}, "/content/json"),
    ],
)
async def test_json_where_it_cannot_be_is_refused(acme: Any, channel: str, content: Any, pointer: str) -> None:
    to = {"id": "ann", "email": "ann@example.com"}
    body = {"to": to, "channel": channel, "content": {"subject": "Hi", **content}}
    status, _, pointers = await acme.refused("POST", "/v1/notifications", body)
    assert (status, pointers) == (422, [pointer])


async def test_json_for_an_inbox_is_accepted(acme: Any) -> None:
    said = {"body": "Order {{ order }}", "inbox": "orders", "actions": [{"label": "Show", "url": "/orders"}]}
    body = {
        "to": {"id": "ann"},
        "channel": "inapp",
        "content": {"subject": "Paid", "json": said},
        "variables": {"order": 7},
    }
    [made] = (await acme.ok("POST", "/v1/notifications", body))["notifications"]
    assert (made["channel"], made["status"]) == ("inapp", "queued")
