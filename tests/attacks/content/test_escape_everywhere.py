"""13. Whatever a variable or an attribute holds, it is text: it adds no markup and is never read as a template.

The engine alone is proved in tests/unit/render; here values travel the whole way, through storage, render process and
MIME, until another program parses the message.
"""

import email
import email.policy
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

HTML = (
    "<table><tr><td class=\"{{ value }}\" title='{{ value }}'>{{ value }}</td></tr></table>"
    '<a href="https://x.example/?q={{ value|urlencode }}">{{ value|upper }}</a>'
    "{% for item in [value, thing.deep] %}<li>{{ item }}</li>{% endfor %}<pre>{{ thing|tojson }}</pre>"
)
PIECES = (
    "<", ">", '"', "'", "&", "/", "=", "{{", "}}", "{%", "%}", "{#", "#}", "script", " onload=x ", "<img src=x>",
    "{{ 7*7 }}", "{% raw %}", "-->", "<!--", "&lt;", "]]>", "`", "</pre>", "</td>", "\\", "%0a", "javascript:",
    "{{ thing }}", "é", "\U0001f600", "\u202e", "=3C", "=?utf-8?q?x?=",
)  # fmt: skip
nasty = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=40),
    st.lists(st.sampled_from(PIECES), max_size=10).map("".join),
)


class Shape(HTMLParser):
    """The elements and attribute names of some markup, and its text."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.words = ""
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(name for name, _ in attrs)))

    def handle_comment(self, data: str) -> None:
        self.elements.append(("comment", ()))

    def handle_data(self, data: str) -> None:
        self.words += data


EXPECTED = [
    ("table", ()), ("tr", ()), ("td", ("class", "title")), ("a", ("href",)), ("li", ()), ("li", ()), ("pre", ()),
]  # fmt: skip
# Only prints values, so that whoever fills templates in a shorter way is met here too.
PLAIN = "<p class=\"{{ value }}\" title='{{ value }}'>{{ value }}</p><b>{{ thing.deep }}</b>"
EXPECTED_PLAIN = [("p", ("class", "title")), ("b", ())]
KINDS = [("full", HTML, EXPECTED), ("plain", PLAIN, EXPECTED_PLAIN)]
CALM = settings(
    max_examples=50,
    deadline=None,
    database=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)


def assert_only_text(html: str, value: str, expected: list[tuple[str, tuple[str, ...]]]) -> None:
    assert Shape(html).elements == expected, html
    assert "49" in value or "49" not in html


@pytest.mark.parametrize(("kind", "source", "expected"), KINDS, ids=["full", "plain"])
def test_values_add_no_markup_on_their_way_to_the_recipient(
    kind: str, source: str, expected: list[tuple[str, tuple[str, ...]]], fortress: Any
) -> None:
    caller = fortress.tenant(f"escape-{kind}")
    content = {"subject": "Re: {{ value }}.", "html": source, "text": "{{ value }}|{{ thing.deep }}"}
    sent: dict[str, str] = {}

    @CALM
    @given(nasty)
    def send(value: str) -> None:
        address = f"{kind}-{len(sent)}@hush.example"
        attributes = {"thing": {"deep": value}}
        body = {"to": {"email": address, "attributes": attributes}, "content": content, "variables": {"value": value}}
        answer = caller("POST", "/v1/notifications", body)
        assert answer.status_code == 202, answer.text
        sent[address] = value
        notification = answer.json()["notifications"][0]["id"]
        shown = caller.ok("GET", f"/v1/notifications/{notification}/content")
        assert_only_text(shown["html"], value, expected)
        assert shown["subject"] == f"Re: {value}."
        assert shown["text"] == f"{value}|{value}"

    send()
    assert len(sent) >= 30
    mark = f"<{kind}-".encode()
    fortress.eventually(lambda: sum(mark in mail.people[0] for mail in list(fortress.sink.mail)) >= len(sent))
    for address, value in sent.items():
        (mail,) = fortress.sink.to(address)
        message = email.message_from_bytes(mail.raw, policy=email.policy.default)
        html = message.get_body(("html",))
        plain = message.get_body(("plain",))
        assert html is not None
        assert plain is not None
        assert_only_text(html.get_content(), value, expected)
        assert plain.get_content().strip() == f"{value}|{value}".strip()
        assert message["subject"] == f"Re: {value}."
