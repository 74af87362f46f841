"""14. A template reaches no other: not another tenant's, not the tenant's own, not a file's."""

from typing import Any

import pytest

SECRET = "hush-of-tenant-a"
NAMES = (
    "layout", "layout/email", "layout.email", "layout/email/1", "include-a/layout", "include-a:layout",
    "../include-a/layout",
    "_platform/layout", "platform", "html", "subject", "text", "body", "/layout", "./layout", "layout.html", "", "\x01",
)  # fmt: skip
WORDS = ("include", "extends", "import", "from")


@pytest.fixture(scope="module")
def a_and_b(fortress: Any) -> tuple[Any, Any, list[str]]:
    owner, rival = fortress.tenant("include-a"), fortress.tenant("include-b")
    ids: list[str] = []
    owner.ok("POST", "/v1/templates", {"key": "layout", "category": "transactional", "kind": "partial"})
    for _ in range(2):
        words = {"locales": {"en": {"body": f"<p>{SECRET}</p>"}}}
        ids.append(owner.ok("POST", "/v1/templates/layout/email/versions", words)["id"])
    # Compiled in the process that serves everybody.
    owner.ok("POST", "/v1/templates/layout/email/versions/1.0.0/publish")
    owner.ok("POST", "/v1/templates", {"key": "user", "category": "transactional"})
    words = {"locales": {"en": {"subject": "s", "body": "<p>{% include 'layout' %}</p>"}}}
    owner.ok("POST", "/v1/templates/user/email/versions", words)
    shown = owner.ok("POST", "/v1/templates/user/email/versions/1.0.0/preview", {})
    assert SECRET in shown["html"], "what is one's own and published is found, or these tests prove nothing"
    return owner, rival, ids


def source_of(word: str, name: str) -> str:
    tail = {"import": " as x", "from": " import x"}.get(word, "")
    return f"{{% {word} {name}{tail} %}}"


@pytest.mark.parametrize("word", WORDS)
def test_nothing_is_included_whatever_it_is_called(word: str, a_and_b: tuple[Any, Any, list[str]]) -> None:
    owner, rival, ids = a_and_b
    for caller in (rival, owner):
        for name in (*NAMES, *ids):
            literal = source_of(word, "'" + name.replace("\x01", "\\x01") + "'")
            # Hidden from whoever only scans the text, and named only when it is rendered.
            hidden = "{% set a = '%}{#' %}" + source_of(word, "where") + "{# #}"
            for source in (literal, hidden):
                answer = caller(
                    "POST",
                    "/v1/notifications",
                    {
                        "to": {"email": "i@hush.example"},
                        "content": {"subject": "s", "html": source},
                        "variables": {"where": name.replace("\x01", "x")},
                    },
                )
                assert SECRET not in answer.text
                if answer.status_code == 202:
                    # Who hides the word from the scan finds the other parts of this very content, and no more.
                    assert name in ("subject", "text"), (source, name)
                    made = answer.json()["notifications"][0]["id"]
                    assert caller.ok("GET", f"/v1/notifications/{made}/content")["html"] in ("", "s")
                else:
                    assert answer.status_code == 422, (source, answer.text)


def test_a_template_finds_neither_another_tenant_s_partials_nor_drafts(
    fortress: Any, a_and_b: tuple[Any, Any, list[str]]
) -> None:
    owner, rival, ids = a_and_b
    rival.ok("POST", "/v1/templates", {"key": "mine", "category": "transactional"})
    rival.ok("POST", "/v1/templates", {"key": "draft", "category": "transactional", "kind": "partial"})
    rival.ok("POST", "/v1/templates/draft/email/versions", {"locales": {"en": {"body": SECRET}}})
    platform = fortress.platform
    platform.ok("POST", "/v1/templates", {"key": "of-platform", "category": "transactional", "kind": "partial"})
    platform.ok("POST", "/v1/templates/of-platform/email/versions", {"locales": {"en": {"body": SECRET}}})
    names = ("layout", "draft", "of-platform", "html", "user", "mine", "_platform/of-platform", *ids)
    for name in names:
        for source in (
            f"<p>{{% include '{name}' %}}</p>",
            f"<p>a{{% include '{name}' ignore missing %}}{{% include ['{name}', 'layout'] ignore missing %}}z</p>",
            f"{{% extends '{name}' %}}",
            f"{{% import '{name}' as x %}}{{{{ x }}}}",
            f"{{% set n = '{name}' %}}<p>{{% include n %}}</p>",
        ):
            for profile in ("jinja", "liquid"):
                words = {"locales": {"en": {"subject": "s", "body": source}}, "profile": profile}
                made = rival("POST", "/v1/templates/mine/email/versions", words)
                assert SECRET not in made.text.replace(source, "")
                if made.status_code == 201:
                    number = made.json()["semver"]
                    shown = rival("POST", f"/v1/templates/mine/email/versions/{number}/preview", {"variables": {}})
                    assert SECRET not in shown.text, (name, source)
                else:
                    assert made.status_code == 422, made.text
        framed = {"locales": {"en": {"subject": "s", "body": "x"}}, "layout": name}
        refused = rival("POST", "/v1/templates/mine/email/versions", framed)
        assert (refused.status_code, refused.json()["code"]) == (422, "unknown_partial"), name
    assert owner.ok("GET", "/v1/templates/layout/email")["owner"] == "tenant"
