"""Lists over HTTP: all come in pages of `limit` items after a `cursor`, save those that are short by nature."""

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from waypost.kernel.paging import encode_cursor

# One notification's, recipient's or account's own few rows, and lists whose length the product itself decides.
SHORT_BY_NATURE = {
    "/v1/channels",
    "/v1/inbox-counters",
    "/v1/notifications/{id}/timeline",
    "/v1/recipients/{id}/addresses",
    "/v1/sender-accounts/{id}/days",
}
NEWS = {"title": "News", "category": "marketing", "default": "opted_in"}
Made = tuple[str, str, list[str]]


async def _topics(acme: Any) -> Made:
    """The path, what tells items apart, and the order they are listed in."""
    places = {"zebra": -5, "news": 0, "billing": 0, "offers": 0, "ants": 7}
    for key, order in places.items():
        await acme.ok("PUT", f"/v1/topics/{key}", {**NEWS, "order": order})
    return "/v1/topics", "key", ["zebra", "billing", "news", "offers", "ants"]


async def _pauses(acme: Any) -> Made:
    wanted = [
        ("channel", "sms"),
        ("channel", "voice"),
        ("category", "reminder"),
        ("category", "system"),
        ("tenant", None),
    ]
    made = [await acme.ok("POST", "/v1/pauses", {"scope": scope, "id": subject}) for scope, subject in wanted]
    return "/v1/pauses", "id", sorted((one["id"] for one in made), reverse=True)


async def _alert_targets(acme: Any) -> Made:
    made = [await acme.ok("POST", "/v1/alert-targets", {"email": f"ops-{n}@example.com"}) for n in range(5)]
    return "/v1/alert-targets", "id", sorted((one["id"] for one in made), reverse=True)


async def _replays(acme: Any) -> Made:
    hook = {"url": "https://8.8.8.8/hooks", "events": ["*"]}
    path = f"/v1/webhook-endpoints/{(await acme.ok('POST', '/v1/webhook-endpoints', hook))['id']}"
    since = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    made = [await acme.ok("POST", f"{path}/replay", {"from": since}) for _ in range(5)]
    return f"{path}/replays", "id", sorted((one["id"] for one in made), reverse=True)


@pytest.mark.parametrize("make", [_topics, _pauses, _alert_targets, _replays])
async def test_a_list_comes_in_pages(acme: Any, make: Callable[[Any], Coroutine[Any, Any, Made]]) -> None:
    path, name, order = await make(acme)
    whole = await acme.ok("GET", path)
    assert ([one[name] for one in whole["items"]], whole["next"]) == (order, None)
    pages: list[list[dict[str, Any]]] = []
    cursor: dict[str, str] = {}
    while len(pages) < len(order):
        page = await acme.ok("GET", path, params={"limit": "2", **cursor})
        pages.append(page["items"])
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert [len(page) for page in pages] == [2, 2, 1]
    assert [one for page in pages for one in page] == whole["items"]
    fits = await acme.ok("GET", path, params={"limit": "5"})
    assert (len(fits["items"]), fits["next"]) == (5, None)
    for limit in ("0", "101", "many"):
        status, _, pointers = await acme.refused("GET", f"{path}?limit={limit}")
        assert (status, pointers) == (422, ["/limit"])
    for strange in (
        "junk",
        encode_cursor("lists", "news"),
        encode_cursor("topics", "0"),
        encode_cursor("topics", "0 \0"),
    ):
        assert await acme.refused("GET", f"{path}?cursor={strange}") == (400, "invalid_cursor", ["/cursor"])


async def test_a_page_has_twenty_unless_somebody_says_otherwise(acme: Any) -> None:
    for number in range(21):
        await acme.ok("PUT", f"/v1/topics/topic-{number:02}", NEWS)
    page = await acme.ok("GET", "/v1/topics")
    assert [one["key"] for one in page["items"]] == [f"topic-{number:02}" for number in range(20)]
    rest = await acme.ok("GET", f"/v1/topics?cursor={page['next']}")
    assert ([one["key"] for one in rest["items"]], rest["next"]) == (["topic-20"], None)


async def test_the_next_page_is_found_where_its_neighbour_is_gone(acme: Any) -> None:
    _, _, order = await _topics(acme)
    page = await acme.ok("GET", "/v1/topics?limit=2")
    await acme.ok("DELETE", f"/v1/topics/{order[1]}")
    rest = await acme.ok("GET", f"/v1/topics?limit=9&cursor={page['next']}")
    assert [one["key"] for one in rest["items"]] == order[2:]


async def test_the_platform_reads_a_tenant_s_pauses_in_pages(acme: Any, platform: Any) -> None:
    _, _, order = await _pauses(acme)
    page = await platform.ok("GET", f"/v1/pauses?tenant={acme.tenant}&limit=3")
    rest = await platform.ok("GET", f"/v1/pauses?tenant={acme.tenant}&limit=3&cursor={page['next']}")
    assert [one["id"] for one in (*page["items"], *rest["items"])] == order


async def test_every_list_takes_a_limit_and_a_cursor(anonymous: Any) -> None:
    document = await anonymous.ok("GET", "/openapi.json")
    lists, without = 0, set[str]()
    for path, operations in document["paths"].items():
        answer = operations.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        schema = answer.get("application/json", {}).get("schema", {})
        if "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
        if not {"items", "next"} <= schema.get("properties", {}).keys():
            continue
        lists += 1
        asked = {one["name"] for one in operations["get"].get("parameters", ())}
        if not {"limit", "cursor"} <= asked:
            without.add(path)
    assert lists > 20
    assert without == SHORT_BY_NATURE


@pytest.mark.parametrize(
    ("path", "listing", "position"),
    [
        ("/v1/lists", "lists", "a\0"),
        ("/v1/inboxes", "inboxes", "\0"),
        ("/v1/recipients/ada/consents", "consents", "9" * 30),
        ("/v1/recipients/ada/consents", "consents", "first"),
        ("/v1/dead-letters", "dead-letters", f"0001-01-01T00:00:00+14:00/{'0' * 32}"),
        ("/v1/dead-letters", "dead-letters", f"2026-01-01T00:00:00/{'0' * 32}"),
        ("/v1/dead-letters", "dead-letters", "yesterday"),
    ],
)
async def test_a_cursor_that_somebody_made_up_is_refused(acme: Any, path: str, listing: str, position: str) -> None:
    await acme.ok("PUT", "/v1/recipients/ada", {"email": "ada@example.com"})
    made_up = encode_cursor(listing, position)
    assert await acme.refused("GET", f"{path}?cursor={made_up}") == (400, "invalid_cursor", ["/cursor"])
