"""Templates over HTTP."""

from typing import Any

import pytest

SCHEMA = {"type": "object", "required": ["order"], "properties": {"order": {"type": "integer"}, "name": {}}}
ENGLISH = {"subject": "Order {{ order }}", "body": "<p>Thanks, {{ name }}</p>"}
TEMPLATE = "/v1/templates/order-paid/email"
VERSIONS = f"{TEMPLATE}/versions"
MARKETING = {"key": "news", "category": "marketing", "name": "News"}


def written(**more: Any) -> dict[str, Any]:
    return {"locales": {"en": ENGLISH}, "variables_schema": SCHEMA} | more


@pytest.fixture
async def drafted(acme: Any) -> Any:
    await acme.ok("POST", "/v1/templates", {"key": "order-paid", "name": "Order paid", "category": "transactional"})
    await acme.ok("POST", VERSIONS, written())
    return acme


async def test_the_shapes_of_the_first_minute(acme: Any) -> None:
    made = await acme.ok(
        "POST",
        "/v1/templates",
        {"key": "welcome", "channel": "email", "category": "transactional", "topic": None, "default_locale": "en"},
    )
    assert (made["name"], made["kind"], made["owner"], made["revision"]) == ("welcome", "message", "tenant", 1)
    body = {
        "semver": "1.0.0",
        "variables_schema": {"type": "object"},
        "locales": {
            "en": {
                "subject": "Hello {{ recipient.first_name }}",
                "preheader": "Good to see you",
                "body": "<mjml><mj-body><mj-section><mj-column><mj-text>Hi {{ recipient.first_name }}</mj-text>"
                "</mj-column></mj-section></mj-body></mjml>",
                "format": "mjml",
            }
        },
    }
    await acme.ok("POST", "/v1/templates/welcome/email/versions", body)
    await acme.ok("POST", "/v1/templates/welcome/email/versions/1.0.0/publish")
    to = {"id": "u-1", "email": "u1@example.com", "attributes": {"first_name": "Ada"}}
    sent = await acme.ok("POST", "/v1/notifications", {"to": to, "template": "welcome"})
    content = await acme.ok("GET", f"/v1/notifications/{sent['notifications'][0]['id']}/content")
    assert content["subject"] == "Hello Ada"
    assert "Hi Ada" in content["html"]
    assert "mj-text" not in content["html"]
    assert "Good to see you" in content["html"]


async def test_a_draft_is_previewed_published_and_listed(drafted: Any) -> None:
    shown = await drafted.ok("POST", f"{VERSIONS}/1.0.0/preview", {"variables": {"order": 7, "name": "<Ada>"}})
    assert (shown["subject"], shown["locale"]) == ("Order 7", "en")
    assert "<p>Thanks, &lt;Ada&gt;</p>" in shown["html"]
    published = await drafted.ok("POST", f"{VERSIONS}/1.0.0/publish")
    assert (published["state"], published["semver"]) == ("active", "1.0.0")
    assert published["published_at"] is not None
    await drafted.ok("POST", VERSIONS, written(locales={"en": ENGLISH | {"subject": "Two"}}))
    listed = await drafted.ok("GET", VERSIONS)
    assert [(version["semver"], version["state"]) for version in listed["items"]] == [
        ("1.1.0", "draft"),
        ("1.0.0", "active"),
    ]
    assert (await drafted.ok("GET", f"{VERSIONS}/1.1.0"))["locales"]["en"]["subject"] == "Two"
    assert (await drafted.ok("GET", TEMPLATE))["category"] == "transactional"
    assert [template["key"] for template in (await drafted.ok("GET", "/v1/templates"))["items"]] == ["order-paid"]
    assert (await drafted.refused("POST", f"{VERSIONS}/1.0.0/publish"))[:2] == (409, "illegal_transition")


async def test_people_of_one_call_read_their_own_language(acme: Any) -> None:
    await acme.ok("POST", "/v1/templates", {"key": "hello", "category": "transactional"})
    locales = {
        "en": {"subject": "Hello", "body": "Hello", "format": "text"},
        "de": {"subject": "Hallo", "body": "Hallo", "format": "text"},
        "ar": {"subject": "مرحبا", "body": "<p>مرحبا</p>"},
    }
    made = await acme.ok("POST", "/v1/templates/hello/email/versions", {"locales": locales})
    assert made["locales"]["ar"]["direction"] == "rtl"
    await acme.ok("POST", "/v1/templates/hello/email/versions/1.0.0/publish")
    people = {"a": "de-AT", "b": "ar-EG", "c": "ja", "d": None}
    to = [{"id": name, "email": f"{name}@example.com", "locale": locale} for name, locale in people.items()]
    sent = await acme.ok("POST", "/v1/notifications", {"to": to, "template": "hello"})
    subjects = [
        (await acme.ok("GET", f"/v1/notifications/{one['id']}/content"))["subject"] for one in sent["notifications"]
    ]
    assert subjects == ["Hallo", "مرحبا", "Hello", "Hello"]
    arabic = await acme.ok("GET", f"/v1/notifications/{sent['notifications'][1]['id']}/content")
    assert 'dir="rtl"' in arabic["html"]


async def test_variables_are_checked_against_their_schema(drafted: Any) -> None:
    body = {"variables": {"order": "seven"}}
    status, code, pointers = await drafted.refused("POST", f"{VERSIONS}/1.0.0/preview", body)
    assert (status, code, pointers) == (422, "invalid_variables", ["/variables/order"])


async def test_another_category_in_the_call_is_refused(drafted: Any) -> None:
    await drafted.ok("POST", f"{VERSIONS}/1.0.0/publish")
    call = {"to": {"email": "x@example.com"}, "template": "order-paid", "variables": {"order": 1, "name": "n"}}
    assert (await drafted.refused("POST", "/v1/notifications", call | {"category": "marketing"}))[0] == 422
    await drafted.ok("POST", "/v1/notifications", call | {"category": "transactional"})


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"locales": {}}, "/locales"),
        ({"locales": {"en": {"subject": "x"}}}, "/locales"),
        ({"locales": {"en": {"subject": "", "body": "x"}}}, "/locales/en/subject"),
        ({"locales": {"en": {"subject": "x", "body": "{% if %}"}}}, "/locales/en/body"),
        ({"locales": {"en": {"subject": "{{", "body": "x"}}}, "/locales/en/subject"),
        ({"locales": {"en": ENGLISH | {"html": "x"}}}, "/locales"),
        ({"locales": {"en": ENGLISH | {"format": "word"}}}, "/locales"),
        ({"locales": {"en": ENGLISH, "klingon": ENGLISH}}, "/locales/klingon"),
        ({"locales": {"de": ENGLISH}}, "/locales"),
        (written(fallback_chain=["en", "en"]), "/fallback_chain/1"),
        (written(fallback_chain=["fr"]), "/fallback_chain/0"),
        (written(semver="1.0.0"), "/semver"),
        (written(semver="one"), "/semver"),
        (written(layout="nothing"), "/layout"),
        (written(variables_schema={"type": "nonsense"}), "/variables_schema/type"),
        (written(variables_schema={"$ref": "http://127.0.0.1:9/"}), "/variables_schema"),
        (written(source="ai_drafted"), "/provenance/model"),
    ],
)
async def test_bad_versions_are_refused_by_field(drafted: Any, body: dict[str, Any], pointer: str) -> None:
    status, _, pointers = await drafted.refused("POST", VERSIONS, body)
    assert status in (400, 422)
    assert pointers[0].startswith(pointer)
    assert len((await drafted.ok("GET", VERSIONS))["items"]) == 1


@pytest.mark.parametrize(
    "path",
    [
        "/v1/templates/nothing/email",
        "/v1/templates/order-paid/pigeon",
        "/v1/templates/order-paid/sms",
        f"{VERSIONS}/0",
        f"{VERSIONS}/01.0.0",
        f"{VERSIONS}/1.1.0",
        f"{VERSIONS}/1.0.99999999999999999999",
        f"{VERSIONS}/one",
        f"{VERSIONS}/%D9%A1.0.0",
    ],
)
async def test_what_is_not_there_is_not_found(drafted: Any, path: str) -> None:
    assert (await drafted.refused("GET", path))[0] == 404


async def test_nobody_sees_another_tenant_s_templates(drafted: Any, globex: Any) -> None:
    assert (await globex.ok("GET", "/v1/templates"))["items"] == []
    foreign = await globex("GET", TEMPLATE)
    unknown = await globex("GET", "/v1/templates/nothing/email")
    assert foreign.json() | {"request_id": ""} == unknown.json() | {"request_id": ""}
    await globex.ok("POST", "/v1/templates", {"key": "order-paid", "name": "Theirs", "category": "marketing"})
    assert (await drafted.ok("GET", TEMPLATE))["name"] == "Order paid"


async def test_the_same_key_twice_is_a_conflict(drafted: Any) -> None:
    body = {"key": "order-paid", "name": "Again", "category": "marketing"}
    assert (await drafted.refused("POST", "/v1/templates", body))[:2] == (409, "template_exists")
    await drafted.ok("POST", "/v1/templates", body | {"channel": "sms"})


async def test_who_changed_it_meanwhile_is_told(drafted: Any) -> None:
    seen = await drafted("GET", TEMPLATE)
    assert seen.headers["etag"] == '"2"'
    changed = await drafted("PATCH", TEMPLATE, {"name": "New"}, headers={"If-Match": '"2"'})
    assert (changed.headers["etag"], changed.json()["name"]) == ('"3"', "New")
    for method, path, body in (
        ("PATCH", TEMPLATE, {"name": "Other"}),
        ("POST", f"{VERSIONS}/1.0.0/publish", None),
        ("POST", VERSIONS, written()),
        ("POST", f"{TEMPLATE}/archive", None),
    ):
        answer = await drafted(method, path, body, headers={"If-Match": '"2"'})
        assert answer.status_code == 412, path
    await drafted.ok("POST", f"{VERSIONS}/1.0.0/publish", headers={"If-Match": '"3"'})


async def test_a_topic_must_exist_and_fit(acme: Any) -> None:
    await acme.ok("PUT", "/v1/topics/billing", {"title": "Billing", "category": "transactional", "default": "opted_in"})
    assert (await acme.refused("POST", "/v1/templates", MARKETING | {"topic": "nothing"}))[1] == "unknown_topic"
    assert (await acme.refused("POST", "/v1/templates", MARKETING | {"topic": "billing"}))[1] == "topic_mismatch"
    made = await acme.ok("POST", "/v1/templates", {"key": "bill", "category": "transactional", "topic": "billing"})
    assert made["topic"] == "billing"
    assert (await acme.ok("PATCH", "/v1/templates/bill/email", {"topic": None}))["topic"] is None


async def test_marketing_without_a_way_out_is_not_published(acme: Any) -> None:
    await acme.ok("POST", "/v1/templates", MARKETING)
    versions = "/v1/templates/news/email/versions"
    bare = {"en": {"subject": "NEWS FOR YOU!!", "body": "<p>Buy it today <img src='https://shop.test/x.png'></p>"}}
    drafted = await acme.ok("POST", versions, {"locales": bare})
    assert {each["code"] for each in drafted["findings"]} == {"missing_unsubscribe", "spam_mark", "missing_alt"}
    refused = await acme.refused("POST", f"{versions}/1.0.0/publish")
    assert refused == (422, "lint_failed", ["/locales/en/body"])
    linted = await acme.ok("POST", f"{versions}/1.0.0/lint")
    assert linted["findings"] == drafted["findings"]
    better = {"en": {"subject": "News", "body": '<p>News</p><a href="{{ unsubscribe_url }}">No more</a>'}}
    await acme.ok("POST", versions, {"locales": better})
    published = await acme.ok("POST", f"{versions}/1.1.0/publish")
    assert published["findings"] == []


async def test_what_a_model_wrote_is_published_after_a_person_approved_it(acme: Any) -> None:
    await acme.ok("POST", "/v1/templates", {"key": "order-paid", "category": "transactional"})
    provenance = {"model": "tiny-7b", "prompt": "prompts/42"}
    made = await acme.ok("POST", VERSIONS, written(source="ai_drafted", provenance=provenance))
    assert (made["source"], made["provenance"], made["approval"]) == ("ai_drafted", provenance, None)
    assert (await acme.refused("POST", f"{VERSIONS}/1.0.0/publish"))[:2] == (409, "approval_needed")
    approved = await acme.ok("POST", f"{VERSIONS}/1.0.0/approve", {"approver": "Jane Roe"})
    assert approved["approval"]["by"] == "Jane Roe"
    await acme.ok("POST", f"{VERSIONS}/1.0.0/publish")
    entries = (await acme.ok("GET", "/v1/audit"))["items"]
    approval = next(entry for entry in entries if entry["action"] == "template.approved")
    assert approval["detail"]["approver"] == "Jane Roe"


async def test_a_preview_for_someone_real(drafted: Any) -> None:
    body = {"email": "u@example.com", "locale": "de-AT", "attributes": {"name": "Grace"}}
    await drafted.ok("PUT", "/v1/recipients/user-42", body)
    locales = {"en": ENGLISH, "de": {"subject": "Bestellung {{ order }}", "body": "<p>Danke, {{ name }}</p>"}}
    samples = {"seven": {"order": 7}}
    await drafted.ok("POST", VERSIONS, written(locales=locales, samples=samples))
    shown = await drafted.ok("POST", f"{VERSIONS}/1.1.0/preview", {"recipient": "user-42"})
    assert (shown["locale"], shown["subject"]) == ("de", "Bestellung 7")
    assert "Danke, Grace" in shown["html"]
    english = {"recipient": "user-42", "locale": "en", "sample": "seven", "variables": {"order": 8}}
    assert (await drafted.ok("POST", f"{VERSIONS}/1.1.0/preview", english))["subject"] == "Order 8"
    for asked, code in (
        ({"recipient": "nobody"}, "unknown_recipient"),
        ({"locale": "fr"}, "unknown_locale"),
        ({"locale": "xx"}, "invalid_locale"),
        ({"sample": "eight"}, "unknown_sample"),
        ({"variables": {"order": 7}}, "missing_variable"),
    ):
        assert (await drafted.refused("POST", f"{VERSIONS}/1.1.0/preview", asked))[1] == code, asked
    unread = await drafted.with_scopes("acme", "templates:read")
    assert (await unread.refused("POST", f"{VERSIONS}/1.1.0/preview", {"recipient": "user-42"}))[0] == 403


async def test_what_is_not_stored_yet_is_previewed(drafted: Any) -> None:
    body = {"version": {"locales": {"en": {"subject": "Now {{ n }}", "body": "# Hi\n\n{{ n }}", "format": "markdown"}}}}
    shown = await drafted.ok("POST", f"{TEMPLATE}/preview", body | {"variables": {"n": 3}})
    assert shown["subject"] == "Now 3"
    assert "<h1" in shown["html"]
    assert len((await drafted.ok("GET", VERSIONS))["items"]) == 1
    bad = {"version": {"locales": {"en": {"subject": "x", "body": "{% if %}"}}}}
    assert (await drafted.refused("POST", f"{TEMPLATE}/preview", bad))[2] == ["/locales/en/body"]


async def test_two_versions_are_compared(drafted: Any) -> None:
    locales = {"en": ENGLISH | {"subject": "Paid: {{ order }}"}, "de": ENGLISH}
    await drafted.ok("POST", VERSIONS, written(locales=locales, variables_schema=None))
    found = await drafted.ok("GET", f"{TEMPLATE}/diff?from=1.0.0&to=1.1.0")
    changes = {change["pointer"]: change for change in found["changes"]}
    assert changes["/locales/en/subject"]["before"] == "Order {{ order }}"
    assert changes["/locales/en/subject"]["after"] == "Paid: {{ order }}"
    assert "+Paid: {{ order }}" in changes["/locales/en/subject"]["unified"]
    assert changes["/locales/de/body"]["before"] is None
    assert changes["/variables_schema"]["after"] is None
    assert "-Order {{ order }}" in found["unified"]
    assert (await drafted.ok("GET", f"{TEMPLATE}/diff?from=1.0.0&to=1.0.0"))["changes"] == []
    assert (await drafted.refused("GET", f"{TEMPLATE}/diff?from=1.0.0&to=9.0.0"))[0] == 404


async def test_the_platform_offers_and_a_tenant_overrides(platform: Any, acme: Any, globex: Any) -> None:
    await platform.ok("POST", "/v1/templates", {"key": "reset", "category": "security"})
    versions = "/v1/templates/reset/email/versions"
    await platform.ok("POST", versions, {"locales": {"en": {"subject": "Reset", "body": "By the platform"}}})
    assert (await acme.refused("GET", "/v1/templates/reset/email"))[0] == 404
    await platform.ok("POST", f"{versions}/1.0.0/publish")
    await platform.ok("POST", versions, {"locales": {"en": {"subject": "Secret draft", "body": "x"}}})
    assert (await acme.ok("GET", "/v1/templates/reset/email"))["owner"] == "platform"
    assert [one["semver"] for one in (await acme.ok("GET", versions))["items"]] == ["1.0.0"]
    assert (await acme.ok("GET", "/v1/templates?owner=platform"))["items"][0]["key"] == "reset"
    assert (await acme.refused("POST", versions, {"locales": {"en": ENGLISH}}))[0] == 404
    assert (await acme.refused("POST", f"{versions}/1.0.0/archive"))[0] == 404

    async def subject(caller: Any) -> str:
        call = {"to": {"email": "x@example.com"}, "template": "reset", "variables": {}}
        sent = await caller.ok("POST", "/v1/notifications", call)
        made = sent["notifications"][0]["id"]
        shown = await caller.ok("GET", f"/v1/notifications/{made}")
        assert (shown["template"], shown["category"]) == ("reset", "security")
        return (await caller.ok("GET", f"/v1/notifications/{made}/content"))["subject"]

    assert await subject(acme) == "Reset"
    await acme.ok("POST", "/v1/templates", {"key": "reset", "category": "security"})
    await acme.ok("POST", versions, {"locales": {"en": {"subject": "Ours", "body": "By acme"}}})
    await acme.ok("POST", f"{versions}/1.0.0/publish")
    assert (await subject(acme), await subject(globex)) == ("Ours", "Reset")
    await acme.ok("POST", f"{versions}/1.0.0/archive")
    assert await subject(acme) == "Reset"


async def test_layouts_and_partials(acme: Any) -> None:
    for key, kind in (("around", "layout"), ("foot", "partial")):
        await acme.ok("POST", "/v1/templates", {"key": key, "category": "transactional", "kind": kind})
    await acme.ok("POST", "/v1/templates", {"key": "order-paid", "category": "transactional"})
    foot, around = "/v1/templates/foot/email/versions", "/v1/templates/around/email/versions"
    await acme.ok("POST", foot, {"locales": {"en": {"body": "<i>Bye</i>"}, "de": {"body": "<i>Tschüs</i>"}}})
    await acme.ok("POST", f"{foot}/1.0.0/publish")
    frame = '<main>{{ content }}</main>{% include "foot" %}'
    await acme.ok("POST", around, {"locales": {"en": {"body": frame}}})
    assert (await acme.refused("POST", VERSIONS, written(layout="around")))[1] == "unknown_partial"
    await acme.ok("POST", f"{around}/1.0.0/publish")
    german = {"subject": "Bestellung", "body": "<p>Danke</p>"}
    await acme.ok("POST", VERSIONS, {"layout": "around", "locales": {"en": ENGLISH, "de": german}})
    shown = await acme.ok("POST", f"{VERSIONS}/1.0.0/preview", {"locale": "de"})
    assert "<main>" in shown["html"]
    assert "Tschüs" in shown["html"]
    with_subject = {"locales": {"en": {"subject": "no", "body": "x"}}}
    assert (await acme.refused("POST", foot, with_subject))[2] == ["/locales/en/subject"]
    circle = {"locales": {"en": {"body": '{% include "foot" %}'}}}
    assert (await acme.refused("POST", foot, circle))[1:] == ("cyclic_layout", ["/locales/en/body"])
    assert (await acme.refused("POST", "/v1/notifications", {"to": {"email": "x@y.test"}, "template": "around"}))[
        1
    ] == "unknown_template"


async def test_what_is_wrong_with_a_layout_s_own_layout_is_said_of_that_field(acme: Any) -> None:
    def version(body: str, layout: str | None = None, **more: Any) -> dict[str, Any]:
        return {"layout": layout, "locales": {tag: {"body": body, **more} for tag in ("de", "en")}}

    for key, kind in (("inner", "layout"), ("outer", "layout"), ("letter", "layout"), ("foot", "partial")):
        await acme.ok("POST", "/v1/templates", {"key": key, "category": "transactional", "kind": kind})
    inner, outer = (f"/v1/templates/{key}/email/versions" for key in ("inner", "outer"))
    slot = "<p>{{ content }}</p>"
    for path, made in (
        (inner, version(slot)),
        (outer, version(slot, "inner")),
        ("/v1/templates/letter/email/versions", version("{{ content }}", format="text")),
        ("/v1/templates/foot/email/versions", version('{% include "outer" %}')),
    ):
        await acme.ok("POST", path, made)
        await acme.ok("POST", f"{path}/1.0.0/publish")

    async def faults(body: dict[str, Any]) -> list[tuple[str, str]]:
        refused = await acme("POST", inner, body)
        assert refused.status_code == 422
        return [(one["pointer"], one["code"]) for one in refused.json()["errors"]]

    bodies = ("/locales/de/body", "/locales/en/body")
    assert await faults(version(slot, "outer")) == [("/layout", "cyclic_layout")]
    assert await faults(version(slot, "inner")) == [("/layout", "cyclic_layout")]
    assert await faults(version(slot, "nowhere")) == [("/layout", "unknown_partial")]
    assert await faults(version(slot, "letter")) == [("/layout", "wrong_format")]
    # It is the body that includes it, and the body that has no slot, whatever layout is around.
    assert await faults(version(slot + '{% include "foot" %}', "outer")) == [(one, "cyclic_layout") for one in bodies]
    assert await faults(version('{% include "foot" %}' + slot)) == [(one, "cyclic_layout") for one in bodies]
    assert await faults(version("<p>No slot</p>")) == [(one, "no_content_slot") for one in bodies]


async def test_the_tenant_s_own_language_is_for_whom_nothing_nearer_is_written(acme: Any) -> None:
    assert (await acme.refused("PATCH", "/v1/settings", {"default_locale": "xx"}))[1:] == (
        "invalid_locale",
        ["/default_locale"],
    )
    await acme.ok("POST", "/v1/templates", {"key": "hello", "category": "transactional"})
    locales = {tag: {"subject": tag, "body": tag, "format": "text"} for tag in ("en", "it")}
    await acme.ok("POST", "/v1/templates/hello/email/versions", {"locales": locales})
    await acme.ok("POST", "/v1/templates/hello/email/versions/1.0.0/publish")

    async def subject() -> str:
        sent = await acme.ok(
            "POST", "/v1/notifications", {"to": {"email": "x@example.com", "locale": "ja"}, "template": "hello"}
        )
        return (await acme.ok("GET", f"/v1/notifications/{sent['notifications'][0]['id']}/content"))["subject"]

    assert await subject() == "en"
    assert (await acme.ok("PATCH", "/v1/settings", {"default_locale": "it-ch"}))["default_locale"] == "it-CH"
    assert await subject() == "it"
    assert (await acme.ok("PATCH", "/v1/settings", {"default_locale": None}))["default_locale"] is None
    assert await subject() == "en"
