"""Templates in Chromium: written with a preview that follows, published, compared, and all of it without scripts."""

from typing import Any


async def shown(page: Any) -> Any:
    """The body of the preview."""
    return page.frame_locator("iframe[name=preview]").locator("body")


async def make(page: Any, url: str, key: str) -> None:
    await page.goto(f"{url}/templates/new")
    await page.get_by_label("Key").fill(key)
    await page.get_by_role("button", name="Make it").click()
    await page.wait_for_url(f"**/templates/{key}/email/edit")


async def test_the_preview_follows_what_is_written_in_each_locale(sign_in: Any, site: Any) -> None:
    page = await sign_in()
    await make(page, site.url, "order-paid")
    await page.get_by_label("Subject").fill("Order {{ order }}")
    await page.get_by_text("Variables", exact=True).click()
    await page.get_by_label("As JSON").fill('{"order": 7}')
    await page.get_by_label("Body").fill("<h1>Thanks for {{ order }}</h1><script>document.title = 'hit'</script>")
    body = await shown(page)
    await body.get_by_role("heading", name="Thanks for 7").wait_for()
    await page.locator("#check").get_by_text("Order 7").wait_for()
    assert await page.title() != "hit"

    await page.get_by_label("Another locale").fill("ar")
    await page.get_by_role("button", name="Add it").click()
    await page.get_by_role("heading", name="ar", exact=True).wait_for()
    assert await page.get_by_label("Body").first.input_value() != "", "what was written is still there"
    await page.get_by_text("Content in ar").click()
    arabic = page.locator("details[data-locale=ar]")
    await arabic.get_by_label("Subject").fill("طلب {{ order }}")
    await arabic.get_by_label("Body").fill("<h1>شكرا {{ order }}</h1>")
    assert await page.get_by_label("In", exact=True).input_value() == "ar"
    await body.get_by_role("heading", name="شكرا 7").wait_for()
    await page.locator("#check").get_by_text("ar (rtl)").wait_for()

    await arabic.get_by_label("Body").fill("{% if %}")
    await page.locator("#check").get_by_text("/locales/ar/body").wait_for()
    await page.get_by_role("button", name="Save as a draft").click()
    await page.get_by_text("Some fields must be mended.").wait_for()
    await page.locator("details[data-locale=ar]").get_by_label("Body").fill("<h1>شكرا {{ order }}</h1>")
    await page.get_by_role("button", name="Save as a draft").click()
    await page.wait_for_url("**/versions/1.0.0")
    await page.get_by_text("Publish", exact=True).click()
    await page.get_by_role("button", name="Publish it").click()
    await page.wait_for_url("**/templates/order-paid/email")
    found = await site.api.ok("GET", "/v1/templates/order-paid/email/versions/1.0.0")
    assert (found["state"], sorted(found["locales"])) == ("active", ["ar", "en"])
    assert found["locales"]["ar"]["direction"] == "rtl"


async def test_a_preview_for_a_real_person(sign_in: Any, site: Any) -> None:
    await site.api.ok("PUT", "/v1/recipients/user-42", {"email": "g@example.com", "attributes": {"name": "Grace"}})
    page = await sign_in()
    await make(page, site.url, "hello")
    await page.get_by_label("Subject").fill("Hello")
    await page.get_by_label("Body").fill("<p>Hello, {{ name }}!</p>")
    await page.get_by_label("For the recipient").fill("user-42")
    await (await shown(page)).get_by_text("Hello, Grace!").wait_for()


async def test_everything_works_without_scripts(browser: Any, site: Any) -> None:
    page = await (await browser.new_context(java_script_enabled=False)).new_page()
    await page.goto(f"{site.url}/templates/new")
    await page.get_by_label("API key").fill(site.api.key)
    await page.get_by_role("button", name="Sign in").click()
    await make(page, site.url, "plain")
    await page.get_by_label("Subject").fill("One")
    await page.get_by_label("Body").fill("<p>First words</p>")
    await page.get_by_role("button", name="Show").click()
    await (await shown(page)).get_by_text("First words").wait_for()
    await page.get_by_role("button", name="Save as a draft").click()
    await page.wait_for_url("**/versions/1.0.0")
    await page.get_by_text("Publish", exact=True).click()
    await page.get_by_role("button", name="Publish it").click()
    await page.get_by_role("link", name="Write a version").click()
    await page.get_by_label("Body").fill("<p>Other words</p>")
    await page.get_by_role("button", name="Save as a draft").click()
    await page.wait_for_url("**/versions/1.1.0")
    await page.goto(f"{site.url}/templates/plain/email")
    await page.get_by_role("link", name="Compare the newest version").click()
    await page.get_by_text("+<p>Other words</p>").wait_for()


async def test_what_a_model_wrote_is_approved_by_name(sign_in: Any, site: Any) -> None:
    await site.api.ok("POST", "/v1/templates", {"key": "bot", "category": "transactional"})
    drafted = {"source": "ai_drafted", "provenance": {"model": "tiny-7b"}}
    words = {"locales": {"en": {"subject": "s", "body": "<p>By a model</p>"}}}
    await site.api.ok("POST", "/v1/templates/bot/email/versions", words | drafted)
    page = await sign_in()
    await page.goto(f"{site.url}/templates/bot/email/versions/1.0.0")
    await page.get_by_label("Your name").fill("Jane Roe")
    await page.get_by_role("button", name="Approve").click()
    await page.get_by_text("approved by Jane Roe").wait_for()
    await page.get_by_text("Publish", exact=True).click()
    await page.get_by_role("button", name="Publish it").click()
    await page.wait_for_url("**/templates/bot/email")


async def test_the_platform_s_templates_are_shown_and_not_written(sign_in: Any, site: Any, platform: Any) -> None:
    await platform.ok("POST", "/v1/templates", {"key": "reset", "category": "security", "name": "Reset"})
    words = {"locales": {"en": {"subject": "s", "body": "<p>By the platform</p>"}}}
    await platform.ok("POST", "/v1/templates/reset/email/versions", words)
    await platform.ok("POST", "/v1/templates/reset/email/versions/1.0.0/publish")
    page = await sign_in()
    await page.goto(f"{site.url}/templates?owner=platform")
    await page.get_by_role("link", name="reset").click()
    assert await page.get_by_role("link", name="Write a version").count() == 0
    await page.get_by_role("link", name="Override it").click()
    assert await page.get_by_label("Key").input_value() == "reset"
    answer = await page.goto(f"{site.url}/templates/reset/email/edit")
    assert answer.status == 404
