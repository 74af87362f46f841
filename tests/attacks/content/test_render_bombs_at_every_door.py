"""10. Content that kills whoever renders it, through every door: refused in time, and nobody else notices.

Each bomb alone is proved in tests/unit/render; here they meet the real API and the real worker, while another tenant
sends a thousand messages.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

# Two seconds by promise, times four attackers, on a machine with other work. Without a limit each takes minutes.
IN_TIME = 30
ATTACKERS = 4
MESSAGES = 1_000
# Harmless to read, and to compile.
AT_RENDER = (
    "{% set s = range(size)|list %}{% for i in range(size) %}{{ s|sort|first }}{% endfor %}"
    "{{ ('x' * size)|replace('x', 'y' * size) if size > 1 else '' }}"
)

# What is made into HTML first, and the second language.
COMPILED = {
    "deep mjml": ("mjml", "jinja", "<mjml><mj-body>" + "<mj-wrapper>" * 10_000 + "</mj-body></mjml>"),
    "deep text": ("mjml", "jinja", "<mjml><mj-body><mj-text>" + "<b>" * 10_000 + "</mj-text></mj-body></mjml>"),
    "liquid openings": ("html", "liquid", "{{" * 5_000),
    "liquid blocks": ("html", "liquid", "{% if a %}" * 5_000 + "{% endif %}" * 5_000),
    "liquid spaces": ("html", "liquid", "{{" + " " * 200_000 + "}}"),
}


def schema_of_forty_branches() -> dict[str, Any]:
    schema: dict[str, Any] = {"$defs": {"d0": {"type": "object"}}, "$ref": "#/$defs/d40"}
    for level in range(1, 41):
        refer = {"$ref": f"#/$defs/d{level - 1}"}
        schema["$defs"][f"d{level}"] = {"allOf": [refer, refer]}
    return schema


@pytest.fixture(scope="module")
def attacker(fortress: Any) -> Any:
    caller = fortress.tenant("bomber")
    caller.ok("POST", "/v1/templates", {"key": "bomb", "name": "n", "category": "transactional"})
    words = {"subject": "s", "body": AT_RENDER}
    caller.ok("POST", "/v1/templates/bomb/email/versions", {"locales": {"en": words}})
    caller.ok("POST", "/v1/templates/bomb/email/versions/1.0.0/publish")
    return caller


def calls(bombs: dict[str, str]) -> Iterator[tuple[str, str, Any]]:
    someone = {"email": "bombed@hush.example"}
    for name, bomb in bombs.items():
        variables = {"a": "x"}
        content = {"subject": "s", "html": bomb}
        yield f"{name}: content", "/v1/notifications", {"to": someone, "content": content, "variables": variables}
    for part in ("subject", "text"):
        content = {"subject": "s", "html": "h", part: '{{ "}}" ~ ' + "-" * 20_000 + "1 }}"}
        yield f"{part}: content", "/v1/notifications", {"to": someone, "content": content}
        words = {"subject": "s", "body": "h", part: content[part]}
        yield f"{part}: draft", "/v1/templates/bomb/email/versions", {"locales": {"en": words}}
    size = {"size": 60_000}
    yield "variable: preview", "/v1/templates/bomb/email/versions/1.0.0/preview", {"variables": size}
    yield "variable: template", "/v1/notifications", {"to": someone, "template": "bomb", "variables": size}
    yield (
        "attribute: template",
        "/v1/notifications",
        {"to": [{**someone, "attributes": size}], "template": "bomb", "variables": {}},
    )
    yield (
        "schema: draft",
        "/v1/templates/bomb/email/versions",
        {"locales": {"en": {"subject": "s", "body": "t"}}, "variables_schema": schema_of_forty_branches()},
    )
    for name, (field, profile, body) in COMPILED.items():
        content = {"subject": "s", field: body, "profile": profile}
        yield f"{name}: content", "/v1/notifications", {"to": someone, "content": content}
        words = {"subject": "s", "body": body, "format": field}
        yield f"{name}: draft", "/v1/templates/bomb/email/versions", {"locales": {"en": words}, "profile": profile}
    # What only a compiler chokes on is met by whoever checks a draft, too.
    for name in ("minus chain", "elif chain", "attribute chain"):
        words = {"subject": "s", "body": bombs[name]}
        yield f"{name}: draft", "/v1/templates/bomb/email/versions", {"locales": {"en": words}}


def test_bombs_are_refused_and_another_tenant_s_thousand_messages_arrive(
    fortress: Any, attacker: Any, bombs: dict[str, str]
) -> None:
    calm = fortress.tenant("calm")
    people = [{"id": f"calm-{n}", "email": f"calm-{n}@hush.example"} for n in range(MESSAGES)]
    content = {"subject": "For {{ n }}", "html": "<p>{{ n }}</p>"}

    def explode(call: tuple[str, str, Any]) -> tuple[str, int, str, float]:
        name, path, body = call
        began = time.monotonic()
        answer = attacker("POST", path, body)
        return name, answer.status_code, answer.json().get("code", ""), time.monotonic() - began

    def send(start: int) -> list[str]:
        to = [{**one, "attributes": {"n": one["id"]}} for one in people[start : start + 100]]
        sent = calm.ok("POST", "/v1/notifications", {"to": to, "content": content})
        return [notification["id"] for notification in sent["notifications"]]

    with fortress.unshaken(), ThreadPoolExecutor(ATTACKERS + 1) as pool:
        exploding = [pool.submit(explode, call) for call in calls(bombs)]
        accepted = [made for start in range(0, MESSAGES, 100) for made in send(start)]
        answers = [future.result() for future in exploding]
        fortress.eventually(lambda: sum(b"calm-" in mail.people[0] for mail in list(fortress.sink.mail)) >= MESSAGES)

    assert len(answers) >= 30
    for name, status, code, _ in answers:
        assert status == 422, (name, status, code)
        assert code.startswith(("render_", "template_", "schema_", "missing_", "too_large")), (name, code)
    slowest = max(answers, key=lambda answer: answer[3])
    assert slowest[3] < IN_TIME, slowest

    arrived = [mail.people[0] for mail in list(fortress.sink.mail) if b"calm-" in mail.people[0]]
    assert len(arrived) == len(set(arrived)) == MESSAGES
    fortress.eventually(lambda: {one["status"] for one in calm.all("/v1/notifications")} == {"dispatched"})
    told = calm.all("/v1/notifications")
    assert {one["id"] for one in told} == set(accepted)
    # In doubt would be a second attempt, or the end `unconfirmed`.
    assert {one["attempts"] for one in told} == {1}
    assert not [mail for mail in list(fortress.sink.mail) if b"bombed@" in mail.people[0]]
