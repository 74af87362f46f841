"""Webhooks in the console: made, shown once, tested, disabled, removed; in Chromium, with nothing for axe to find."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from waypost.kernel import ids
from waypost.kernel.tenancy import Permission


async def add_log(admin: Any, endpoint: str) -> None:
    """What a relay would have left: one delivered, one that failed for good."""
    for number, (state, status, fault) in enumerate([("delivered", 200, None), ("failed", None, "timeout")]):
        delivery = ids.mint_at(datetime.now(UTC))
        await admin.execute(
            "insert into webhook_deliveries (tenant_id, id, endpoint_id, outbox_id, at, kind, subject_id, n, state,"
            " attempts, due, give_up_at) values ('acme', $1, $2, $3, now(), 1, $1, 1, $4, 1, now(), now())",
            delivery, ids.read("whe", endpoint), number, state,
        )  # fmt: skip
        await admin.execute(
            "insert into webhook_attempts (tenant_id, delivery_id, n, at, status, fault, latency_ms, answer)"
            " values ('acme', $1, 1, now(), $2, $3, 42, '<b>said & done</b>')",
            delivery, status, fault,
        )  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_an_endpoint_s_life_in_the_browser(
    sign_in: Any, site: Any, admin: Any, violations: Any, scheme: str
) -> None:
    page = await sign_in(scheme=scheme, width=1280 if scheme == "light" else 360)
    await page.goto(f"{site.url}/webhooks")
    await page.get_by_text("Nobody is told").wait_for()
    assert await violations(page) == []
    await page.goto(f"{site.url}/webhooks/new")
    await page.get_by_label("URL").fill("https://127.0.0.1/hooks")
    await page.get_by_role("button", name="Make the endpoint").click()
    await page.get_by_text("not public").wait_for()
    assert await violations(page) == []
    await page.get_by_label("URL").fill("https://8.8.8.8/hooks")
    await page.get_by_label("Description").fill("Order service")
    await page.get_by_role("button", name="Make the endpoint").click()
    await page.get_by_role("heading", name="Here is the endpoint's secret").wait_for()
    assert (await page.locator("#secret").text_content()).startswith("whsec_")
    assert await violations(page) == []
    await page.get_by_role("link", name="The endpoint").click()
    await page.get_by_role("button", name="Send a test").click()
    await page.get_by_text("webhook_endpoint.test").first.wait_for()
    [listed] = (await site.api.ok("GET", "/v1/webhook-endpoints"))["items"]
    await add_log(admin, listed["id"])
    await page.reload()
    content = await page.content()
    assert "<b>said" not in content
    await page.get_by_role("button", name=re.compile("again$")).first.click()
    await page.get_by_label("From", exact=True).fill("2020-01-01T00:00")
    await page.get_by_role("button", name="Tell it again").click()
    await page.get_by_text("Events are kept for 7 days").wait_for()
    assert await violations(page) == []
    hour_ago = datetime.now(UTC) - timedelta(hours=1)
    await page.get_by_label("From", exact=True).fill(hour_ago.strftime("%Y-%m-%dT%H:%M"))
    await page.get_by_role("button", name="Tell it again").click()
    await page.get_by_text("under way").wait_for()
    await page.get_by_text("New secret", exact=True).click()
    assert await violations(page) == []
    await page.get_by_role("button", name="Make a new secret").click()
    await page.get_by_role("heading", name="Here is the new secret").wait_for()
    await page.get_by_role("link", name="The endpoint").click()
    await page.get_by_text("Disable", exact=True).click()
    await page.get_by_role("button", name="Disable it").click()
    await page.get_by_text("by hand").first.wait_for()
    assert await violations(page) == []
    await page.get_by_role("button", name="Enable it").click()
    await page.get_by_text("Remove", exact=True).click()
    await page.get_by_role("button", name="Remove it").click()
    await page.get_by_text("Nobody is told").wait_for()
    assert (await site.api.ok("GET", "/v1/webhook-endpoints"))["items"] == []


async def test_a_reader_sees_and_changes_nothing(sign_in: Any, site: Any, acme: Any) -> None:
    made = await acme.ok("POST", "/v1/webhook-endpoints", {"url": "https://8.8.8.8/hooks", "events": ["*"]})
    reader = await acme.with_scopes("acme", Permission.WEBHOOKS_READ, Permission.NOTIFICATIONS_READ)
    page = await sign_in(reader.key)
    await page.goto(f"{site.url}/webhooks/{made['id']}")
    assert await page.get_by_role("button", name="Send a test").count() == 0
    await page.goto(f"{site.url}/webhooks")
    assert await page.get_by_role("link", name="New endpoint").count() == 0
