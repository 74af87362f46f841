"""Idempotency-Key on every POST: one effect, one answer."""

import asyncio
from typing import Any

from waypost.kernel.errors import Unavailable

BODY = {"id": "initech", "name": "Initech"}


async def test_the_same_call_again_gets_the_same_bytes(platform: Any) -> None:
    headers = {"Idempotency-Key": "k-1"}
    first = await platform("POST", "/v1/tenants", BODY, headers=headers)
    again = await platform("POST", "/v1/tenants", BODY, headers=headers)
    assert first.status_code == again.status_code == 201
    assert first.content == again.content
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert len((await platform.ok("GET", "/v1/tenants"))["items"]) == 1


async def test_a_secret_is_shown_again_to_the_same_call_only(acme: Any) -> None:
    body = {"name": "shop", "scopes": ["recipients:read"]}
    first = await acme("POST", "/v1/api-keys", body, headers={"Idempotency-Key": "k-1"})
    again = await acme("POST", "/v1/api-keys", body, headers={"Idempotency-Key": "k-1"})
    assert first.json() == again.json()
    assert len((await acme.ok("GET", "/v1/api-keys"))["items"]) == 2


async def test_the_same_key_for_another_call_is_refused(platform: Any) -> None:
    headers = {"Idempotency-Key": "k-1"}
    await platform.ok("POST", "/v1/tenants", BODY, headers=headers)
    other = await platform.refused("POST", "/v1/tenants", BODY | {"name": "Other"}, headers=headers)
    assert other[:2] == (422, "idempotency_key_reused")
    key = {"name": "x", "scopes": ["audit:read"]}
    assert (await platform.refused("POST", "/v1/api-keys", key, headers=headers))[:2] == (422, "idempotency_key_reused")


async def test_a_refused_call_leaves_its_key_free(platform: Any) -> None:
    headers = {"Idempotency-Key": "k-1"}
    assert (await platform.refused("POST", "/v1/tenants", BODY | {"id": "NO"}, headers=headers))[0] == 422
    assert (await platform("POST", "/v1/tenants", BODY, headers=headers)).status_code == 201


async def test_a_call_that_breaks_leaves_neither_effect_nor_key(platform: Any, monkeypatch: Any) -> None:
    keep = platform.app.idempotency.keep

    async def broken(*_args: object) -> None:
        raise Unavailable("gone")

    monkeypatch.setattr(platform.app.idempotency, "keep", broken)
    assert (await platform.refused("POST", "/v1/tenants", BODY, headers={"Idempotency-Key": "k"}))[0] == 503
    monkeypatch.setattr(platform.app.idempotency, "keep", keep)
    assert (await platform.ok("GET", "/v1/tenants"))["items"] == []
    answer = await platform("POST", "/v1/tenants", BODY, headers={"Idempotency-Key": "k"})
    assert (answer.status_code, "idempotency-replayed" in answer.headers) == (201, False)


async def test_twins_have_one_effect_and_one_answer(platform: Any) -> None:
    twins = await asyncio.gather(
        *(platform("POST", "/v1/tenants", BODY, headers={"Idempotency-Key": "k-1"}) for _ in range(5))
    )
    assert {twin.status_code for twin in twins} == {201}
    assert len({twin.content for twin in twins}) == 1
    assert sum("idempotency-replayed" in twin.headers for twin in twins) == 4
    created = [
        entry for entry in (await platform.ok("GET", "/v1/audit"))["items"] if entry["action"] == "tenant.created"
    ]
    assert len(created) == 1


async def test_keys_of_two_tenants_do_not_meet(acme: Any, globex: Any) -> None:
    body = {"key": "t", "name": "T", "category": "marketing"}
    for caller in (acme, globex):
        answer = await caller("POST", "/v1/templates", body, headers={"Idempotency-Key": "k-1"})
        assert (answer.status_code, "idempotency-replayed" in answer.headers) == (201, False)


async def test_a_bad_key_is_refused(platform: Any) -> None:
    for key in ("", "x" * 256, "caf\u00e9".encode("latin-1")):
        refusal = await platform.refused("POST", "/v1/tenants", BODY, headers={"Idempotency-Key": key})
        assert refusal[:2] == (400, "invalid_idempotency_key")
