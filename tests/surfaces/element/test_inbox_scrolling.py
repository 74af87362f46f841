"""Scrolling through a thousand messages keeps the page answering, in Chromium.

Measured by the time that the page's thread has spent on the processor, not by the clock on the wall: a busy machine
makes every task last longer, but gives none of them more to do.
"""

import json
from statistics import median
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

MESSAGES = 1_000
PAGE = 20
LONGEST_TASK = 0.050
TRIES = 3
WORK = ("ScriptDuration", "RecalcStyleDuration", "LayoutDuration")
_BODY = 'document.querySelector("waypost-inbox").shadowRoot.querySelector(".body")'


def message(number: int) -> dict[str, Any]:
    return {
        "id": f"pst_{9_000_000 - number:026}",
        "title": f"Message {number}",
        "body": "A line of text that says what it is about, and goes on for a second line.",
        "cta_url": "https://shop.example/1",
        "topic": None,
        "sender": "Shop",
        "actions": [{"label": "Pay", "url": "/pay"}],
        "data": {},
        "received_at": "2026-01-15T12:00:00Z",
        "expires_at": "2027-01-15T12:00:00Z",
        "seen_at": "2026-01-15T12:00:00Z",
        "read_at": None,
        "archived_at": None,
        "snoozed_until": None,
        "pinned_at": None,
        "clicked_at": None,
    }


async def answer_pages(route: Any) -> None:
    """A feed of a thousand messages, without making them."""
    cursor = int(parse_qs(urlsplit(route.request.url).query).get("cursor", ["0"])[0])
    items = [message(number) for number in range(cursor, cursor + PAGE)]
    following = str(cursor + PAGE) if cursor + PAGE < MESSAGES else None
    headers = {"access-control-allow-origin": "*", "access-control-allow-headers": "*"}
    await route.fulfill(
        status=200,
        headers=headers,
        content_type="application/json",
        body=json.dumps({"items": items, "next": following}),
    )


async def busy(cdp: Any) -> float:
    """Seconds that the page's thread has spent on scripts, styles and layout so far."""
    found = await cdp.send("Performance.getMetrics")
    return sum(one["value"] for one in found["metrics"] if one["name"] in WORK)


async def scroll(visit: Any) -> list[float]:
    """How long the page has worked for each page of messages, to the last."""
    page = await visit()
    await page.route("**/v1/me/inboxes/main/messages?*", answer_pages)
    cdp = await page.context.new_cdp_session(page)
    await cdp.send("Performance.enable", {"timeDomain": "threadTicks"})
    await page.locator("waypost-inbox .bell").click()
    await page.wait_for_function(f"() => {_BODY}.querySelectorAll('.item').length === {PAGE}")
    worked: list[float] = []
    for loaded in range(PAGE, MESSAGES, PAGE):
        before = await busy(cdp)
        await page.evaluate(f"{_BODY}.scrollTop = {_BODY}.scrollHeight")
        await page.wait_for_function(f"() => {_BODY}.querySelectorAll('.item').length >= {loaded + PAGE}", polling=100)
        worked.append(await busy(cdp) - before)
    assert await page.locator("waypost-inbox .item").count() == MESSAGES
    assert page.faults == []
    await page.close()
    return worked


@pytest.mark.timeout(400)
async def test_no_task_over_50_ms_while_a_thousand_messages_are_scrolled(scene: Any, visit: Any) -> None:
    """All the work for a page of messages together takes less than one task may, so no task of it takes longer; and the
    last pages cost what the first ones did. Of each page the best try counts: what else the machine does, costs too."""
    best = await scroll(visit)
    for _ in range(TRIES - 1):
        if is_smooth(best):
            return
        best = [min(pair) for pair in zip(best, await scroll(visit), strict=True)]
    assert is_smooth(best), [round(one * 1_000, 1) for one in best]


def is_smooth(worked: list[float]) -> bool:
    return max(worked) < LONGEST_TASK and median(worked[-10:]) < 4 * median(worked[:10])
