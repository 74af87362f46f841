"""A walk over every route: who may not enter does not, junk never breaks anything, foreign ids do not exist."""

import re
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from waypost.api.app import ALL_ENDPOINTS
from waypost.api.endpoint import Endpoint
from waypost.kernel.errors import Unavailable
from waypost.kernel.tenancy import PLATFORM_ONLY, Permission

ULID = "01KF0M7Q8Z6Y5X4W3V2T1S0R9Q"
PREFIXES = {"notifications": "ntf", "requests": "req", "api-keys": "key", "suppressions": "sup", "mailbox": "mbx",
            "jobs": "job", "imports": "job", "exports": "job",
            "sender-accounts": "acc", "domains": "dom",
            "webhook-endpoints": "whe", "pauses": "pau", "alerts": "alr", "alert-targets": "alt",
            "triggers": "trg", "timers": "tmr", "events": "evf"}  # fmt: skip
SAMPLES = {
    "delivery_id": f"whd_{ULID}", "key": "order-paid", "channel": "email", "semver": "1.0.0",
    "address_id": f"adr_{ULID}", "tag": "vip", "inbox": "main", "post": f"pst_{ULID}",
}  # fmt: skip


@pytest.fixture
async def caller_of(platform: Any, acme: Any) -> Callable[[Endpoint], Any]:
    """Whoever may call an endpoint: the platform, a tenant, or a recipient with their token."""
    await acme.ok("PUT", "/v1/inboxes/main", {"title": "Main"})
    await acme.ok("PUT", "/v1/recipients/walker", {})
    visitor = replace(acme, key=(await acme.ok("POST", "/v1/recipients/walker/token", {}))["token"])

    def choose(endpoint: Endpoint) -> Any:
        if endpoint.permission in PLATFORM_ONLY:
            return platform
        return acme if endpoint.caller == "key" else visitor

    return choose


def path_of(endpoint: Endpoint, **given: str) -> str:
    prefix = PREFIXES.get(endpoint.area)
    samples = SAMPLES | {"id": f"{prefix}_{ULID}" if prefix else "nobody"} | given
    return re.sub(r"{(\w+)}", lambda match: samples[match[1]], endpoint.path)


# Only a proof opens the one that is left out, and nothing of it is read before.
ENTERED = [endpoint for endpoint in ALL_ENDPOINTS if endpoint.caller != "proof"]


def body_of(endpoint: Endpoint) -> Any:
    return dict(endpoint.body_example) if endpoint.body_example is not None else None


async def test_without_a_valid_key_nothing_opens(anonymous: Any) -> None:
    wrong = [
        {},
        {"Authorization": "Bearer wp_test_" + "A" * 47},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic d3A6d3A="},
        {"Authorization": "wp_test_" + "A" * 47},
        {"Authorization": "Bearer " + "x" * 600},
    ]
    for endpoint in ALL_ENDPOINTS:
        for headers in wrong:
            answer = await anonymous(endpoint.method, path_of(endpoint), body_of(endpoint), headers=headers)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer"), endpoint
    for path in ("/healthz", "/readyz", "/openapi.json"):
        assert (await anonymous("GET", path)).status_code == 200


async def test_a_key_without_the_scope_is_refused_before_its_body_is_read(anonymous: Any, acme: Any) -> None:
    for endpoint in ALL_ENDPOINTS:
        if endpoint.permission is None:
            continue
        others = set(Permission) - PLATFORM_ONLY - {endpoint.permission}
        caller = await acme.with_scopes("acme", *sorted(others))
        answer = await caller(endpoint.method, path_of(endpoint), b"\xff not json")
        assert (answer.status_code, answer.json()["code"]) == (403, "missing_scope"), endpoint


def _nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


JUNK = [
    b"",
    b"{",
    b"[]",
    b"null",
    b'"x"',
    b"\xff\xfe",
    b'{"name": "\xff"}',
    b'{"name": "a\\u0000b"}',
    b'{"name": "\\ud800"}',
    b'{"name": NaN}',
    b'{"name": 1e999}',
    b'{"name": ' + b"9" * 5000 + b"}",
    b'{"name": "a", "name": "b"}',
    b'{"no_such_field": 1}',
    b'{"\\u0000": 1}',
    _nested(65),
    _nested(10_000),
    b"[" * 100_000,
    b'{"name": ' * 50_000,
]


async def test_junk_is_refused_by_every_route_and_breaks_none(caller_of: Any) -> None:
    for endpoint in ENTERED:
        caller = caller_of(endpoint)
        for junk in JUNK:
            if not junk and not endpoint.needs_body:
                continue
            answer = await caller(endpoint.method, path_of(endpoint), junk)
            assert answer.status_code in (400, 415, 422), (endpoint.name, junk[:40], answer.text)


async def test_bodies_that_are_not_plain_json_are_refused_everywhere(platform: Any, acme: Any, caller_of: Any) -> None:
    async def sixty_megabytes() -> AsyncIterator[bytes]:
        for _ in range(600):
            yield b"x" * 100_000

    paths = [(endpoint.method, path_of(endpoint), endpoint.permission) for endpoint in ALL_ENDPOINTS]
    public = [("GET", path, None) for path in ("/healthz", "/readyz", "/openapi.json", "/nowhere")]
    for method, path, permission in [*paths, *public]:
        caller = platform if permission in PLATFORM_ONLY else acme
        zipped = await caller(method, path, b"{}", headers={"Content-Encoding": "gzip"})
        assert (zipped.status_code, zipped.json()["code"]) == (415, "unsupported_content_encoding"), path
        chunked = await caller(
            method, path, content=sixty_megabytes(), headers={"Transfer-Encoding": "chunked", "Content-Type": "x/y"}
        )
        # A file is looked at before it is read, and may be larger.
        wanted = (415, "unsupported_media_type") if path == "/v1/imports" else (413, "body_too_large")
        assert (chunked.status_code, chunked.json()["code"]) == wanted, path
    for endpoint in ALL_ENDPOINTS:
        caller = caller_of(endpoint)
        if endpoint.takes_body:
            plain = await caller(endpoint.method, path_of(endpoint), b"{}", headers={"Content-Type": "text/plain"})
            assert plain.status_code == 415, endpoint


QUERIES = [
    "?limit=0",
    "?limit=x",
    "?cursor=%00",
    "?cursor=%FF",
    "?a=1&a=2",
    "?no_such=1",
    "?" + "x" * 3000,
    "?limit=1;x",
]


async def test_junk_queries_are_refused_by_every_route(caller_of: Any) -> None:
    for endpoint in ENTERED:
        caller = caller_of(endpoint)
        for query in QUERIES:
            answer = await caller(endpoint.method, path_of(endpoint) + query, body_of(endpoint))
            assert answer.status_code in (400, 422), (endpoint.name, query, answer.text)


async def test_unknown_malformed_and_foreign_ids_are_answered_alike(caller_of: Any) -> None:
    for endpoint in ALL_ENDPOINTS:
        if "{id}" not in endpoint.path:
            continue
        caller = caller_of(endpoint)
        prefix = PREFIXES.get(endpoint.area, "")
        odd = [
            f"{prefix}_7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
            f"{prefix}_8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
            f"{prefix}_{ULID.lower()}",
            f"{prefix}_{ULID}0",
            f"{prefix.upper()}_{ULID}",
            f"xyz_{ULID}",
            ULID,
            "%00",
            "'; drop table tenants; --",
            "x" * 1000,
        ]
        if endpoint.method == "PUT":
            continue
        unknown = await caller(endpoint.method, path_of(endpoint), body_of(endpoint))
        assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found"), endpoint
        for given in odd:
            answer = await caller(endpoint.method, path_of(endpoint, id=given), body_of(endpoint))
            assert answer.json() | {"request_id": ""} == unknown.json() | {"request_id": ""}, (endpoint.name, given)


async def test_what_the_router_refuses_is_a_problem_too(anonymous: Any) -> None:
    for method, path, status, code in [
        ("GET", "/nowhere", 404, "no_such_path"),
        ("GET", "/v1/nothing", 404, "no_such_path"),
        ("DELETE", "/v1/tenants", 405, "method_not_allowed"),
        ("POST", "/healthz", 405, "method_not_allowed"),
        ("TRACE", "/v1/tenants", 405, "method_not_allowed"),
    ]:
        answer = await anonymous.client.request(method, path)
        assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert answer.headers["content-type"] == "application/problem+json"
    assert (await anonymous.client.delete("/v1/tenants")).headers["allow"] == "OPTIONS, POST, GET"
    options = await anonymous.client.options("/v1/tenants")
    assert (options.status_code, options.headers["allow"]) == (204, "OPTIONS, GET, HEAD, POST")


async def test_headers_given_twice_are_refused(acme: Any) -> None:
    for name in ("Idempotency-Key", "Waypost-Tenant"):
        headers = [("Authorization", f"Bearer {acme.key}"), (name, "acme"), (name, "acme")]
        headers.append(("Content-Type", "application/json"))
        answer = await acme.client.post("/v1/templates", headers=headers, content=b"{}")
        assert answer.status_code in (400, 422)
    twice = [("Authorization", f"Bearer {acme.key}")] * 2
    assert (await acme.client.get("/v1/templates", headers=twice)).status_code == 401


async def test_an_exception_says_nothing(acme: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    async def broken(*_args: object, **_named: object) -> None:
        raise RuntimeError("jane@example.com wp_test_secret")

    monkeypatch.setattr(acme.app.people.search, "page", broken)
    answer: httpx.Response = await acme.client.get("/v1/recipients", headers={"Authorization": f"Bearer {acme.key}"})
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    logged = "".join(capsys.readouterr())
    assert answer.json()["request_id"] in logged
    assert "RuntimeError" in logged
    for words in (answer.text, logged):
        assert "jane" not in words
        assert "secret" not in words


async def test_the_log_names_the_route_and_no_one(acme: Any, capsys: Any) -> None:
    await acme.ok("PUT", "/v1/recipients/jane@example.com", {"email": "jane@example.com", "attributes": {"x": "hush"}})
    logged = "".join(capsys.readouterr())
    assert "/v1/recipients/{id}" in logged
    assert "acme" in logged
    for private in ("jane", "hush", acme.key):
        assert private not in logged


async def test_readyz_says_when_the_database_is_away(anonymous: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away() -> None:
        raise Unavailable("away")

    monkeypatch.setattr(anonymous.app.readiness, "check", away)
    answer = await anonymous.client.get("/readyz")
    assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
    assert (await anonymous.client.get("/healthz")).json() == {"status": "ok"}
