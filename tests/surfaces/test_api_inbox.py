"""Inboxes over HTTP: posting with a key, reading with a recipient's token."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

MESSAGES = "/v1/me/inboxes/main/messages"


class Recipient:
    """Calls for one recipient, with their token."""

    def __init__(self, api: Any, token: str) -> None:
        self.api = api
        self.headers = {"Authorization": f"Bearer {token}"}

    async def ok(self, method: str, path: str, body: object = None, **options: Any) -> Any:
        return await self.api.ok(method, path, body, headers={**self.headers, **options.pop("headers", {})}, **options)

    async def refused(self, method: str, path: str, body: object = None, **options: Any) -> tuple[int, str, list[str]]:
        headers = {**self.headers, **options.pop("headers", {})}
        return await self.api.refused(method, path, body, headers=headers, **options)

    async def titles(self, query: str = "") -> list[str]:
        return [one["title"] for one in (await self.ok("GET", MESSAGES + query))["items"]]

    async def counts(self) -> Any:
        return await self.ok("GET", "/v1/me/inboxes/main/counts")


@pytest.fixture
async def visit(acme: Any, anonymous: Any) -> Any:
    await acme.ok("PUT", "/v1/inboxes/main", {"title": "Notifications", "ttl": {"default": "30d"}})
    await acme.ok("PUT", "/v1/topics/billing", {"title": "Billing", "category": "transactional", "default": "opted_in"})

    async def come(name: str) -> Recipient:
        await acme.ok("PUT", f"/v1/recipients/{name}", {})
        issued = await acme.ok("POST", f"/v1/recipients/{name}/token", {})
        assert issued["token"].startswith("wpr_")
        return Recipient(anonymous, issued["token"])

    return come


async def post(acme: Any, title: str, *recipients: str, **more: Any) -> str:
    audience = {"kind": "users", "recipients": list(recipients)} if recipients else {"kind": "everyone"}
    body = {"audience": audience, "title": title, **more}
    return (await acme.ok("POST", "/v1/inboxes/main/posts", body))["id"]


async def test_own_and_public_messages_make_one_feed(acme: Any, visit: Any) -> None:
    jane, max_ = await visit("jane"), await visit("max")
    first = await post(acme, "For all", topic="billing", body="Hello", cta_url="/bills", data={"n": 1}, sender="Us")
    second = await post(acme, "For Jane", "jane")
    assert await jane.titles() == ["For Jane", "For all"]
    assert await max_.titles() == ["For all"]
    assert await jane.counts() == {"unread": 2, "total": 2, "topics": {"billing": {"unread": 1, "total": 1}}}
    page = await jane.ok("GET", MESSAGES + "?limit=1")
    assert [one["id"] for one in page["items"]] == [second]
    rest = await jane.ok("GET", MESSAGES + f"?limit=1&cursor={page['next']}")
    shown = rest["items"][0]
    assert (shown["id"], shown["body"], shown["cta_url"], shown["data"], shown["sender"], shown["topic"]) == (
        first, "Hello", "/bills", {"n": 1}, "Us", "billing",
    )  # fmt: skip
    assert rest["next"] is None
    assert await max_.refused("GET", f"{MESSAGES}/{second}") == (404, "unknown_message", [])


async def test_an_inbox_tells_how_much_stands_in_it(acme: Any, visit: Any) -> None:
    jane = await visit("jane")
    await visit("max")
    gone = await post(acme, "Taken back", "jane", "max")
    await acme.ok("DELETE", f"/v1/inboxes/main/posts/{gone}")
    await post(acme, "For all")
    both = await post(acme, "For two", "jane", "max")
    archived = await post(acme, "For Jane", "jane")
    figures = (await acme.ok("GET", "/v1/inboxes/main"))["figures"]
    assert figures == {"posts": 3, "copies": 3, "unread": 3, "is_partial": False}
    await jane.ok("POST", "/v1/me/inboxes/main/archive", {"ids": [archived]})
    await jane.ok("POST", "/v1/me/inboxes/main/read", {"before": both})
    figures = (await acme.ok("GET", "/v1/inboxes/main"))["figures"]
    assert figures == {"posts": 3, "copies": 2, "unread": 1, "is_partial": False}


async def test_reading_counts_once_and_keeps_its_first_time(acme: Any, visit: Any) -> None:
    jane = await visit("jane")
    message = await post(acme, "One")
    first = await jane.ok("POST", "/v1/me/inboxes/main/read", {"ids": [message]})
    again = await jane.ok("POST", "/v1/me/inboxes/main/read", {"ids": [message, message]})
    assert first["items"][0]["read_at"] == again["items"][0]["read_at"]
    assert (await jane.counts())["unread"] == 0
    assert (await jane.ok("GET", f"{MESSAGES}/{message}"))["read_at"] == first["items"][0]["read_at"]
    await jane.ok("POST", "/v1/me/inboxes/main/unread", {"ids": [message]})
    assert (await jane.counts())["unread"] == 1
    assert await jane.titles("?unread=true") == ["One"]


async def test_everything_before_a_point_and_what_comes_later(acme: Any, visit: Any) -> None:
    jane = await visit("jane")
    for title in ("One", "Two"):
        last = await post(acme, title)
    await post(acme, "Three", "jane")
    marked = await jane.ok("POST", "/v1/me/inboxes/main/read", {"before": last})
    assert await jane.titles("?unread=true") == ["Three"]
    assert (await jane.ok("GET", f"{MESSAGES}/{last}"))["read_at"] == marked["read_at"]
    soon = (datetime.now(UTC) + timedelta(minutes=1)).isoformat()
    await jane.ok("POST", "/v1/me/inboxes/main/read", {"before": soon})
    assert await jane.counts() == {"unread": 0, "total": 3, "topics": {}}
    await post(acme, "Four")
    assert (await jane.counts())["unread"] == 1
    assert (await jane.ok("GET", f"{MESSAGES}/{last}"))["read_at"] == marked["read_at"]


async def test_archive_snooze_pin_and_click_are_facts_of_their_own(acme: Any, visit: Any) -> None:
    jane = await visit("jane")
    one, two, three = [await post(acme, title) for title in ("One", "Two", "Three")]
    await jane.ok("POST", "/v1/me/inboxes/main/archive", {"ids": [one]})
    until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    await jane.ok("POST", "/v1/me/inboxes/main/snooze", {"ids": [two], "until": until})
    await jane.ok("POST", "/v1/me/inboxes/main/pin", {"ids": [three]})
    await jane.ok("POST", "/v1/me/inboxes/main/click", {"ids": [three]})
    assert await jane.titles() == ["Three"]
    assert await jane.titles("?archived=true") == ["One"]
    assert await jane.titles("?snoozed=true") == ["Two"]
    assert await jane.titles("?pinned=true") == ["Three"]
    assert await jane.counts() == {"unread": 1, "total": 1, "topics": {}}
    shown = await jane.ok("GET", f"{MESSAGES}/{three}")
    assert [shown[name] is None for name in ("clicked_at", "pinned_at", "read_at")] == [False, False, True]
    await jane.ok("POST", "/v1/me/inboxes/main/unarchive", {"ids": [one]})
    await jane.ok("POST", "/v1/me/inboxes/main/unsnooze", {"ids": [two]})
    assert (await jane.counts())["unread"] == 3


async def test_a_post_is_taken_back_from_every_feed(acme: Any, visit: Any) -> None:
    jane, max_ = await visit("jane"), await visit("max")
    public, own = await post(acme, "Public"), await post(acme, "Own", "jane", "max")
    await jane.ok("POST", "/v1/me/inboxes/main/read", {"ids": [public]})
    reach = (await acme.ok("GET", f"/v1/inboxes/main/posts/{own}"))["reach"]
    assert reach == {"delivered": 2, "seen": 0, "read": 0}
    assert (await acme.ok("GET", f"/v1/inboxes/main/posts/{public}"))["reach"] == {"delivered": 2, "seen": 1, "read": 1}
    for one in (public, own, own):
        await acme.ok("DELETE", f"/v1/inboxes/main/posts/{one}")
    for person in (jane, max_):
        assert await person.titles() == []
        assert await person.counts() == {"unread": 0, "total": 0, "topics": {}}
    listed = (await acme.ok("GET", "/v1/inboxes/main/posts"))["items"]
    assert [(one["title"], one["redacted_at"] is not None) for one in listed] == [(None, True), (None, True)]


async def test_lists_and_filters_are_frozen_at_the_moment_of_the_post(acme: Any, visit: Any) -> None:
    jane, max_ = await visit("jane"), await visit("max")
    await acme.ok("PUT", "/v1/recipients/jane", {"tags": ["vip"]})
    await acme.ok(
        "POST",
        "/v1/inboxes/main/posts",
        {"audience": {"kind": "filter", "filter": {"all_tags": ["vip"]}, "label": "our best"}, "title": "Dear"},
    )
    await acme.ok("PUT", "/v1/recipients/max", {"tags": ["vip"]})
    assert (await jane.titles(), await max_.titles()) == (["Dear"], [])
    nobody = {"audience": {"kind": "filter", "filter": {"any_tags": ["none"]}}, "title": "x"}
    assert (await acme.refused("POST", "/v1/inboxes/main/posts", nobody))[1] == "empty_audience"


async def test_what_a_post_may_not_be(acme: Any, visit: Any) -> None:
    jane = await visit("jane")
    refused = [
        ({"audience": {"kind": "users"}, "title": "x"}, "invalid_audience"),
        ({"audience": {"kind": "everyone", "recipients": ["jane"]}, "title": "x"}, "invalid_audience"),
        ({"audience": {"kind": "users", "recipients": ["nobody"]}, "title": "x"}, "unknown_recipient"),
        ({"audience": {"kind": "list", "list": "none"}, "title": "x"}, "unknown_list"),
        ({"audience": {"kind": "everyone"}, "title": ""}, "invalid_title"),
        ({"audience": {"kind": "everyone"}, "title": "<b></b>"}, "invalid_title"),
        ({"audience": {"kind": "everyone"}, "title": "x", "topic": "*"}, "unknown_topic"),
        ({"audience": {"kind": "everyone"}, "title": "x", "topic": "no-such"}, "unknown_topic"),
        ({"audience": {"kind": "everyone"}, "title": "x", "ttl": "731d"}, "invalid_ttl"),
        ({"audience": {"kind": "everyone"}, "title": "x", "ttl": "0s"}, "invalid_ttl"),
        ({"audience": {"kind": "everyone"}, "title": "x", "cta_url": "javascript:alert(1)"}, "invalid_url"),
        ({"audience": {"kind": "everyone"}, "title": "x", "cta_url": "//evil.example"}, "invalid_url"),
        ({"audience": {"kind": "everyone"}, "title": "x", "body": "y" * 10_001}, "too_large"),
        ({"audience": {"kind": "everyone"}, "title": "x", "data": {"a": "y" * 9_000}}, "too_large"),
        ({"audience": {"kind": "users", "recipients": ["x"] * 1_001}, "title": "x"}, "audience_too_large"),
    ]
    for body, code in refused:
        status, found, _ = await acme.refused("POST", "/v1/inboxes/main/posts", body)
        assert (status, found) == (422, code), body
    assert (await acme.refused("POST", "/v1/inboxes/none/posts", refused[0][0] | {"audience": {"kind": "everyone"}}))[
        1
    ] == "unknown_inbox"
    for key in ("a%23b", "$public", "*", "A", "-x"):
        assert (await acme.refused("PUT", f"/v1/inboxes/{key}", {"title": "x"}))[1] == "invalid_key"
    assert await jane.counts() == {"unread": 0, "total": 0, "topics": {}}


async def test_script_is_taken_out(acme: Any, visit: Any) -> None:
    jane = await visit("jane")
    await post(
        acme, "<script>alert(1)</script>Hi <b>there</b>", body='<scr<script>ipt>x</script><img src=x onerror="y"'
    )
    shown = (await jane.ok("GET", MESSAGES))["items"][0]
    assert shown["title"] == "Hi there"
    assert "<" not in shown["body"]


async def test_bad_reads_change_nothing(acme: Any, visit: Any) -> None:
    jane, max_ = await visit("jane"), await visit("max")
    own = await post(acme, "Max's", "max")
    unknown = "pst_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q"
    read = "/v1/me/inboxes/main/read"
    for body, answer in (
        ({"ids": [own]}, (404, "unknown_message", [])),
        ({"ids": [unknown]}, (404, "unknown_message", [])),
        ({"ids": ["nonsense"]}, (422, "invalid_id", ["/ids/0"])),
        ({"before": "yesterday"}, (422, "invalid_before", ["/before"])),
        ({}, (422, "either_or", ["/before"])),
        ({"ids": [own], "before": own}, (422, "either_or", ["/before"])),
    ):
        assert await jane.refused("POST", read, body) == answer
    assert (await jane.refused("POST", read, {"ids": [unknown] * 101}))[0] == 422
    assert (await jane.refused("GET", MESSAGES + "?cursor=zzz"))[1] == "invalid_cursor"
    assert (await jane.refused("GET", MESSAGES + "?topic=none"))[1] == "unknown_topic"
    assert (await jane.refused("GET", "/v1/me/inboxes/none/counts"))[1] == "unknown_inbox"
    past = {"ids": [own], "until": "2020-01-01T00:00:00Z"}
    assert (await max_.refused("POST", "/v1/me/inboxes/main/snooze", past))[1] == "out_of_range"
    some = await jane.api.ok("POST", read, {"ids": [own, unknown]}, headers=max_.headers)
    assert ([one["id"] for one in some["items"]], some["missing"]) == ([own], [unknown])


async def test_tokens_open_only_what_is_theirs(acme: Any, globex: Any, anonymous: Any, visit: Any) -> None:
    jane = await visit("jane")
    await post(acme, "Hello")
    await globex.ok("PUT", "/v1/inboxes/main", {"title": "Other"})
    await globex.ok("PUT", "/v1/recipients/jane", {})
    token = (await globex.ok("POST", "/v1/recipients/jane/token", {}))["token"]
    other = Recipient(anonymous, token)
    assert await other.titles() == []
    me = await jane.ok("GET", "/v1/me")
    assert (me["recipient"], [one["key"] for one in me["inboxes"]]) == ("jane", ["main"])
    forged = token[:-2] + ("AA" if token[-2:] != "AA" else "BB")
    for bearer in (forged, acme.key, "wpr_x", "wph_x", token.replace("wpr_", "wph_")):
        status, code, _ = await Recipient(anonymous, bearer).refused("GET", "/v1/me")
        assert (status, code) == (401, "invalid_token")
    assert (await anonymous.refused("GET", "/v1/recipients/jane", headers=jane.headers))[0] == 401
    await acme.ok("DELETE", "/v1/recipients/jane/token")
    assert (await jane.refused("GET", "/v1/me"))[:2] == (401, "invalid_token")
    assert (await acme.refused("POST", "/v1/recipients/nobody/token", {}))[0] == 404
    assert (await acme.refused("POST", "/v1/recipients/jane/token?expires_in=2d"))[1] == "out_of_range"


async def test_an_id_proved_by_its_hmac(acme: Any, anonymous: Any, visit: Any) -> None:
    await visit("jane")

    def proof(secret: str, name: str) -> Recipient:
        named = base64.urlsafe_b64encode(f"acme\n{name}".encode()).decode().rstrip("=")
        signed = hmac.new(secret.encode(), name.encode(), hashlib.sha256).hexdigest()
        return Recipient(anonymous, f"wph_{named}.{signed}")

    assert (await proof("", "jane").refused("POST", "/v1/me/token"))[1] == "invalid_token"
    secret = (await acme.ok("POST", "/v1/inbox-settings/identity-secret"))["secret"]
    issued = await proof(secret, "jane").ok("POST", "/v1/me/token")
    assert await Recipient(anonymous, issued["token"]).titles() == []
    assert (await proof(secret, "jane").refused("GET", "/v1/me"))[1] == "invalid_token"
    assert (await proof(secret[:-1] + "z", "jane").refused("POST", "/v1/me/token"))[1] == "invalid_token"
    assert (await proof(secret, "nobody").refused("POST", "/v1/me/token"))[1] == "invalid_token"
    await acme.ok("DELETE", "/v1/inbox-settings/identity-secret")
    assert (await proof(secret, "jane").refused("POST", "/v1/me/token"))[1] == "invalid_token"


async def test_pages_of_other_sites_only_where_the_tenant_allows_them(acme: Any, anonymous: Any, visit: Any) -> None:
    jane = await visit("jane")
    site = {"Origin": "https://app.example.com"}
    assert (await jane.refused("GET", MESSAGES, headers=site))[:2] == (403, "origin_not_allowed")
    await acme.ok("PATCH", "/v1/inbox-settings", {"allowed_origins": [site["Origin"]]})
    answer = await anonymous("GET", MESSAGES, headers={**jane.headers, **site})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, site["Origin"])
    asked = await anonymous.client.options(MESSAGES, headers={**site, "Access-Control-Request-Method": "GET"})
    assert asked.headers["access-control-allow-headers"] == "authorization, content-type, last-event-id"
    assert "access-control-allow-origin" not in (await anonymous.client.options("/v1/inboxes", headers=site)).headers
    for wrong in ("https://x/y", "ftp://x", "*"):
        assert (await acme.refused("PATCH", "/v1/inbox-settings", {"allowed_origins": [wrong]}))[1] == "invalid_origin"


async def test_newcomers_see_what_the_tenant_says(acme: Any, visit: Any) -> None:
    await post(acme, "Old")
    assert await (await visit("later")).titles() == []
    await acme.ok("PATCH", "/v1/inbox-settings", {"visible_since": "always"})
    assert await (await visit("latest")).titles() == ["Old"]
    assert (await acme.ok("GET", "/v1/inbox-settings"))["visible_since"] == "always"


async def test_erasing_a_person_takes_their_messages(acme: Any, visit: Any, app: Any) -> None:
    jane = await visit("jane")
    own = await post(acme, "Secret", "jane")
    await jane.ok("POST", "/v1/me/inboxes/main/read", {"ids": [await post(acme, "Public")]})
    await acme("DELETE", "/v1/recipients/jane")
    assert (await jane.refused("GET", "/v1/me"))[0] == 401
    shown = await acme.ok("GET", f"/v1/inboxes/main/posts/{own}")
    assert (shown["title"], shown["reach"]["delivered"]) == (None, 0)


async def test_the_stream_of_the_main_port_tells_what_was_missed(acme: Any, anonymous: Any, visit: Any) -> None:
    jane = await visit("jane")
    stream = "/v1/me/inboxes/main/stream"

    async def events(query: str = "") -> tuple[list[str], str]:
        answer = await anonymous.client.get(stream + query, headers=jane.headers)
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.text.splitlines()
        marks = [line.removeprefix("id: ") for line in lines if line.startswith("id: ")]
        return [line.removeprefix("event: ") for line in lines if line.startswith("event: ")], marks[-1]

    seen, mark = await events()
    assert seen == ["hello", "counts"]
    public = await post(acme, "Public")
    await post(acme, "Own", "jane")
    await jane.ok("POST", "/v1/me/inboxes/main/read", {"ids": [public]})
    await jane.ok("POST", "/v1/me/inboxes/main/read", {"before": public})
    seen, later = await events(f"?last_event_id={mark}")
    assert seen == ["hello", "message", "message", "change", "read_all", "counts"]
    assert (await events(f"?last_event_id={later}"))[0] == ["hello", "counts"]
    assert (await events("?last_event_id=999-999"))[0] == ["hello", "reset", "counts"]
    assert (await jane.refused("GET", stream + "?last_event_id=x"))[1] == "invalid_cursor"


async def test_a_visitor_s_messages_go_on_with_whom_they_became(acme: Any, visit: Any) -> None:
    visitor, ada = await visit("visitor"), await visit("ada")
    await post(acme, "For all")
    both = await post(acme, "For both", "visitor", "ada")
    read = await post(acme, "Read by the visitor", "visitor", topic="billing")
    await post(acme, "Not yet read", "visitor", body="Hello")
    gone = await post(acme, "Taken back", "visitor")
    await acme.ok("DELETE", f"/v1/inboxes/main/posts/{gone}")
    await visitor.ok("POST", "/v1/me/inboxes/main/read", {"before": read})
    await ada.ok("POST", "/v1/me/inboxes/main/read", {"ids": [both]})
    first = (await ada.ok("GET", MESSAGES))["items"][0]["read_at"]
    before = await visitor.ok("GET", MESSAGES)

    await acme.ok("POST", "/v1/recipients/ada/merge", {"from": "visitor"})

    page = (await ada.ok("GET", MESSAGES))["items"]
    assert [(one["title"], one["read_at"] is not None) for one in page] == [
        ("Not yet read", False),
        ("Read by the visitor", True),
        ("For both", True),
        ("For all", False),
    ]
    assert page[0]["body"] == "Hello"
    assert page[2]["read_at"] <= first
    assert page[1]["read_at"] == before["items"][1]["read_at"]
    assert await ada.counts() == {
        "unread": 2,
        "total": 4,
        "topics": {"billing": {"unread": 0, "total": 1}},
    }
    # The visitor's own token speaks for Ada now; once more changes nothing.
    await acme.ok("POST", "/v1/recipients/ada/merge", {"from": "visitor"})
    assert await visitor.titles() == await ada.titles()
    await ada.ok("POST", "/v1/me/inboxes/main/read", {"before": page[0]["id"]})
    assert (await ada.counts())["unread"] == 0
