"""`/v1/settings/limits`: what a tenant allows itself."""

from typing import Any

import pytest

PATH = "/v1/settings/limits"
LIMITS = {
    "tenant": {"minute": 1000},
    "channels": {"email": {"day": 50000}},
    "recipient": {"day": 20},
    "marketing_cap": {"max": 3, "per": "7d"},
}


async def test_limits_are_set_read_and_taken_back(acme: Any, globex: Any) -> None:
    assert await acme.ok("GET", PATH) == {}
    assert await acme.ok("PUT", PATH, LIMITS) == LIMITS
    assert await acme.ok("GET", PATH) == LIMITS
    assert await globex.ok("GET", PATH) == {}
    assert await acme.ok("PUT", PATH, {}) == {}
    assert await acme.ok("GET", PATH) == {}


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({"tenant": {"minute": 0}}, "/tenant/minute", "out_of_range"),
        ({"tenant": {"hour": 1}}, "/tenant/hour", "unknown_field"),
        ({"channels": {"pigeon": {"day": 1}}}, "/channels/pigeon", "unknown_value"),
        ({"marketing_cap": {"max": 101, "per": "7d"}}, "/marketing_cap/max", "out_of_range"),
        ({"marketing_cap": {"max": 1, "per": "week"}}, "/marketing_cap/per", "invalid_duration"),
        ({"marketing_cap": {"max": 1, "per": "91d"}}, "/marketing_cap/per", "out_of_range"),
        ({"marketing_cap": {"max": 1, "per": "-1d"}}, "/marketing_cap/per", "out_of_range"),
    ],
)
async def test_bad_limits_are_refused(acme: Any, body: object, pointer: str, code: str) -> None:
    assert await acme.refused("PUT", PATH, body) == (422, code, [pointer])
    assert await acme.ok("GET", PATH) == {}


async def test_setting_them_is_audited(acme: Any) -> None:
    await acme.ok("PUT", PATH, {"recipient": {"minute": 1}})
    audit = await acme.ok("GET", "/v1/audit")
    assert audit["items"][0]["action"] == "limits.changed"
    assert audit["items"][0]["detail"] == {"limits": {"recipient": {"minute": 1}}}
