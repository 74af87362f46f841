"""7. What is unique is unique within a tenant: a collision with another tenant's value is no error and no hint."""

from typing import Any


async def test_every_unique_value_of_one_tenant_may_also_be_another_s(two_tenants: None, wall: Any) -> None:
    for table, row in wall.rows_of(wall.OWN).items():
        if table in ("tenants", "outbox"):
            continue
        first = dict(await wall.admin.fetchrow(f"select * from {table} where tenant_id = $1", wall.OWN))
        if table == "api_keys":
            await wall.insert(wall.admin, "tenants", wall.rows_of("tenant-three")["tenants"])
        await wall.insert(wall.admin, table, {key: first[key] for key in row} | {"tenant_id": "tenant-three"})


WORDS = {"locales": {"en": {"subject": "s", "body": "the same {{ unsubscribe_url }}", "format": "text"}}}
CALLS: list[tuple[str, str, Any]] = [
    ("PUT", "/v1/recipients/twin", {"email": "twin@hush.example", "attributes": {"a": 1}}),
    ("POST", "/v1/templates", {"key": "twin", "name": "n", "category": "marketing"}),
    ("POST", "/v1/templates/twin/email/versions", WORDS),
    ("POST", "/v1/templates/twin/email/versions/1.0.0/publish", None),
    ("POST", "/v1/suppressions", {"address": "twin-no@hush.example"}),
    ("POST", "/v1/notifications", {"to": "twin", "content": {"subject": "s", "text": "the same, inline"}}),
    ("POST", "/v1/notifications", {"to": {"email": "twin@hush.example"}, "template": "twin"}),
    ("POST", "/v1/notifications", {"to": {"id": "twin-no", "email": "twin-no@hush.example"}, "template": "twin"}),
    ("POST", "/v1/api-keys", {"name": "twin", "scopes": ["recipients:read"]}),
    ("PATCH", "/v1/recipients/twin", {"attributes": {"a": 2}}),
    ("DELETE", "/v1/recipients/twin", None),
]


def outline(answer: Any) -> Any:
    """An answer without what is minted for it."""
    if isinstance(answer, dict):
        minted = {"id", "request_id", "created_at", "updated_at", "published_at", "secret", "hint", "source"}
        if "destroyed_keys" in answer:  # a certificate names whom and when it is about, and is signed
            minted |= {"tenant", "subject", "recipient", "erased_at", "erased_by", "destroyed_keys", "signature"}
        return {name: outline(value) for name, value in answer.items() if name not in minted}
    return [outline(one) for one in answer] if isinstance(answer, list) else answer


def test_the_same_calls_with_the_same_keys_are_answered_alike_in_three_tenants(fortress: Any) -> None:
    stories: list[list[Any]] = []
    for name in ("oracle-one", "oracle-two", "oracle-three"):
        caller = fortress.tenant(name)
        story: list[Any] = []
        for number, (method, path, body) in enumerate(CALLS):
            extra = {"Idempotency-Key": f"the-same-{number}"} if method == "POST" else {}
            answer = caller(method, path, body, **extra)
            assert answer.is_success, (name, path, answer.text)
            assert "idempotency-replayed" not in answer.headers, "the answer of another tenant's call"
            story.append(outline(answer.json()) if answer.content else None)
            if "secret" in answer.text:
                fortress.secrets.append(answer.json()["secret"])
        # One key, another body: refused for what the tenant itself did before, and for nothing else.
        again = caller("POST", "/v1/templates", {"key": "other", "name": "n", "category": "system"},
                       **{"Idempotency-Key": "the-same-1"})  # fmt: skip
        assert (again.status_code, again.json()["code"]) == (422, "idempotency_key_reused")
        stories.append(story)
    assert stories[0] == stories[1] == stories[2]


def test_a_tenant_s_suppression_silences_nobody_else_s_mail(fortress: Any) -> None:
    loud, quiet = fortress.tenant("oracle-loud"), fortress.tenant("oracle-quiet")
    quiet.ok("POST", "/v1/suppressions", {"address": "shared@hush.example", "reason": "complaint"})
    message = {"to": {"email": "shared@hush.example"}, "content": {"subject": "s", "text": "t"}}
    assert quiet.ok("POST", "/v1/notifications", message)["notifications"][0]["status"] == "suppressed"
    assert loud.ok("POST", "/v1/notifications", message)["notifications"][0]["status"] == "queued"


def test_a_taken_tenant_id_is_only_the_platform_s_to_see(fortress: Any, wall_a: Any) -> None:
    body = {"id": "wall-a", "name": "n"}
    assert wall_a("POST", "/v1/tenants", body).json()["code"] == "missing_scope"
    assert wall_a("POST", "/v1/tenants", body | {"id": "no-such"}).json()["code"] == "missing_scope"
    assert fortress.platform("POST", "/v1/tenants", body).json()["code"] == "tenant_exists"
