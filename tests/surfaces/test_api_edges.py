"""What callers write in good faith, and rarely: times at the edge of the calendar, other offsets, fields in maps."""

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
