"""Whole messages, read back by the standard library's parser."""

import email
import email.policy
from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.render.engine import JinjaDialect, make_environment
from waypost.adapters.render.mail_compose import CompiledMail, compile_mail
from waypost.adapters.render.refusal import RenderRefused
from waypost.adapters.render.wire import Parts
from waypost.templates.model import Content
from waypost.templates.ports import MailHead

HEAD = MailHead(
    message_id="01hx0000000000000000000000@mail.example.com",
    sender="Acme, Inc. <no-reply@acme.example>",
    to="Jane Doe <jane@example.com>",
    date="Thu, 15 Jan 2026 12:00:00 +0000",
    reply_to="Support <help@acme.example>",
    cc=("c1@example.com", "C Two <c2@example.com>"),
    headers=(("Auto-Submitted", "auto-generated"), ("X-Order", "7")),
)

HEADER_NAMES = ["Date", "From", "Reply-To", "Cc", "Auto-Submitted", "X-Order", "To", "Subject", "Message-ID"]
HEADER_NAMES += ["MIME-Version", "Content-Type"]

nasty = st.text(st.characters(exclude_characters="\x00", exclude_categories=("Cs",)), max_size=200) | st.lists(
    st.sampled_from(
        [
            "=",
            ".",
            "\n.",
            "." * 80,
            "x" * 74 + ".",
            "\r\n",
            "é\U0001f600",
            "x" * 100,
            " \n",
            "<b>",
            "&amp;",
            "{",
            "--=_waypost",
        ]
    ),
    max_size=20,
).map("".join)


def compiled(**content: str) -> CompiledMail:
    return compile_mail(JinjaDialect(), Parts.of(Content(**content)))


def parsed(message: bytes) -> EmailMessage:
    assert_wire_safe(message)
    found = email.message_from_bytes(message, policy=email.policy.default)
    assert isinstance(found, EmailMessage)
    return found


def assert_wire_safe(message: bytes) -> None:
    assert message.isascii()
    assert message.endswith(b"\r\n")
    assert message.count(b"\r") == message.count(b"\n") == message.count(b"\r\n")
    assert b"\x00" not in message
    assert b"\r\n." not in b"\r\n" + message
    assert max(len(line) for line in message.split(b"\r\n")) <= 998


def body(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    assert part is not None
    payload = part.get_payload(decode=True)
    assert isinstance(payload, bytes)
    return payload.decode().replace("\r\n", "\n")


def lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def test_the_message_is_what_a_mail_program_expects() -> None:
    message = parsed(
        compiled(subject="Hello {{ name }}", html="<p>Welcome, {{ name }}</p>", text="Welcome, {{ name }}").compose(
            {"name": "Jané <3"}, HEAD
        )
    )
    assert message["subject"] == "Hello Jané <3"
    assert body(message, "plain") == "Welcome, Jané <3"
    assert body(message, "html") == "<p>Welcome, Jané &lt;3</p>"
    assert message.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in message.iter_parts()] == ["text/plain", "text/html"]
    assert [name for name, _ in message.items()] == HEADER_NAMES
    assert message["from"].addresses[0].display_name == "Acme, Inc."
    assert message["to"].addresses[0].addr_spec == "jane@example.com"
    assert [each.addr_spec for each in message["cc"].addresses] == ["c1@example.com", "c2@example.com"]
    assert message["reply-to"].addresses[0].addr_spec == "help@acme.example"
    assert message["message-id"] == "<01hx0000000000000000000000@mail.example.com>"
    assert message["date"].datetime.isoformat() == "2026-01-15T12:00:00+00:00"
    assert message["auto-submitted"] == "auto-generated"
    assert not message.defects


def test_text_alone_is_one_part() -> None:
    message = parsed(compiled(subject="s", text="Hello {{ name }}").compose({"name": "J"}, HEAD))
    assert message.get_content_type() == "text/plain"
    assert body(message, "plain") == "Hello J\n"


def test_text_is_derived_where_there_is_only_markup() -> None:
    message = parsed(compiled(subject="s", html="<h1>Hi</h1><p>{{ name }}</p>").compose({"name": "A & B"}, HEAD))
    assert body(message, "plain") == "Hi\n\nA & B\n"


@given(
    name=nasty, subject=st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=200)
)
def test_nasty_values_are_read_back_exactly(name: str, subject: str) -> None:
    content = {"subject": "{{ subject }}", "html": "<p>{{ name }}</p>\n", "text": ".{{ name }}={{ name }}\n\n"}
    message = parsed(compiled(**content).compose({"name": name, "subject": subject}, HEAD))
    assert message["subject"] == subject
    assert [header for header, _ in message.items()] == HEADER_NAMES
    assert body(message, "plain") == lines(f".{name}={name}\n")
    plain = make_environment()
    plain.add_template("html", content["html"])
    assert body(message, "html") == lines(plain.render_template("html", name=name))


@given(literal=nasty.filter(lambda text: "{{" not in text and "{%" not in text and "{#" not in text))
def test_nasty_sources_are_read_back_exactly(literal: str) -> None:
    source = f"{literal}|"
    message = parsed(compiled(subject="s", html=source, text=source).compose({}, HEAD))
    assert body(message, "plain") == lines(source)
    assert body(message, "html") == lines(source)


@pytest.mark.parametrize("mark", ["\r", "\n", "\x00", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
def test_no_source_of_a_header_can_start_a_line(mark: str) -> None:
    evil = f"a{mark}Bcc: evil@example.com"
    mail = compiled(subject="Hello {{ name }}", text="x")
    for head in (
        MailHead(message_id=evil, sender=HEAD.sender, to=HEAD.to, date=HEAD.date),
        MailHead(message_id=HEAD.message_id, sender=f"{evil} <a@example.com>", to=HEAD.to, date=HEAD.date),
        MailHead(message_id=HEAD.message_id, sender=HEAD.sender, to=f"{evil} <a@example.com>", date=HEAD.date),
        MailHead(message_id=HEAD.message_id, sender=HEAD.sender, to=HEAD.to, date=HEAD.date + mark),
        MailHead(message_id=HEAD.message_id, sender=HEAD.sender, to=HEAD.to, date=HEAD.date, reply_to=evil),
        MailHead(message_id=HEAD.message_id, sender=HEAD.sender, to=HEAD.to, date=HEAD.date, cc=(evil,)),
        MailHead(message_id=HEAD.message_id, sender=HEAD.sender, to=HEAD.to, date=HEAD.date, headers=(("X-A", evil),)),
        MailHead(message_id=HEAD.message_id, sender=HEAD.sender, to=HEAD.to, date=HEAD.date, headers=((evil, "x"),)),
    ):
        with pytest.raises(RenderRefused) as refused:
            mail.compose({"name": "x"}, head)
        assert refused.value.code == "header_refused"
        assert "evil" not in refused.value.message
    with pytest.raises(RenderRefused) as refused:
        mail.compose({"name": evil}, HEAD)
    assert (refused.value.code, refused.value.pointer) == ("header_refused", "/subject")


def test_errors_speak_of_the_author_s_own_source() -> None:
    with pytest.raises(RenderRefused) as refused:
        compiled(subject="s", html="<p>\n\n{{ missing.name }}</p>").compose({}, HEAD)
    assert refused.value.code == "missing_variable"
    assert refused.value.pointer == "/html"
    assert "Line 3" in refused.value.message
    with pytest.raises(RenderRefused) as refused:
        compiled(subject="s", html="{% if %}")
    assert refused.value.code == "template_syntax"


def test_heads_of_one_batch_do_not_leak_into_each_other() -> None:
    mail = compiled(subject="s", text="x")
    first = parsed(mail.compose({}, HEAD))
    other = MailHead(message_id="2@example.com", sender="b@example.com", to="k@example.com", date=HEAD.date)
    second = parsed(mail.compose({}, other))
    assert first["reply-to"] is not None
    assert second["reply-to"] is None
    assert second["from"] == "b@example.com"
    assert second["x-order"] is None
