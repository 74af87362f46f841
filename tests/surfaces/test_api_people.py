"""Addresses, tags, lists, search and merging, over HTTP."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest

LATER = (datetime.now(UTC) + timedelta(days=30)).isoformat()


async def test_several_addresses_on_a_channel_and_one_in_use(acme: Any) -> None:
    await acme.ok("PUT", "/v1/recipients/u1", {"email": "first@example.com"})
    path = "/v1/recipients/u1/addresses"
    second = await acme.ok("POST", path, {"channel": "email", "address": "Second@example.com", "verified": True})
    third = await acme.ok("POST", path, {"channel": "email", "address": "third@example.com", "current": False})
    shown = {one["masked"]: one for one in (await acme.ok("GET", path))["items"]}
    assert [name for name, one in shown.items() if one["current"]] == ["s***@example.com"]
    assert (second["verified"], second["status"], third["current"]) == (True, "active", False)
    changed = await acme.ok("PATCH", f"{path}/{third['id']}", {"verified": True, "current": True})
    assert (changed["verified"], changed["current"]) == (True, True)
    again = await acme.ok("POST", path, {"channel": "email", "address": "first@example.com"})
    assert (again["id"], again["current"]) == (shown["f***@example.com"]["id"], True)
    await acme.ok("DELETE", f"{path}/{again['id']}")
    after = {one["masked"]: one["current"] for one in (await acme.ok("GET", path))["items"]}
    assert after == {"t***@example.com": True, "s***@example.com": False}
    # What was revoked can be given again (it is a new address then).
    anew = await acme.ok("POST", path, {"channel": "email", "address": "first@example.com"})
    assert anew["id"] != again["id"]


async def test_a_phone_serves_every_channel_that_dials_it(acme: Any) -> None:
    await acme.ok("PUT", "/v1/recipients/u1", {})
    path = "/v1/recipients/u1/addresses"
    made = await acme.ok("POST", path, {"channel": "whatsapp", "address": "+14155550123"})
    assert made["channel"] == "sms"
    assert await acme.refused("POST", path, {"channel": "email", "address": "no"}) == (
        422,
        "invalid_address",
        ["/address"],
    )
    assert (await acme.refused("POST", path, {"channel": "push", "address": "x"}))[0] == 422


async def test_two_people_may_share_an_address(acme: Any) -> None:
    for name in ("u1", "u2"):
        await acme.ok("PUT", f"/v1/recipients/{name}", {"email": "family@example.com"})
    found = await acme.ok("GET", "/v1/recipients?email=Family@example.com")
    assert [one["id"] for one in found["items"]] == ["u1", "u2"]


async def test_tags(acme: Any) -> None:
    made = await acme.ok("PUT", "/v1/recipients/u1", {"tags": ["vip", "beta", "vip"]})
    assert (made["tags"], made["version"]) == (["beta", "vip"], 1)
    assert (await acme.ok("POST", "/v1/recipients/u1/tags", {"tags": ["new", "beta"]}))["tags"] == [
        "beta",
        "new",
        "vip",
    ]
    assert (await acme.ok("DELETE", "/v1/recipients/u1/tags/vip"))["tags"] == ["beta", "new"]
    assert (await acme.ok("PUT", "/v1/recipients/u1/tags", {"tags": ["Großkunde"]}))["tags"] == ["Großkunde"]
    assert (await acme.ok("GET", "/v1/recipients/u1/tags"))["tags"] == ["Großkunde"]
    changed = await acme.ok("PATCH", "/v1/recipients/u1", {"tags": None})
    assert (changed["tags"], changed["version"]) == ([], 5)
    for bad in ["a,b", "", " x", "x" * 65, "a\nb"]:
        assert await acme.refused("PUT", "/v1/recipients/u1/tags", {"tags": ["ok", bad]}) == (
            422,
            "invalid_tag",
            ["/tags/1"],
        )
    assert (await acme.refused("PUT", "/v1/recipients/u1", {"tags": [str(n) for n in range(101)]}))[1] == "too_many"


async def test_a_tag_is_removed_whatever_it_holds(acme: Any) -> None:
    for tag in ("team/a", "a//b", "/", "ä/ö/", "a/tags/b", "100%2F", "100%2F/%", "a b/c?d#e", "%2f"):
        await acme.ok("PUT", "/v1/recipients/ada", {"tags": [tag, "vip"]})
        left = await acme.ok("DELETE", f"/v1/recipients/ada/tags/{quote(tag, safe='')}")
        assert left == {"tags": ["vip"]}, tag
        assert (await acme.ok("GET", "/v1/recipients/ada"))["tags"] == ["vip"]


async def test_a_slash_within_a_segment_divides_nothing(acme: Any) -> None:
    await acme.ok("PUT", "/v1/recipients/ada", {"tags": ["vip"]})
    assert (await acme("DELETE", "/v1/recipients/ada%2Ftags/vip")).status_code == 404
    assert (await acme("DELETE", "/v1/recipients/ada/tags/vip/beta")).status_code == 404
    assert (await acme("GET", "/v1/recipients/ada%2Ftags")).status_code == 404
    assert (await acme("GET", "/v1/recipients/%FF%2Fada")).status_code == 404
    assert await acme.refused("PUT", "/v1/recipients/ada%2Fb", {"tags": []}) == (422, "invalid_id", ["/id"])
    assert (await acme.ok("GET", "/v1/recipients/ada"))["tags"] == ["vip"]


async def test_search(acme: Any, globex: Any) -> None:
    await acme.ok("PUT", "/v1/lists/team", {"title": "The team"})
    for n in range(5):
        await acme.ok(
            "PUT", f"/v1/recipients/user-{n}", {"email": f"u{n}@example.com", "tags": ["even"] if n % 2 == 0 else []}
        )
    await acme.ok("PUT", "/v1/recipients/other", {"phone": "+14155550123"})
    await acme.ok("POST", "/v1/lists/team/members", {"add": ["user-1", "user-3", "other"]})

    async def ids(query: str, limit: int = 2) -> list[str]:
        found: list[str] = []
        cursor = ""
        while True:
            page = await acme.ok("GET", f"/v1/recipients?limit={limit}&{query}{cursor}")
            found += [one["id"] for one in page["items"]]
            if page["next"] is None:
                return found
            cursor = f"&cursor={page['next']}"

    assert await ids("id_prefix=user-") == [f"user-{n}" for n in range(5)]
    assert await ids("tag=even") == ["user-4", "user-2", "user-0"]
    assert await ids("list=team") == ["other", "user-3", "user-1"]
    assert await ids("phone=%2B1415-555-0123") == ["other"]
    assert await ids("email=u3@example.com") == ["user-3"]
    assert await ids("email=nobody@example.com") == []
    assert await acme.refused("GET", "/v1/recipients?list=nope") == (422, "unknown_list", ["/list"])
    assert (await acme.refused("GET", "/v1/recipients?tag=a&list=team"))[1] == "one_filter_only"
    assert (await acme.refused("GET", "/v1/recipients?email=nonsense"))[1] == "invalid_address"
    assert (await globex.ok("GET", "/v1/recipients?email=u3@example.com"))["items"] == []


async def test_lists(acme: Any, globex: Any) -> None:
    made = await acme("PUT", "/v1/lists/project-7", {"title": "Project 7"})
    assert (made.status_code, made.json()["title"], made.json()["version"]) == (200, "Project 7", 1)
    assert (await acme.ok("PUT", "/v1/lists/project-7", {"title": "P7"}))["version"] == 2
    late = await acme.refused("PUT", "/v1/lists/project-7", {"title": "x"}, headers={"If-Match": made.headers["etag"]})
    assert late[:2] == (412, "precondition_failed")
    for n in range(3):
        await acme.ok("PUT", f"/v1/recipients/u{n}", {})
    members = "/v1/lists/project-7/members"
    assert await acme.ok("POST", members, {"add": ["u0", "u1", "u1"]}) == {"added": 2, "removed": 0}
    assert await acme.ok("POST", members, {"add": ["u1", "u2"], "remove": ["u0"]}) == {"added": 1, "removed": 1}
    assert [one["id"] for one in (await acme.ok("GET", members))["items"]] == ["u2", "u1"]
    unknown = await acme.refused("POST", members, {"add": ["u0", "nobody"]})
    assert unknown == (422, "unknown_recipient", ["/add/1"])
    assert len((await acme.ok("GET", members))["items"]) == 2
    assert (await acme.refused("PUT", "/v1/lists/no%20key", {}))[1] == "invalid_key"
    assert (await globex.refused("GET", "/v1/lists/project-7"))[0] == 404
    assert [one["key"] for one in (await acme.ok("GET", "/v1/lists"))["items"]] == ["project-7"]
    await acme.ok("DELETE", "/v1/lists/project-7")
    assert (await acme.refused("GET", members))[0] == 404
    assert (await acme.ok("GET", "/v1/recipients/u1"))["id"] == "u1"


async def test_an_anonymous_visitor_becomes_part_of_someone_known(acme: Any, admin: Any) -> None:
    content = {"subject": "Hi", "text": "Hello"}
    sent = await acme.ok("POST", "/v1/notifications", {"to": {"email": "ada@example.com"}, "content": content})
    visitor = sent["notifications"][0]["recipient_id"]
    later = await acme.ok("POST", "/v1/notifications", {"to": visitor, "content": content, "send_at": LATER})
    await acme.ok("PATCH", f"/v1/recipients/{visitor}", {"attributes": {"seen": "web", "n": 1}, "tags": ["lead"]})
    await acme.ok("PUT", "/v1/lists/news", {})
    await acme.ok("POST", "/v1/lists/news/members", {"add": [visitor]})
    await acme.ok(
        "PUT", "/v1/recipients/ada", {"email": "new@example.com", "attributes": {"n": 2}, "tags": ["customer"]}
    )
    merged = await acme.ok("POST", "/v1/recipients/ada/merge", {"from": visitor})
    assert (merged["id"], merged["attributes"], merged["tags"]) == (
        "ada",
        {"seen": "web", "n": 2},
        ["customer", "lead"],
    )
    assert [(one["masked"], one["current"]) for one in merged["addresses"]] == [
        ("n***@example.com", True),
        ("a***@example.com", False),
    ]
    # The other id leads here for ever.
    assert (await acme.ok("GET", f"/v1/recipients/{visitor}"))["id"] == "ada"
    assert (await acme.ok("PATCH", f"/v1/recipients/{visitor}", {"locale": "de"}))["id"] == "ada"
    found = await acme.ok("GET", "/v1/recipients?email=ada@example.com")
    assert [one["id"] for one in found["items"]] == ["ada"]
    assert [one["id"] for one in (await acme.ok("GET", "/v1/lists/news/members"))["items"]] == ["ada"]
    # What was sent before is hers, and what still waits can still be read.
    for name in ("ada", visitor):
        history = await acme.ok("GET", f"/v1/notifications?recipient_id={name}")
        assert {one["recipient_id"] for one in history["items"]} == {"ada"}
        assert len(history["items"]) == 2
    waiting = later["notifications"][0]["id"]
    assert (await acme.ok("GET", f"/v1/notifications/{waiting}/content"))["to"] == "a***@example.com"
    row = await admin.fetchrow("select * from waypost.notifications order by id desc limit 1")
    assert row["recipient_id"] == await admin.fetchval("select id from waypost.recipients where external_id = 'ada'")
    # Addressed by the old id, a message reaches the one there is.
    sent = await acme.ok("POST", "/v1/notifications", {"to": [visitor, "ada"], "content": content})
    assert [one["recipient_id"] for one in sent["notifications"]] == ["ada"]


async def test_what_a_visitor_was_sent_already_is_not_sent_again_after_a_merge(acme: Any, admin: Any) -> None:
    async def send(who: str, key: str) -> str:
        item = {"to": who, "content": {"subject": "Hi", "text": "Hello"}, "idempotency_key": key}
        [answer] = (await acme.ok("POST", "/v1/notifications/bulk", [item]))["items"]
        # A day later the stored answer is gone, and only the place of the key is left.
        await admin.execute("delete from waypost.idempotency_keys")
        return answer["notifications"][0]["id"]

    for name in ("visitor", "ada"):
        await acme.ok("PUT", f"/v1/recipients/{name}", {"email": f"{name}@example.com"})
    first, second, hers = await send("visitor", "k1"), await send("visitor", "k2"), await send("ada", "k2")
    await acme.ok("POST", "/v1/recipients/ada/merge", {"from": "visitor"})
    # Under either id it is the message of then; where both had one, hers stands.
    assert [await send("visitor", "k1"), await send("ada", "k1"), await send("visitor", "k2")] == [first, first, hers]
    assert await admin.fetchval("select count(*) from waypost.notifications") == 3
    assert second != hers


async def test_merging_twice_and_in_chains(acme: Any) -> None:
    for name in ("a", "b", "c"):
        await acme.ok("PUT", f"/v1/recipients/{name}", {"email": f"{name}@example.com"})
    await acme.ok("POST", "/v1/recipients/b/merge", {"from": "a"})
    await acme.ok("POST", "/v1/recipients/b/merge", {"from": "a"})
    await acme.ok("POST", "/v1/recipients/c/merge", {"from": "b"})
    for name in ("a", "b", "c"):
        assert (await acme.ok("GET", f"/v1/recipients/{name}"))["id"] == "c"
    assert len((await acme.ok("GET", "/v1/recipients/c"))["addresses"]) == 3
    assert await acme.refused("POST", "/v1/recipients/c/merge", {"from": "c"}) == (422, "same_recipient", ["/from"])
    assert await acme.refused("POST", "/v1/recipients/c/merge", {"from": "no"}) == (
        422,
        "unknown_recipient",
        ["/from"],
    )
    assert (await acme.refused("POST", "/v1/recipients/no/merge", {"from": "c"}))[0] == 404
    assert [one["id"] for one in (await acme.ok("GET", "/v1/recipients"))["items"]] == ["c"]


@pytest.mark.parametrize("named", ["target", "source"])
async def test_erasing_takes_all_that_was_merged_along(acme: Any, admin: Any, named: str) -> None:
    for name in ("source", "target"):
        await acme.ok("PUT", f"/v1/recipients/{name}", {"email": f"{name}@example.com"})
    await acme.ok("POST", "/v1/recipients/target/merge", {"from": "source"})
    certificate = await acme.ok("DELETE", f"/v1/recipients/{named}")
    assert certificate["destroyed"]["data_keys"] == 2
    assert await admin.fetchval("select count(data_key) from waypost.recipients") == 0
    for name in ("source", "target"):
        assert (await acme.refused("GET", f"/v1/recipients/{name}"))[0] == 404
        assert (await acme.refused("PUT", f"/v1/recipients/{name}", {}))[:2] == (409, "recipient_erased")
        assert (await acme.ok("DELETE", f"/v1/recipients/{name}"))["id"] == certificate["id"]


async def test_a_message_to_a_list_reaches_who_is_in_it(acme: Any, admin: Any) -> None:
    content = {"subject": "s", "text": "t"}
    await acme.ok("PUT", "/v1/lists/project-7", {})
    for name in ("u1", "u2"):
        await acme.ok("PUT", f"/v1/recipients/{name}", {"email": f"{name}@example.com"})
    to = {"list": "project-7"}
    assert (await acme.ok("POST", "/v1/notifications", {"to": to, "content": content}))["notifications"] == []
    await acme.ok("POST", "/v1/lists/project-7/members", {"add": ["u1", "u2"]})
    sent = await acme.ok("POST", "/v1/notifications", {"to": to, "content": content, "actor": "u2"})
    assert [one["recipient_id"] for one in sent["notifications"]] == ["u1"]
    for wrong in ({"list": "project-7", "id": "u1"}, ["u1", {"list": "project-7"}]):
        assert (await acme.refused("POST", "/v1/notifications", {"to": wrong, "content": content}))[1] == "list_alone"
    unknown = await acme.refused("POST", "/v1/notifications", {"to": {"list": "no"}, "content": content})
    assert unknown == (422, "unknown_list", ["/to/list"])
    await admin.execute(
        "insert into waypost.recipients (tenant_id, id, external_id, kind, data_key, created_at, updated_at)"
        " select 'acme', gen_random_uuid(), 'many-' || n, 'user', '', now(), now() from generate_series(1, 1000) n;"
        " insert into waypost.list_members (tenant_id, list_id, recipient_id, added_at)"
        " select 'acme', l.id, r.id, now() from waypost.lists l, waypost.recipients r where r.external_id ^@ 'many-'"
    )
    large = await acme.refused("POST", "/v1/notifications", {"to": to, "content": content})
    assert large == (422, "list_too_large", ["/to/list"])
