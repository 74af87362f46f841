"""A domain in the browser: added, its records copied and set, checked, given new keys, removed."""

from typing import Any


async def test_a_domain_s_life_in_the_browser(sign_in: Any, site: Any, zone: Any, violations: Any) -> None:
    page = await sign_in(scheme="dark", width=360)
    await page.goto(f"{site.url}/domains")
    await page.get_by_text("No domain yet").wait_for()
    assert await violations(page) == []
    await page.get_by_role("link", name="Add a domain").click()
    await page.get_by_label("Domain").fill("localhost")
    await page.get_by_label("Track on it").check()
    await page.get_by_role("button", name="Add it").click()
    await page.get_by_text("not a public domain name").wait_for()
    assert await violations(page) == []
    await page.get_by_label("Domain").fill("Mail.Example.com")
    await page.get_by_role("button", name="Add it").click()
    await page.get_by_text("needs a name of its own").wait_for()
    await page.get_by_label("Track on it").uncheck()
    await page.get_by_role("button", name="Add it").click()
    await page.get_by_role("heading", name="mail.example.com").wait_for()
    assert await page.get_by_text("unknown", exact=True).count() == 4
    assert await violations(page) == []

    [made] = (await site.api.ok("GET", "/v1/domains"))["items"]
    for number, record in enumerate(made["records"], 1):
        shown = [await page.locator(f"#{part}-{number}").text_content() for part in ("name", "value")]
        assert shown == [record["name"], record["value"]]
    await page.get_by_role("button", name="Check now").click()
    await page.get_by_text("missing", exact=True).first.wait_for()
    assert await violations(page) == []

    for record in made["records"]:
        zone.set(record["type"], record["name"], record["value"])
    await page.get_by_role("button", name="Check now").click()
    await page.get_by_text("verified", exact=True).first.wait_for()
    assert await page.get_by_text("found", exact=True).count() == 4
    assert await violations(page) == []
    await page.get_by_text("New keys", exact=True).click()
    await page.get_by_role("button", name="Make new keys").click()
    await page.get_by_text("next", exact=True).first.wait_for()
    await page.get_by_text("New keys", exact=True).click()
    await page.get_by_role("button", name="Make new keys").click()
    await page.get_by_text("A rotation is under way").wait_for()
    assert await violations(page) == []
    await page.goto(f"{site.url}/domains")
    assert await violations(page) == []
    await page.get_by_role("link", name="mail.example.com").click()
    await page.get_by_text("Remove", exact=True).click()
    await page.get_by_role("button", name="Remove it").click()
    await page.get_by_text("No domain yet").wait_for()
