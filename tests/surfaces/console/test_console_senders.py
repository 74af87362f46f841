"""Sender accounts in the console: made, shown, edited, stopped; in Chromium, with nothing for axe to find."""

from typing import Any

import pytest

from waypost.kernel.tenancy import Permission


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_an_account_s_life_in_the_browser(sign_in: Any, site: Any, violations: Any, scheme: str) -> None:
    page = await sign_in(scheme=scheme, width=1280 if scheme == "light" else 360)
    await page.goto(f"{site.url}/senders")
    await page.get_by_text("No account of your own").wait_for()
    await page.goto(f"{site.url}/senders/new")
    assert await violations(page) == []
    await page.get_by_label("Name", exact=True).fill("Notices")
    await page.get_by_label("From").fill("notices@example.com")
    await page.get_by_label("Server").fill("smtp.example.com")
    await page.get_by_label("User", exact=True).fill("notices")
    await page.get_by_label("Daily limit").fill("many")
    await page.get_by_role("button", name="Make the account").click()
    await page.get_by_text("Write a whole number.").wait_for()
    await page.get_by_label("Daily limit").fill("40")
    await page.get_by_role("button", name="Make the account").click()
    await page.get_by_text("Authentication needs a secret.").wait_for()
    assert await violations(page) == []
    await page.get_by_label("Secret").fill("hush")
    await page.get_by_label("warm up by schedule").check()
    await page.get_by_role("button", name="Make the account").click()
    await page.get_by_text("stage 1 of 6").wait_for()
    await page.get_by_text("0 of 40 used").wait_for()
    assert await violations(page) == []
    assert "hush" not in await page.content()
    await page.get_by_role("button", name="Pause").click()
    await page.get_by_role("button", name="Resume").click()
    await page.get_by_role("link", name="Edit").click()
    await page.get_by_label("Daily limit").fill("30")
    await page.get_by_label("Limits of mailbox providers").fill("gmail many")
    await page.get_by_label("Stages of the warm-up").fill("20 1 5")
    await page.get_by_role("button", name="Save").click()
    await page.get_by_text("Write a provider and a number on each line").wait_for()
    await page.get_by_text("Write four numbers on each line").wait_for()
    assert await page.get_by_label("Limits of mailbox providers").input_value() == "gmail many"
    assert await violations(page) == []
    await page.get_by_label("Limits of mailbox providers").fill("Gmail 200\nexample.org 30")
    await page.get_by_label("Stages of the warm-up").fill("40 1 5 0\n80 2 5 0")
    await page.get_by_role("button", name="Save").click()
    await page.get_by_text("0 of 30 used").wait_for()
    await page.get_by_text("stage 1 of 2").wait_for()
    [kept] = (await site.api.ok("GET", "/v1/sender-accounts"))["items"]
    assert kept["provider_limits"] == {"gmail": 200, "example.org": 30}
    assert [one["limit"] for one in kept["warmup"]["stages"]] == [40, 80]
    await page.goto(f"{site.url}/senders")
    await page.get_by_role("link", name="Notices").wait_for()
    assert await violations(page) == []
    await page.get_by_role("link", name="Notices").click()
    await page.get_by_text("Archive", exact=True).click()
    await page.get_by_role("button", name="Archive it").click()
    await page.get_by_text("No account of your own").wait_for()


async def test_a_reader_is_offered_no_change(sign_in: Any, site: Any, acme: Any) -> None:
    reader = await acme.with_scopes("acme", Permission.SENDERS_READ, Permission.NOTIFICATIONS_READ)
    page = await sign_in(reader.key)
    await page.goto(f"{site.url}/senders")
    await page.get_by_text("No account of your own").wait_for()
    assert await page.get_by_role("link", name="New account").count() == 0
    answer = await page.goto(f"{site.url}/senders/new")
    assert answer.status == 403
