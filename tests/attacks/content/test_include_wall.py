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
    owner.ok("POST", "/v1/templates", {"key": "layout", "name": "n", "category": "transactional"})
    for _ in range(2):
        content = {"subject": SECRET, "html": f"<p>{SECRET}</p>{{% block body %}}{{% endblock %}}"}
        made = owner.ok("POST", "/v1/templates/layout/email/versions", {"content": content})
        ids.append(made["id"])
    # Compiled in the process that serves everybody.
    owner.ok("POST", "/v1/templates/layout/email/versions/1/publish")
    for number in (1, 2):
        owner.ok("POST", f"/v1/templates/layout/email/versions/{number}/preview", {})
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


def test_an_optional_include_brings_nothing_either(a_and_b: tuple[Any, Any, list[str]]) -> None:
    _, rival, ids = a_and_b
    rival.ok("POST", "/v1/templates", {"key": "mine", "name": "n", "category": "transactional"})
    for name in ("layout", "html", *ids):
        source = f"<p>a{{% include '{name}' ignore missing %}}{{% include ['{name}', 'layout'] ignore missing %}}z</p>"
        made = rival("POST", "/v1/templates/mine/email/versions", {"content": {"subject": "s", "html": source}})
        if made.status_code == 201:
            number = made.json()["number"]
            shown = rival("POST", f"/v1/templates/mine/email/versions/{number}/preview", {})
            assert shown.status_code == 422 or shown.json()["html"] == "<p>az</p>"
            assert SECRET not in shown.text
        else:
            assert made.status_code == 422
