"""Tenants, keys and the audit log over HTTP."""

from typing import Any

from waypost.kernel.tenancy import Permission


async def test_a_platform_key_makes_tenants_and_their_keys(platform: Any) -> None:
    made = await platform.ok("POST", "/v1/tenants", {"id": "initech", "name": "Initech", "mode": "live"})
    assert (made["id"], made["mode"], made["status"], made["version"]) == ("initech", "live", "active", 1)
    key = await platform.ok(
        "POST", "/v1/api-keys", {"tenant_id": "initech", "name": "shop", "scopes": ["notifications:read"]}
    )
    assert key["secret"].startswith("wp_live_")
    listed = await platform.ok("GET", "/v1/api-keys?tenant_id=initech")
    assert [(one["id"], one["name"], one["scopes"]) for one in listed["items"]] == [
        (key["id"], "shop", ["notifications:read"])
    ]
    assert key["secret"] not in str(listed)
    assert [tenant["id"] for tenant in (await platform.ok("GET", "/v1/tenants"))["items"]] == ["initech"]


async def test_the_same_tenant_twice_is_a_conflict(platform: Any) -> None:
    body = {"id": "initech", "name": "Initech"}
    await platform.ok("POST", "/v1/tenants", body)
    assert await platform.refused("POST", "/v1/tenants", body) == (409, "tenant_exists", [])


async def test_bad_tenants_are_refused_by_field(platform: Any) -> None:
    for body, pointer in [
        ({"id": "A", "name": "x"}, "/id"),
        ({"id": "abc", "name": ""}, "/name"),
        ({"id": "abc", "name": "x", "mode": "prod"}, "/mode"),
        ({"id": "abc"}, "/name"),
        ({"id": "abc", "name": "x", "extra": 1}, "/extra"),
        ({"id": "abc", "name": "x", "status": "deleting"}, "/status"),
    ]:
        status, _, pointers = await platform.refused("POST", "/v1/tenants", body)
        assert (status, pointers) == (422, [pointer])
    assert (await platform.ok("GET", "/v1/tenants"))["items"] == []


async def test_an_etag_guards_a_change(platform: Any) -> None:
    await platform.ok("POST", "/v1/tenants", {"id": "initech", "name": "Initech"})
    seen = await platform("GET", "/v1/tenants/initech")
    etag = seen.headers["etag"]
    changed = await platform("PATCH", "/v1/tenants/initech", {"name": "Initrode"}, headers={"If-Match": etag})
    assert (changed.status_code, changed.json()["name"]) == (200, "Initrode")
    assert changed.headers["etag"] != etag
    late = await platform.refused("PATCH", "/v1/tenants/initech", {"name": "Late"}, headers={"If-Match": etag})
    assert late == (412, "precondition_failed", [])
    weak = await platform.refused("PATCH", "/v1/tenants/initech", {"name": "x"}, headers={"If-Match": 'W/"2"'})
    assert weak[0] == 412
    anyway = await platform("PATCH", "/v1/tenants/initech", {"name": "Anyway"}, headers={"If-Match": "*"})
    assert anyway.json()["name"] == "Anyway"


async def test_a_tenant_s_key_sees_its_own_tenant_and_no_other(acme: Any, globex: Any) -> None:
    assert (await acme.ok("GET", "/v1/tenants/acme"))["id"] == "acme"
    foreign = await acme("GET", "/v1/tenants/globex")
    unknown = await acme("GET", "/v1/tenants/nobody")
    assert foreign.status_code == unknown.status_code == 404
    assert _without_id(foreign.json()) == _without_id(unknown.json())
    assert await acme.refused("GET", "/v1/tenants") == (403, "missing_scope", [])


async def test_a_suspended_tenant_can_be_read_and_nothing_else(platform: Any, acme: Any) -> None:
    await platform.ok("PATCH", "/v1/tenants/acme", {"status": "suspended"})
    assert (await acme.ok("GET", "/v1/recipients"))["items"] == []
    assert await acme.refused("PUT", "/v1/recipients/u1", {"email": "a@example.com"}) == (403, "tenant_suspended", [])
    await platform.ok("PATCH", "/v1/tenants/acme", {"status": "deleting"})
    assert await acme.refused("GET", "/v1/recipients") == (403, "tenant_deleting", [])
    assert (await platform.refused("PATCH", "/v1/tenants/acme", {"status": "active"}))[:2] == (
        409,
        "illegal_transition",
    )


async def test_a_platform_key_acts_for_the_tenant_it_names(platform: Any, acme: Any) -> None:
    assert await platform.refused("GET", "/v1/recipients") == (403, "tenant_required", [])
    acting = platform.acting(**{"Waypost-Tenant": "acme"})
    await acting.ok("PUT", "/v1/recipients/u1", {"email": "a@example.com"})
    assert (await acme.ok("GET", "/v1/recipients/u1"))["id"] == "u1"
    newest = (await acme.ok("GET", "/v1/audit"))["items"][0]
    assert (newest["action"], newest["acting_as"]) == ("recipient.created", "acme")
    nobody = platform.acting(**{"Waypost-Tenant": "nobody"})
    assert (await nobody.refused("GET", "/v1/recipients"))[:2] == (404, "unknown_tenant")


async def test_the_tenant_header_of_a_tenant_s_key_may_only_repeat_it(acme: Any, globex: Any) -> None:
    assert (await acme.acting(**{"Waypost-Tenant": "acme"}).ok("GET", "/v1/recipients"))["items"] == []
    for other in ("globex", "nobody", "_platform", ""):
        refusal = await acme.acting(**{"Waypost-Tenant": other}).refused("GET", "/v1/recipients")
        assert refusal == (403, "other_tenant", [])


async def test_a_revoked_key_is_refused_at_once(platform: Any, acme: Any) -> None:
    reader = await acme.with_scopes("acme", Permission.RECIPIENTS_READ)
    await reader.ok("GET", "/v1/recipients")
    key_id = (await acme.ok("GET", "/v1/api-keys"))["items"][0]["id"]
    assert (await acme("DELETE", f"/v1/api-keys/{key_id}")).status_code == 204
    assert await reader.refused("GET", "/v1/recipients") == (401, "unauthenticated", [])
    assert (await acme("DELETE", f"/v1/api-keys/{key_id}")).status_code == 204


async def test_a_key_grants_no_more_than_it_has(acme: Any) -> None:
    keeper = await acme.with_scopes("acme", Permission.KEYS_MANAGE, Permission.RECIPIENTS_READ)
    wanted = {"name": "more", "scopes": ["recipients:read", "recipients:write"]}
    assert (await keeper.refused("POST", "/v1/api-keys", wanted))[:2] == (403, "scope_not_held")
    assert (await acme.refused("POST", "/v1/api-keys", {"name": "x", "scopes": ["tenants:act"]}))[1] == "platform_scope"
    unknown = await acme.refused("POST", "/v1/api-keys", {"name": "x", "scopes": ["recipients:read", "all"]})
    assert unknown == (422, "unknown_scope", ["/scopes/1"])
    past = {"name": "x", "scopes": ["recipients:read"], "expires_at": "2020-01-01T00:00:00Z"}
    assert await acme.refused("POST", "/v1/api-keys", past) == (422, "in_the_past", ["/expires_at"])


async def test_lists_come_in_pages(platform: Any) -> None:
    for number in range(5):
        await platform.ok("POST", "/v1/tenants", {"id": f"tenant-{number}", "name": "x"})
    seen: list[str] = []
    cursor = None
    while True:
        page = await platform.ok("GET", "/v1/tenants", params={"limit": "2"} | ({"cursor": cursor} if cursor else {}))
        assert len(page["items"]) <= 2
        seen += [tenant["id"] for tenant in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == [f"tenant-{number}" for number in range(5)]
    assert (await platform.refused("GET", "/v1/tenants?cursor=junk"))[1:] == ("invalid_cursor", ["/cursor"])
    for limit in ("0", "101", "many", "1.5"):
        status, _, pointers = await platform.refused("GET", f"/v1/tenants?limit={limit}")
        assert (status, pointers) == (422, ["/limit"])


def _without_id(problem: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in problem.items() if name != "request_id"}
