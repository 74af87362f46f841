"""What callers write in good faith, and rarely: times at the edge of the calendar, other offsets, fields in maps."""

from dataclasses import replace
from typing import Any

ADA = {"email": "ada@example.com", "timezone": "Europe/Vienna"}
CASE = {"recipient": "ada", "channel": "email", "category": "operational"}
AT_THE_EDGE = ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00")


async def test_explain_answers_in_utc_and_refuses_times_at_the_edge_of_the_calendar(acme: Any) -> None:
    await acme.ok("PUT", "/v1/recipients/ada", ADA)
    await acme.ok("PUT", "/v1/recipients/ada/preferences", {"quiet_hours": {"start": "22:00", "end": "07:00"}})
    found = await acme.ok("POST", "/v1/explain", {**CASE, "at": "2026-01-16T00:30:00+01:00"})
    assert (found["at"], found["until"]) == ("2026-01-15T23:30:00Z", "2026-01-16T06:00:00Z")
    for edge in AT_THE_EDGE:
        status, _, pointers = await acme.refused("POST", "/v1/explain", {**CASE, "at": edge})
        assert (status, pointers) == (422, ["/at"])


async def test_explain_says_that_posts_pass_no_gate(acme: Any) -> None:
    await acme.ok("PUT", "/v1/recipients/ada", ADA)
    note = (await acme.ok("POST", "/v1/explain", {**CASE, "channel": "inapp"}))["note"]
    assert "everyone" in note
    assert "filter" in note


async def test_a_suppression_whose_end_is_in_no_calendar_is_refused(acme: Any) -> None:
    new = {"channel": "email", "address": "a@example.com", "reason": "manual"}
    refused = await acme.refused("POST", "/v1/suppressions", {**new, "expires_at": "9999-12-31T23:59:59-14:00"})
    assert refused == (422, "invalid_time", ["/expires_at"])
    made = await acme.ok("POST", "/v1/suppressions", {**new, "expires_at": "9999-12-31T23:59:59Z"})
    assert made["expires_at"] == "9999-12-31T23:59:59Z"


async def test_a_suppression_is_found_by_address_channel_and_reason(acme: Any, globex: Any) -> None:
    for address, reason in (("a@example.com", "manual"), ("b@example.com", "complaint"), ("c@example.com", "manual")):
        await acme.ok("POST", "/v1/suppressions", {"channel": "email", "address": address, "reason": reason})
    await acme.ok("POST", "/v1/suppressions", {"channel": "sms", "address": "+436601234567", "reason": "manual"})

    async def found(query: str, caller: Any = acme) -> list[str]:
        return [one["address"][-11:] for one in (await caller.ok("GET", f"/v1/suppressions?{query}"))["items"]]

    assert len(await found("")) == 4
    assert len(await found("reason=manual")) == 3
    assert len(await found("reason=manual&channel=email")) == 2
    assert len(await found("channel=sms")) == 1
    assert await found("reason=hard_bounce") == []
    assert len(await found("address=B@Example.com")) == 1
    assert await found("address=b@example.com&reason=manual") == []
    assert len(await found("address=%2B43 660 1234567&channel=sms")) == 1
    assert await found("address=nobody@example.com") == []
    assert await found("address=b@example.com", globex) == []
    assert await acme.refused("GET", "/v1/suppressions?address=b") == (422, "invalid_address", ["/address"])
    first = await acme.ok("GET", "/v1/suppressions?reason=manual&limit=2")
    rest = await acme.ok("GET", f"/v1/suppressions?reason=manual&limit=2&cursor={first['next']}")
    assert (len(first["items"]), len(rest["items"]), rest["next"]) == (2, 1, None)


async def _reader(acme: Any, person: str = "ada") -> Any:
    await acme.ok("PUT", f"/v1/recipients/{person}", {})
    await acme.ok("PUT", "/v1/inboxes/main", {"title": "Main"})
    token = (await acme.ok("POST", f"/v1/recipients/{person}/token"))["token"]
    return replace(acme, key=token)


async def test_a_post_with_nulls_is_one_without_these_fields(acme: Any) -> None:
    ada = await _reader(acme)
    nothing = dict.fromkeys(("body", "cta_url", "actions", "data", "topic", "sender", "ttl"))
    new = {"audience": {"kind": "users", "recipients": ["ada"], "label": None}, "title": "T", **nothing}
    await acme.ok("POST", "/v1/inboxes/main/posts", new)
    [message] = (await ada.ok("GET", "/v1/me/inboxes/main/messages"))["items"]
    assert (message["body"], message["actions"], message["data"]) == ("", [], {})


async def test_an_opt_out_names_a_topic_that_is_there(acme: Any) -> None:
    path, address = "/v1/suppressions", "ada@example.com"
    for topic in ("nwes", "", "No topic's key"):
        refused = await acme("POST", path, {"address": address, "reason": "opt_out", "topic": topic})
        assert (refused.status_code, refused.json()["code"]) == (422, "unknown_topic")
        [fault] = refused.json()["errors"]
        assert (fault["pointer"], "PUT /v1/topics/{key}" in fault["message"]) == ("/topic", True)
    assert (await acme.ok("GET", path))["items"] == []
    await acme.ok("PUT", "/v1/topics/news", {"title": "News", "category": "marketing", "default": "opted_in"})
    made = await acme.ok("POST", path, {"address": address, "reason": "opt_out", "topic": "news"})
    assert made["topic"] == "news"
    everything = await acme.ok("POST", path, {"address": address, "reason": "opt_out"})
    assert everything["topic"] is None

    table = "address,reason,topic\na@example.com,opt_out,news\nb@example.com,opt_out,nwes\nc@example.com,opt_out,\n"
    taken = await acme.ok("POST", f"{path}/import", {"csv": table})
    assert (taken["taken"], taken["refused"]) == (2, 1)
    assert [(one["row"], one["code"]) for one in taken["faults"]] == [(2, "unknown_topic")]

    await acme("DELETE", "/v1/topics/news")
    assert {one["topic"] for one in (await acme.ok("GET", path))["items"]} == {"news", None}


async def test_messages_of_a_deleted_topic_can_still_be_listed(acme: Any) -> None:
    ada = await _reader(acme)
    await acme.ok("PUT", "/v1/topics/news", {"title": "News", "category": "marketing", "default": "opted_in"})
    users = {"kind": "users", "recipients": ["ada"]}
    await acme.ok("POST", "/v1/inboxes/main/posts", {"audience": users, "title": "T", "topic": "news"})
    await acme("DELETE", "/v1/topics/news")
    assert (await ada.ok("GET", "/v1/me/inboxes/main/counts"))["topics"] == {"news": {"unread": 1, "total": 1}}
    listed = await ada.ok("GET", "/v1/me/inboxes/main/messages?topic=news")
    assert [one["title"] for one in listed["items"]] == ["T"]
    refused = await ada.refused("GET", "/v1/me/inboxes/main/messages?topic=never")
    assert refused == (422, "unknown_topic", ["/topic"])


async def test_what_is_read_by_a_line_was_seen_and_the_line_may_be_called_after(acme: Any) -> None:
    ada = await _reader(acme)
    users = {"kind": "users", "recipients": ["ada"]}
    await acme.ok("POST", "/v1/inboxes/main/posts", {"audience": users, "title": "T"})
    drawn = await ada.ok("POST", "/v1/me/inboxes/main/read", {"after": "2999-01-01T00:00:00Z"})
    [message] = (await ada.ok("GET", "/v1/me/inboxes/main/messages"))["items"]
    assert message["seen_at"] == message["read_at"] == drawn["read_at"]
    await ada.ok("POST", "/v1/me/inboxes/main/read", {"before": "2999-01-02T00:00:00Z"})
    assert (await ada.ok("GET", "/v1/me/inboxes/main/messages"))["items"] == [message]
    both = {"before": "2999-01-01T00:00:00Z", "after": "2999-01-01T00:00:00Z"}
    assert (await ada.refused("POST", "/v1/me/inboxes/main/read", both))[1] == "either_or"


async def test_a_recipient_s_call_is_refused_in_a_recipient_s_words(acme: Any, globex: Any) -> None:
    ada = await _reader(acme)
    answer = await replace(ada, key="")("GET", "/v1/me/inboxes/main/counts")
    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_token")
    assert "wpr_" in answer.json()["detail"]
    foreign = ada.acting(**{"Waypost-Tenant": globex.tenant})
    assert (await foreign.refused("GET", "/v1/me/inboxes/main/counts"))[:2] == (403, "other_tenant")
    await ada.acting(**{"Waypost-Tenant": acme.tenant}).ok("GET", "/v1/me/inboxes/main/counts")


async def test_a_variable_that_would_break_a_header_is_named(acme: Any) -> None:
    await acme.ok("POST", "/v1/templates", {"key": "hi", "channel": "email", "category": "transactional"})
    words = {"subject": "Hi {{ name }}", "body": "<p>Hello {{ name }}, for {{ what }}</p>"}
    await acme.ok("POST", "/v1/templates/hi/email/versions", {"locales": {"en": words}})
    await acme.ok("POST", "/v1/templates/hi/email/versions/1.0.0/publish")
    to = {"to": {"email": "ada@example.com"}, "template": "hi"}
    bad = {"name": "x\r\nBcc: evil@example.com", "what": "tea"}
    refused = await acme.refused("POST", "/v1/notifications", {**to, "variables": bad})
    assert refused == (422, "header_refused", ["/variables/name"])
    await acme.ok("POST", "/v1/notifications", {**to, "variables": {"name": "Ada", "what": "tea\nand cake"}})


async def test_head_tells_what_get_would_and_shows_nothing(acme: Any, anonymous: Any) -> None:
    for client, path in (
        (anonymous, "/healthz"),
        (anonymous, "/readyz"),
        (anonymous, "/inbox.js"),
        (acme, "/v1/topics"),
    ):
        whole, head = await client("GET", path), await client("HEAD", path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-type"] == whole.headers["content-type"]
        assert head.headers["content-length"] == whole.headers["content-length"] != "0"
    assert (await anonymous("HEAD", "/v1/topics")).status_code == 401
    assert (await acme("HEAD", "/v1/notifications/bulk")).status_code == 405
    assert "HEAD" in (await acme("OPTIONS", "/v1/topics")).headers["allow"]
