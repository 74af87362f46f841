"""Inboxes in the console: made, changed, posted to, taken back from, counted, with nothing for axe to find."""

from typing import Any

from waypost.console.inbox_forms import NOBODY_YET, command_of, ttl_of, written_ttl
from waypost.inbox.model import AudienceKind
from waypost.kernel.tenancy import Permission


async def test_an_inbox_s_life_in_the_browser(sign_in: Any, site: Any, violations: Any) -> None:
    await site.api.ok("PUT", "/v1/recipients/jane", {"tags": ["vip"]})
    page = await sign_in()
    await page.goto(f"{site.url}/inboxes")
    await page.get_by_text("No inbox yet").wait_for()
    assert await violations(page) == []
    await page.get_by_role("link", name="New inbox").click()
    await page.get_by_label("Key").fill("Main!")
    await page.get_by_label("Title").fill("Notifications")
    await page.get_by_label("Messages stay").fill("default 30d\nbilling 9 weeks")
    await page.get_by_role("button", name="Make the inbox").click()
    await page.get_by_text("A key has 1 to 64").wait_for()
    await page.get_by_label("Key").fill("main")
    await page.get_by_label("Messages stay").fill("default 30d\nbilling 90d")
    await page.get_by_role("button", name="Make the inbox").click()
    await page.get_by_text("Nothing was posted yet").wait_for()
    assert (await site.api.ok("GET", "/v1/inboxes/main"))["ttl"] == {"default": "30d", "billing": "90d"}
    assert await violations(page) == []

    await page.get_by_role("link", name="New post").click()
    await page.get_by_label("Title").fill("For some")
    assert not await page.get_by_label("Recipients", exact=True).is_visible()
    await page.get_by_label("these recipients").check()
    await page.get_by_label("Recipients", exact=True).fill("jane, nobody")
    await page.get_by_role("button", name="Post it").click()
    await page.get_by_text("There is no recipient of this id").wait_for()
    assert await violations(page) == []
    await page.get_by_label("Recipients", exact=True).fill("jane")
    await page.get_by_role("button", name="Post it").click()
    await page.get_by_text("For some").first.wait_for()
    await page.get_by_text("1 copy of people's own, 1 of them unread").wait_for()

    await page.get_by_role("link", name="New post").click()
    await page.get_by_label("Title").fill("For <b>all</b>")
    await page.get_by_role("button", name="Post it").click()
    await page.get_by_text("For all").first.wait_for()
    listed = (await site.api.ok("GET", "/v1/inboxes/main/posts"))["items"]
    assert [one["audience"] for one in listed] == ["everyone", "users"]
    await page.get_by_label("Take back For all").click()
    await page.get_by_role("button", name="Take it back").first.click()
    await page.get_by_text("taken back").wait_for()
    assert await violations(page) == []

    await page.get_by_role("link", name="Edit").click()
    await page.get_by_label("Title").fill("News for you")
    await page.get_by_role("button", name="Save").click()
    await page.get_by_role("heading", name="News for you").wait_for()
    await page.goto(f"{site.url}/inboxes")
    row = page.get_by_role("row").filter(has_text="News for you")
    assert (await row.locator("td").all_text_contents())[2:] == ["1", "1", "1"]
    assert await violations(page) == []
    await page.get_by_role("link", name="Check the counters").click()
    await page.get_by_text("Every counter is right").wait_for()
    assert await violations(page) == []


async def test_inboxes_on_a_phone_at_night(sign_in: Any, site: Any, violations: Any) -> None:
    await site.api.ok(
        "PUT", "/v1/inboxes/main", {"title": "Notifications", "ttl": {"default": "30d", "billing": "90d"}}
    )
    post = {"audience": {"kind": "everyone"}, "title": "Maintenance on Sunday", "body": "A long sentence. " * 20}
    await site.api.ok("POST", "/v1/inboxes/main/posts", post)
    page = await sign_in(scheme="dark", width=360)
    for path in ("/inboxes", "/inboxes/main", "/inboxes/main/post"):
        await page.goto(f"{site.url}{path}")
        assert await violations(page) == []
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


async def test_a_reader_of_inboxes_sees_and_changes_nothing(sign_in: Any, site: Any, acme: Any) -> None:
    await acme.ok("PUT", "/v1/inboxes/main", {"title": "Notifications"})
    await acme.ok("POST", "/v1/inboxes/main/posts", {"audience": {"kind": "everyone"}, "title": "Hello"})
    reader = await acme.with_scopes("acme", Permission.INBOX_READ, Permission.NOTIFICATIONS_READ)
    page = await sign_in(reader.key)
    await page.goto(f"{site.url}/inboxes/main")
    await page.get_by_text("Hello").wait_for()
    assert await page.get_by_role("link", name="New post").count() == 0
    assert await page.get_by_role("link", name="Edit").count() == 0
    assert await page.get_by_text("Take back").count() == 0
    refused = await page.goto(f"{site.url}/inboxes/main/post")
    assert refused.status == 403


def test_only_what_belongs_to_the_chosen_audience_counts() -> None:
    filled = {**NOBODY_YET, "title": "Hi", "recipients": "a, b\nc", "list": "vip", "any_tags": "x y", "locale": "de"}
    kinds = {kind: command_of({**filled, "audience": kind.value}).audience for kind in AudienceKind}
    assert kinds[AudienceKind.EVERYONE].recipients == ()
    assert kinds[AudienceKind.USERS].recipients == ["a", "b", "c"]
    assert kinds[AudienceKind.USERS].filter is None
    assert kinds[AudienceKind.LIST].list_key == "vip"
    wanted = kinds[AudienceKind.FILTER].filter
    assert wanted is not None
    assert (wanted.all_tags, wanted.any_tags, wanted.locale) == ([], ["x", "y"], "de")


def test_times_are_written_and_read_line_by_line() -> None:
    written = {"billing": "90d", "default": "30d"}
    assert ttl_of(written_ttl(written)) == written
    assert ttl_of(" billing:  90d \n\n default") == {"billing": "90d", "default": ""}
