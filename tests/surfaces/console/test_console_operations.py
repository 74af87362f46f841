"""Operations in the console: paused and resumed, dead letters sent again, somebody told; nothing for axe to find."""

from typing import Any

from waypost.kernel import ids


async def test_pausing_and_sending_again_in_the_browser(sign_in: Any, site: Any, admin: Any, violations: Any) -> None:
    message = {"to": {"id": "ada", "email": "ada@example.com"}, "content": {"subject": "s", "text": "t"}}
    sent = await site.api.ok("POST", "/v1/notifications", {**message, "category": "transactional"})
    notification = sent["notifications"][0]["id"]
    await admin.execute(
        "with gone as (delete from queue),"
        " ended as (update notifications set status = 7, reason = 'policy' returning tenant_id, id, retention)"
        " insert into dead_letters (tenant_id, id, retention, at, reason, detail, channel, category, attempts, spent)"
        " select tenant_id, id, retention, now(), 'refused', 'policy', 1, 1, 1, false from ended"
    )
    await admin.execute(
        "insert into alerts (tenant_id, id, kind, subject, facts, opened_at, seen_at)"
        " values ('acme', $1, 'account_paused', 'snd_1', '{\"errors\": 12}', now(), now())",
        ids.read("alr", f"alr_{notification[4:]}"),
    )
    page = await sign_in(scheme="dark", width=360)
    await page.goto(f"{site.url}/operations")
    await page.get_by_text("Sender account snd_1 was paused").wait_for()
    await page.get_by_text("The other side refused it").wait_for()
    assert await violations(page) == []
    await page.get_by_label("Which one").fill("pigeon")
    await page.get_by_role("button", name="Pause", exact=True).click()
    await page.get_by_role("alert").wait_for()
    assert await violations(page) == []
    await page.get_by_label("Which one").fill("email")
    await page.get_by_label("Because").fill("an outage")
    await page.get_by_role("button", name="Pause", exact=True).click()
    await page.get_by_text("Resume", exact=True).first.wait_for()
    [pause] = (await site.api.ok("GET", "/v1/pauses"))["items"]
    assert (pause["scope"], pause["subject"], pause["reason"]) == ("channel", "email", "an outage")
    await page.get_by_role("button", name="Send again", exact=True).click()
    await page.get_by_text("1 on their way again").wait_for()
    assert (await site.api.ok("GET", f"/v1/notifications/{notification}"))["status"] == "queued"
    await page.get_by_label("Tell of alerts").fill("ops@example.com")
    await page.get_by_role("button", name="Add", exact=True).click()
    await page.get_by_role("button", name="Test", exact=True).wait_for()
    assert await violations(page) == []
    await page.get_by_text("Resume", exact=True).first.click()
    await page.get_by_role("button", name="Resume", exact=True).click()
    await page.get_by_text("Nothing is paused").wait_for()
    assert (await site.api.ok("GET", "/v1/pauses"))["items"] == []
