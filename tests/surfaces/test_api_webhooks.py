"""Webhook endpoints over the API: shapes, refusals, the log, and what is shown once."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from standardwebhooks import Webhook

from waypost.kernel.tenancy import Permission

URL = "https://8.8.8.8/hooks?token=hush"
NEW = {"url": URL, "events": ["notification.*"], "description": "Orders"}


async def test_the_life_of_an_endpoint(acme: Any) -> None:
    made = await acme.ok("POST", "/v1/webhook-endpoints", NEW)
    assert list(made) == ["id", "secret"]
    assert made["id"].startswith("whe_")
    assert made["secret"].startswith("whsec_")
    Webhook(made["secret"])
    path = f"/v1/webhook-endpoints/{made['id']}"
    shown = await acme.ok("GET", path)
    assert shown["url"] == URL
    assert shown["status"] == "enabled"
    assert "secret" not in shown
    assert made["secret"] not in str(shown)
    assert [one["id"] for one in (await acme.ok("GET", "/v1/webhook-endpoints"))["items"]] == [made["id"]]

    changed = await acme.ok("PATCH", path, {"events": ["suppression.added"], "status": "disabled"})
    assert (changed["events"], changed["status"], changed["disabled_reason"]) == (
        ["suppression.added"], "disabled", "by_hand",
    )  # fmt: skip
    assert await acme.refused("POST", f"{path}/test") == (409, "endpoint_disabled", [])
    changed = await acme.ok("PATCH", path, {"status": "enabled"}, headers={"If-Match": '"2"'})
    assert (changed["status"], changed["disabled_reason"], changed["version"]) == ("enabled", None, 3)
    stale = await acme("PATCH", path, {"status": "disabled"}, headers={"If-Match": '"2"'})
    assert stale.status_code == 412

    assert (await acme.ok("PATCH", path, {"description": None}))["description"] == ""
    for name in ("url", "events", "status"):
        assert await acme.refused("PATCH", path, {name: None}) == (422, "wrong_type", [f"/{name}"])

    first = await acme.ok("POST", f"{path}/rotate-secret")
    assert first["secret"] != made["secret"]
    rotated = await acme.ok("POST", f"{path}/rotate-secret", {"overlap": "2h"})
    assert rotated["id"] == made["id"]
    assert rotated["secret"] != made["secret"]
    assert (await acme.ok("GET", path))["old_secret_until"] is not None
    at_once = await acme.ok("POST", f"{path}/rotate-secret", {"overlap": "0s"})
    assert at_once["secret"] != rotated["secret"]
    assert (await acme.ok("GET", path))["old_secret_until"] is None

    tested = await acme.ok("POST", f"{path}/test")
    assert (tested["type"], tested["status"], tested["attempts"]) == ("webhook_endpoint.test", "waiting", [])
    log = await acme.ok("GET", f"{path}/deliveries")
    assert [one["id"] for one in log["items"]] == [tested["id"]]
    assert (await acme.ok("GET", f"{path}/deliveries?status=delivered"))["items"] == []
    again = await acme.ok("POST", f"{path}/deliveries/{tested['id']}/retry")
    assert again["event_id"] == tested["event_id"]

    hour_ago = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    replay = await acme.ok("POST", f"{path}/replay", {"from": hour_ago})
    assert (replay["status"], replay["deliveries"]) == ("running", 0)
    assert [one["id"] for one in (await acme.ok("GET", f"{path}/replays"))["items"]] == [replay["id"]]

    await acme("DELETE", path)
    assert (await acme("GET", path)).status_code == 404
    actions = [entry["action"] for entry in (await acme.ok("GET", "/v1/audit?limit=100"))["items"]]
    for action in ("created", "changed", "secret_rotated", "tested", "replayed", "removed"):
        assert f"webhook_endpoint.{action}" in actions
    assert "webhook_delivery.retried" in actions
    assert "hush" not in str(await acme.ok("GET", "/v1/audit?limit=100"))


@pytest.mark.parametrize(
    ("change", "code", "pointer"),
    [
        ({"url": "http://8.8.8.8/"}, "url_not_https", "/url"),
        ({"url": "https://127.0.0.1/"}, "url_private", "/url"),
        ({"url": "https://10.0.0.1/"}, "url_private", "/url"),
        ({"url": "https://localhost/"}, "url_private", "/url"),
        ({"url": "https://nobody.invalid/"}, "url_unresolvable", "/url"),
        ({"url": "https://a:b@8.8.8.8/"}, "url_credentials", "/url"),
        ({"url": "https://8.8.8.8:25/"}, "url_port", "/url"),
        ({"url": "not a url"}, "invalid_url", "/url"),
        ({"url": "https://8.8.8.8/" + "x" * 2000}, "invalid_url", "/url"),
        ({"events": []}, "required", "/events"),
        ({"events": ["no.such"]}, "unknown_event", "/events/0"),
        ({"events": ["*"] * 51}, "too_many", "/events"),
        ({"description": "x" * 501}, "invalid_description", "/description"),
        ({"description": "a\nb"}, "invalid_description", "/description"),
    ],
)
async def test_bad_endpoints_are_refused_by_field_and_nothing_is_made(
    acme: Any, change: dict[str, Any], code: str, pointer: str
) -> None:
    assert await acme.refused("POST", "/v1/webhook-endpoints", NEW | change) == (422, code, [pointer])
    assert (await acme.ok("GET", "/v1/webhook-endpoints"))["items"] == []


async def test_bad_replays_and_rotations(acme: Any) -> None:
    made = await acme.ok("POST", "/v1/webhook-endpoints", NEW)
    path = f"/v1/webhook-endpoints/{made['id']}"
    now = datetime.now(UTC)
    for body in (
        {"from": (now + timedelta(hours=1)).isoformat()},
        {"from": (now - timedelta(days=8)).isoformat()},
        {"from": now.isoformat(), "to": (now - timedelta(hours=1)).isoformat()},
    ):
        assert await acme.refused("POST", f"{path}/replay", body) == (422, "out_of_range", ["/from"])
    assert await acme.refused("POST", f"{path}/rotate-secret", {"overlap": "soon"}) == (
        422, "invalid_duration", ["/overlap"],
    )  # fmt: skip
    assert await acme.refused("POST", f"{path}/rotate-secret", {"overlap": "8d"}) == (422, "out_of_range", ["/overlap"])
    body = {"from": (now - timedelta(minutes=1)).isoformat()}
    for _ in range(5):
        await acme.ok("POST", f"{path}/replay", body)
    assert await acme.refused("POST", f"{path}/replay", body) == (409, "too_many_replays", [])


async def test_a_tenant_has_so_many_endpoints_and_sees_no_other_s(acme: Any, globex: Any) -> None:
    ids = [(await acme.ok("POST", "/v1/webhook-endpoints", NEW))["id"] for _ in range(20)]
    assert await acme.refused("POST", "/v1/webhook-endpoints", NEW) == (409, "too_many_endpoints", [])
    assert (await globex.ok("GET", "/v1/webhook-endpoints"))["items"] == []
    for method, rest in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/deliveries"), ("POST", "/test")):
        answer = await globex(method, f"/v1/webhook-endpoints/{ids[0]}{rest}", {} if method == "PATCH" else None)
        assert answer.status_code == 404


async def test_reading_is_not_managing(acme: Any) -> None:
    made = await acme.ok("POST", "/v1/webhook-endpoints", NEW)
    reader = await acme.with_scopes("acme", Permission.WEBHOOKS_READ)
    assert (await reader.ok("GET", f"/v1/webhook-endpoints/{made['id']}"))["id"] == made["id"]
    assert (await reader("POST", f"/v1/webhook-endpoints/{made['id']}/rotate-secret", {})).status_code == 403


async def test_a_repeated_call_makes_one_endpoint_and_gives_the_same_secret(acme: Any) -> None:
    answers = [
        await acme.ok("POST", "/v1/webhook-endpoints", NEW, headers={"Idempotency-Key": "once"}) for _ in range(2)
    ]
    assert answers[0] == answers[1]
    assert len((await acme.ok("GET", "/v1/webhook-endpoints"))["items"]) == 1
