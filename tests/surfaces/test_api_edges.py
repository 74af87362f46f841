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
