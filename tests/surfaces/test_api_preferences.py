"""Topics, preferences and the tenant's settings over the API."""

from typing import Any

NEWSLETTER = {"title": "Newsletter", "category": "marketing", "default": "opted_out"}
BILLING = {"title": "Billing", "category": "transactional", "default": "opted_in", "mandatory": True, "order": -1}


async def test_topics_are_put_read_listed_in_order_and_deleted(acme: Any, globex: Any) -> None:
    made = await acme.ok("PUT", "/v1/topics/newsletter", NEWSLETTER)
    assert made["default"] == "opted_out"
    assert made["version"] == 1
    await acme.ok("PUT", "/v1/topics/billing", BILLING)
    assert [one["key"] for one in (await acme.ok("GET", "/v1/topics"))["items"]] == ["billing", "newsletter"]
    changed = await acme.ok("PUT", "/v1/topics/newsletter", {**NEWSLETTER, "channels": {"sms": "opted_in"}})
    assert (changed["version"], changed["channels"]) == (2, {"sms": "opted_in"})
    again = await acme.ok("PUT", "/v1/topics/newsletter", {**NEWSLETTER, "channels": {"sms": "opted_in"}})
    assert again["version"] == 2
    assert (await globex.ok("GET", "/v1/topics"))["items"] == []
    assert (await globex.refused("GET", "/v1/topics/newsletter"))[0] == 404
    await acme("DELETE", "/v1/topics/newsletter")
    assert (await acme.refused("GET", "/v1/topics/newsletter"))[0] == 404


async def test_a_topic_that_cannot_be_is_refused_by_field(acme: Any) -> None:
    refused = await acme.refused("PUT", "/v1/topics/promo", {**NEWSLETTER, "mandatory": True})
    assert refused == (422, "marketing_is_free", ["/mandatory", "/default"])
    assert (await acme.refused("PUT", "/v1/topics/Upper", NEWSLETTER))[1] == "invalid_id"
    await acme.ok("PUT", "/v1/topics/news", NEWSLETTER)
    refused = await acme.refused("PUT", "/v1/topics/news", {**NEWSLETTER, "category": "transactional"})
    assert refused == (422, "category_fixed", ["/category"])


async def test_a_topic_that_changed_meanwhile_is_not_overwritten(acme: Any) -> None:
    await acme.ok("PUT", "/v1/topics/news", NEWSLETTER)
    await acme.ok("PUT", "/v1/topics/news", {**NEWSLETTER, "title": "News"})
    stale = await acme.refused("PUT", "/v1/topics/news", NEWSLETTER, headers={"If-Match": '"1"'})
    assert stale[:2] == (412, "precondition_failed")


async def test_preferences_merge_field_by_field(acme: Any) -> None:
    await acme.ok("PUT", "/v1/topics/newsletter", NEWSLETTER)
    await acme.ok("PUT", "/v1/recipients/user-42", {"email": "ada@example.com"})
    path = "/v1/recipients/user-42/preferences"
    assert (await acme.ok("GET", path)) == {"quiet_hours": None, "channels": {}, "version": 0, "updated_at": None}
    quiet = {"start": "22:00", "end": "07:00"}
    said = {"quiet_hours": quiet, "channels": {"email": {"enabled": True, "topics": {"newsletter": True}}}}
    first = await acme.ok("PUT", path, said)
    chosen = {"enabled": True, "categories": {}, "topics": {"newsletter": True}, "tracking": None}
    assert first["channels"] == {"email": chosen}
    second = await acme.ok("PUT", path, {"channels": {"email": {"categories": {"marketing": False}}}})
    assert second["quiet_hours"] == quiet
    assert second["channels"]["email"]["topics"] == {"newsletter": True}
    assert second["version"] == 2
    third = await acme.ok("PUT", path, {"quiet_hours": None, "channels": {"email": {"topics": {"newsletter": None}}}})
    assert third["quiet_hours"] is None
    assert third["channels"]["email"] == {**chosen, "categories": {"marketing": False}, "topics": {}}
    assert (await acme.ok("PUT", path, {"channels": {"email": None}}))["channels"] == {}


async def test_what_cannot_be_chosen_is_refused_by_name_and_nothing_changes(acme: Any) -> None:
    await acme.ok("PUT", "/v1/topics/billing", BILLING)
    await acme.ok("PUT", "/v1/recipients/user-42", {"email": "ada@example.com"})
    path = "/v1/recipients/user-42/preferences"
    off = {"channels": {"email": {"enabled": False, "topics": {"billing": False}}}}
    assert await acme.refused("PUT", path, off) == (422, "mandatory_topic", ["/channels/email/topics/billing"])
    unknown = {"channels": {"email": {"topics": {"nothing": True}}}}
    assert await acme.refused("PUT", path, unknown) == (422, "unknown_topic", ["/channels/email/topics/nothing"])
    security = {"channels": {"email": {"categories": {"security": False}}}}
    assert (await acme.refused("PUT", path, security))[1] == "mandatory_category"
    late = {"quiet_hours": {"start": "24:00", "end": "7"}}
    assert await acme.refused("PUT", path, late) == (
        422,
        "invalid_format",
        ["/quiet_hours/start", "/quiet_hours/end"],
    )
    assert (await acme.ok("GET", path))["version"] == 0


async def test_settings_are_changed_field_by_field(acme: Any, globex: Any) -> None:
    usual = await acme.ok("GET", "/v1/settings")
    assert usual["consent_policy"] == "explicit"
    said = {"consent_policy": "implied", "quiet_hours": {"start": "21:00", "end": "08:00"}, "channels": {"sms": False}}
    changed = await acme.ok("PATCH", "/v1/settings", {**said, "timezone": "Europe/Vienna"})
    assert changed["timezone"] == "Europe/Vienna"
    assert changed["channels"] == {"sms": False}
    back = await acme.ok("PATCH", "/v1/settings", {"consent_policy": None, "quiet_hours": None})
    assert (back["consent_policy"], back["quiet_hours"], back["timezone"]) == ("explicit", None, "Europe/Vienna")
    assert (await acme.refused("PATCH", "/v1/settings", {"timezone": "Mars/Base"}))[1:] == (
        "invalid_timezone",
        ["/timezone"],
    )
    assert await globex.ok("GET", "/v1/settings") == usual
