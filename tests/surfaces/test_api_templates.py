"""Templates over HTTP."""

from typing import Any

import pytest

SCHEMA = {"type": "object", "required": ["order"], "properties": {"order": {"type": "integer"}}}
CONTENT = {"subject": "Order {{ order }}", "html": "<p>Thanks, {{ name }}</p>"}
VERSIONS = "/v1/templates/order-paid/email/versions"


@pytest.fixture
async def drafted(acme: Any) -> Any:
    await acme.ok("POST", "/v1/templates", {"key": "order-paid", "name": "Order paid", "category": "transactional"})
    await acme.ok("POST", VERSIONS, {"content": CONTENT, "variables_schema": SCHEMA})
    return acme


async def test_a_draft_is_previewed_published_and_listed(drafted: Any) -> None:
    shown = await drafted.ok("POST", f"{VERSIONS}/1/preview", {"variables": {"order": 7, "name": "<Ada>"}})
    assert (shown["subject"], shown["html"]) == ("Order 7", "<p>Thanks, &lt;Ada&gt;</p>")
    published = await drafted.ok("POST", f"{VERSIONS}/1/publish")
    assert (published["state"], published["number"]) == ("active", 1)
    assert published["published_at"] is not None
    await drafted.ok("POST", VERSIONS, {"content": CONTENT | {"subject": "Two"}})
    listed = await drafted.ok("GET", VERSIONS)
    assert [(version["number"], version["state"]) for version in listed["items"]] == [(2, "draft"), (1, "active")]
    assert (await drafted.ok("GET", f"{VERSIONS}/2"))["content"]["subject"] == "Two"
    assert (await drafted.ok("GET", "/v1/templates/order-paid/email"))["category"] == "transactional"
    assert [template["key"] for template in (await drafted.ok("GET", "/v1/templates"))["items"]] == ["order-paid"]
    assert (await drafted.refused("POST", f"{VERSIONS}/1/publish"))[:2] == (409, "illegal_transition")


async def test_variables_are_checked_against_their_schema(drafted: Any) -> None:
    status, code, pointers = await drafted.refused("POST", f"{VERSIONS}/1/preview", {"variables": {"order": "seven"}})
    assert (status, code, pointers) == (422, "invalid_variables", ["/variables/order"])


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"content": {"subject": "x"}}, "/content"),
        ({"content": {"subject": "", "text": "x"}}, "/content/subject"),
        ({"content": {"subject": "x", "html": "{% if %}"}}, "/content/html"),
        ({"content": {"subject": "{{", "text": "x"}}, "/content/subject"),
        ({"content": {"subject": "x", "text": "{{ 1 }}", "mjml": "x"}}, "/content/mjml"),
        ({"content": CONTENT, "variables_schema": {"type": "nonsense"}}, "/variables_schema/type"),
        ({"content": CONTENT, "variables_schema": {"$ref": "http://127.0.0.1:9/"}}, "/variables_schema"),
    ],
)
async def test_bad_versions_are_refused_by_field(drafted: Any, body: dict[str, Any], pointer: str) -> None:
    status, _, pointers = await drafted.refused("POST", VERSIONS, body)
    assert status == 422
    assert pointers[0].startswith(pointer)
    assert len((await drafted.ok("GET", VERSIONS))["items"]) == 1


@pytest.mark.parametrize(
    "path",
    [
        "/v1/templates/nothing/email",
        "/v1/templates/order-paid/pigeon",
        "/v1/templates/order-paid/sms",
        f"{VERSIONS}/0",
        f"{VERSIONS}/01",
        f"{VERSIONS}/2",
        f"{VERSIONS}/99999999999999999999",
        f"{VERSIONS}/one",
        f"{VERSIONS}/%D9%A1",
    ],
)
async def test_what_is_not_there_is_not_found(drafted: Any, path: str) -> None:
    assert (await drafted.refused("GET", path))[0] == 404


async def test_nobody_sees_another_tenant_s_templates(drafted: Any, globex: Any) -> None:
    assert (await globex.ok("GET", "/v1/templates"))["items"] == []
    foreign = await globex("GET", "/v1/templates/order-paid/email")
    unknown = await globex("GET", "/v1/templates/nothing/email")
    assert foreign.json() | {"request_id": ""} == unknown.json() | {"request_id": ""}
    await globex.ok("POST", "/v1/templates", {"key": "order-paid", "name": "Theirs", "category": "marketing"})
    assert (await drafted.ok("GET", "/v1/templates/order-paid/email"))["name"] == "Order paid"


async def test_the_same_key_twice_is_a_conflict(drafted: Any) -> None:
    body = {"key": "order-paid", "name": "Again", "category": "marketing"}
    assert (await drafted.refused("POST", "/v1/templates", body))[:2] == (409, "template_exists")
    await drafted.ok("POST", "/v1/templates", body | {"channel": "sms"})
