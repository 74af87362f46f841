"""Whole messages of every shape, written by us and read by the standard library: nothing is lost, added or moved.

`make properties` runs thousands of cases; the suite a few hundred.
"""

import email
import email.policy
import hashlib
import os
import re
from dataclasses import dataclass
from email.message import EmailMessage

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.adapters.render.engine import JinjaDialect
from waypost.adapters.render.mail_compose import compile_mail
from waypost.adapters.render.refusal import RenderRefused
from waypost.adapters.render.wire import Parts
from waypost.channels.mime_parts import base64_lines, file_name_parameter, tail_of
from waypost.channels.rules import is_wire_safe
from waypost.kernel.attachments import FileLimits, FileRef, NewFile, check_files, type_of
from waypost.templates.model import Content
from waypost.templates.ports import MailHead

EXAMPLES = int(os.environ.get("WAYPOST_PROPERTY_EXAMPLES", "300"))

# Characters by what is hard about them: combining, right-to-left, astral, emoji with joiners, look-alikes of syntax.
SCRIPTS = [
    "naïve Ångström",
    "שלום עולם",
    "مرحبا بالعالم \u200f",
    "日本語のメール",
    "e\u0301\u0323o\u0308",
    "👩\u200d👩\u200d👧\u200d👦🏳️\u200d🌈",
    "\U00020000\U0001f600",
    "ﬁ\u00a0ß",
    "=?utf-8?q?x?=",
    "a=3Db",
    "--=_waypost_mixed",
    ". dot",
    '"quoted", \\ (comment) <a@b.example>',
    "x" * 1_100,
    "word " * 300,
]
one_line = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=120)
subjects = one_line | st.lists(st.sampled_from(SCRIPTS), min_size=1, max_size=4).map(" ".join)
bodies = st.text(st.characters(exclude_characters="\x00", exclude_categories=("Cs",)), max_size=300) | st.lists(
    st.sampled_from([*SCRIPTS, "\n", "\r\n", "\n.\n", "\n..", ".", " \n", "\t\n", "\n\n", "--=_waypost_related--\n"]),
    max_size=12,
).map("".join)
names = st.sampled_from(["", *(script for script in SCRIPTS if len(script) < 60 and "<" not in script)])
addresses = st.sampled_from(
    ["jane@example.com", "o'neil+x@mail.example.co.uk", "jürgen@example.com", "用户@example.com"]
)
mailboxes = st.builds(lambda name, address: f"{name} <{address}>" if name else address, names, addresses)
file_names = st.text(
    st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp", "Cf", "Cn", "Co", "Zs")), min_size=1, max_size=60
).map(lambda name: name.replace("/", "_").replace("\\", "_")).filter(lambda name: name.isprintable()) | st.sampled_from(
    ["a.pdf", "résumé.pdf", "x" * 140 + ".txt", 'we"ird;name=x.png', "קובץ.pdf", "😀" * 40, "a b.c", "%41'x'", "<>"]
)
types = st.sampled_from(
    [None, "application/pdf", "image/png", "text/plain; charset=utf-8", "text/calendar; method=REQUEST"]
)


ANOTHER = MailHead(
    message_id="another@mail.example.com",
    sender="Another <another@example.com>",
    to="another@example.com",
    date="Fri, 16 Jan 2026 12:00:00 +0000",
    reply_to="another@example.com",
    cc=("another@example.com",),
    headers=(("Auto-Submitted", "auto-replied"), ("X-Note", "another")),
)


@dataclass(frozen=True)
class Case:
    head: MailHead
    subject: str
    text: str | None
    html: str | None
    files: tuple[tuple[FileRef, bytes], ...]

    @property
    def has_html(self) -> bool:
        return self.html is not None


@st.composite
def files(draw: st.DrawFn, *, number: int) -> tuple[FileRef, bytes]:
    content = draw(st.binary(max_size=300) | st.sampled_from([b"", b"\n.\r\n.\n" * 30, b"--=_waypost_mixed--"]))
    given_file = NewFile(
        filename=draw(file_names),
        content=content,
        content_type=draw(types),
        content_id=draw(st.sampled_from([None, f"image-{number}", f"i{number}@mail.example"])),
    )
    assert not list(check_files([given_file], FileLimits(), pointer=""))
    digest = hashlib.sha256(content).digest()
    return FileRef(digest, given_file.filename, type_of(given_file), len(content), given_file.content_id), content


@st.composite
def cases(draw: st.DrawFn) -> Case:
    html = draw(st.none() | bodies)
    text = draw(bodies if html is None else st.none() | bodies)
    carried = tuple(draw(files(number=number)) for number in range(draw(st.integers(0, 3))))
    has_html = html is not None
    head = MailHead(
        message_id="01hx0000000000000000000000@mail.example.com",
        sender=draw(mailboxes),
        to=draw(mailboxes),
        date="Thu, 15 Jan 2026 12:00:00 +0000",
        reply_to=draw(st.none() | mailboxes),
        cc=tuple(draw(st.lists(mailboxes, max_size=3))),
        headers=draw(st.sampled_from([(), (("Auto-Submitted", "auto-generated"), ("X-Note", "née " * 40))])),
        has_images=has_html and any(file.content_id is not None for file, _ in carried),
        has_files=any(file.content_id is None or not has_html for file, _ in carried),
    )
    return Case(head, draw(subjects), text, html, carried)


def compose(case: Case) -> bytes:
    """The values travel as variables, as they do for every recipient."""
    content = Content(
        subject="{{ subject }}",
        html=None if case.html is None else "<i>{{ html }}</i>",
        text=None if case.text is None else "{{ text }}|",
    )
    context = {"subject": case.subject, "html": case.html, "text": case.text}
    mail = compile_mail(JinjaDialect(), Parts.of(content))
    # Somebody else's message went before: nothing of it may stay.
    mail.compose(context | {"subject": "Another"}, ANOTHER)
    data = mail.compose(context, case.head)
    if case.files:
        assert is_wire_safe(data)
        data += tail_of(case.files, has_html=case.has_html)
    return data


def lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def decoded(part: EmailMessage) -> bytes:
    payload = part.get_payload(decode=True)
    assert isinstance(payload, bytes)
    return payload


def escaped(text: str) -> str:
    for sign, entity in (
        ("&", "&amp;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ('"', "&quot;"),
        ("'", "&#x27;"),
        ("/", "&#x2f;"),
    ):
        text = text.replace(sign, entity)
    return text


def shape_of(case: Case) -> object:
    """What the parts must be: mixed(alternative(text, related(html, images)), files)."""
    words: object = "text/plain"
    if case.has_html:
        images = [file.content_type.partition(";")[0] for file, _ in case.files if file.content_id is not None]
        html: object = ("multipart/related", ["text/html", *images]) if images else "text/html"
        words = ("multipart/alternative", ["text/plain", html])
    others = [
        file.content_type.partition(";")[0] for file, _ in case.files if file.content_id is None or not case.has_html
    ]
    return ("multipart/mixed", [words, *others]) if others else words


def shape(part: EmailMessage) -> object:
    if part.is_multipart():
        return part.get_content_type(), [shape(child) for child in part.iter_parts()]  # type: ignore[arg-type]
    return part.get_content_type()


def assert_safe_on_the_wire(message: bytes) -> None:
    assert is_wire_safe(message)
    assert b"\x00" not in message
    assert message.count(b"\r") == message.count(b"\n") == message.count(b"\r\n")
    assert b"\r\n." not in b"\r\n" + message
    for line in message.split(b"\r\n"):
        assert len(line) <= 998
        for word in re.findall(rb"=\?utf-8\?b\?[^?]*\?=", line):
            assert len(word) <= 75
    head, _, body = message.partition(b"\r\n\r\n")
    assert body.isascii()
    assert max((len(line) for line in body.split(b"\r\n")), default=0) <= 78
    if not head.isascii():  # only addresses may be beyond ASCII
        for line in head.split(b"\r\n"):
            assert line.isascii() or b"@example.com" in line


@settings(max_examples=EXAMPLES)
@given(case=cases())
def test_whatever_is_written_is_read_back(case: Case) -> None:
    message = compose(case)
    assert_safe_on_the_wire(message)
    read = email.message_from_bytes(message, policy=email.policy.default)
    assert isinstance(read, EmailMessage)
    expected = ["Date", "From", *(["Reply-To"] if case.head.reply_to else []), *(["Cc"] if case.head.cc else [])]
    expected += [name for name, _ in case.head.headers] + [
        "To",
        "Subject",
        "Message-ID",
        "MIME-Version",
        "Content-Type",
    ]
    if not case.has_html and not case.files:
        expected.append("Content-Transfer-Encoding")
    assert [name for name, _ in read.items()] == expected
    assert read["subject"] == case.subject
    assert (read["date"], read["message-id"]) == (case.head.date, f"<{case.head.message_id}>")
    assert [read[name] for name, _ in case.head.headers] == [value for _, value in case.head.headers]
    assert shape(read) == shape_of(case)
    assert not [part.defects for part in read.walk() if part.defects]
    leaves = [part for part in read.walk() if not part.is_multipart()]
    texts = leaves[: 2 if case.has_html else 1]
    if case.text is not None:
        end = "\n" if not case.has_html and not case.files else ""
        assert decoded(texts[0]).decode().replace("\r\n", "\n") == lines(f"{case.text}|{end}")
    if case.html is not None:
        assert decoded(texts[-1]).decode().replace("\r\n", "\n") == lines(f"<i>{escaped(case.html)}</i>")
    images = [each for each in case.files if case.has_html and each[0].content_id is not None]
    others = [each for each in case.files if each not in images]
    for part, (file, content) in zip(leaves[len(texts) :], [*images, *others], strict=True):
        assert decoded(part) == content
        assert part["content-disposition"].params["filename"] == file.filename
        assert part["content-id"] == (None if file.content_id is None else f"<{file.content_id}>")
        assert part.get_content_disposition() == ("attachment" if file.content_id is None else "inline")


@settings(max_examples=EXAMPLES)
@given(case=cases())
def test_people_are_read_back(case: Case) -> None:
    # The parser knows RFC 6532 only in text: the octets are read as what they are.
    read = email.message_from_string(compose(case).decode(), policy=email.policy.default)
    for header, given_boxes in (("from", (case.head.sender,)), ("to", (case.head.to,)), ("cc", case.head.cc)):
        found = read[header].addresses if given_boxes else ()
        assert [each.addr_spec for each in found] == [box.rpartition("<")[2].rstrip(">") for box in given_boxes]
        for each, box in zip(found, given_boxes, strict=True):
            name = box.rpartition("<")[0].strip() if box.endswith(">") else ""
            if len(name) >= 2 and name[0] == name[-1] == '"':
                continue
            assert "".join(each.display_name.split()) == "".join(name.split())


@settings(max_examples=EXAMPLES)
@given(name=file_names)
def test_file_names_are_read_back(name: str) -> None:
    header = f"Content-Disposition: attachment;{file_name_parameter(name)}\r\n\r\n"
    assert header.isascii()
    assert max(len(line) for line in header.split("\r\n")) <= 78
    read = email.message_from_string(header, policy=email.policy.default)
    # Not `get_filename`: it takes pointed brackets off.
    assert read["content-disposition"].params["filename"] == name
    assert read.get_content_disposition() == "attachment"
    assert list(read["content-disposition"].params) == ["filename"]


@given(st.binary(max_size=1_000))
def test_base64_comes_in_lines_of_76(content: bytes) -> None:
    encoded = base64_lines(content)
    assert all(len(line) <= 76 for line in encoded.split(b"\r\n"))
    assert encoded == b"" or encoded.endswith(b"\r\n")
    read = email.message_from_bytes(b"Content-Transfer-Encoding: base64\r\n\r\n" + encoded)
    assert read.get_payload(decode=True) == content


BREAKS = ["\r", "\n", "\r\n", "\x00", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\x7f"]


@given(mark=st.sampled_from(BREAKS), before=one_line, after=st.sampled_from(["", " ", "Bcc: evil@example.com"]))
def test_nothing_from_outside_starts_a_line(mark: str, before: str, after: str) -> None:
    evil = f"{before}{mark}{after}"
    base = {"message_id": "1@example.com", "sender": "a@example.com", "to": "b@example.com", "date": "Thu, 15 Jan 2026"}
    mail = compile_mail(JinjaDialect(), Parts.of(Content(subject="{{ subject }}", text="x")))
    heads = [
        MailHead(**base | {"sender": f"{evil} <a@example.com>"}),
        MailHead(**base | {"to": f"{evil} <a@example.com>"}),
        MailHead(**base | {"to": f"{evil}@example.com"}),
        MailHead(**base, cc=(f"{evil} <a@example.com>",)),
        MailHead(**base, reply_to=f"{evil} <a@example.com>"),
        MailHead(**base, headers=(("X-Note", evil),)),
        MailHead(**base, headers=((f"X-{evil}", "x"),)),
        MailHead(**base | {"message_id": f"{evil}@example.com"}),
    ]
    for head in heads:
        with pytest.raises(RenderRefused):
            mail.compose({"subject": "s"}, head)
    with pytest.raises(RenderRefused):
        mail.compose({"subject": evil}, MailHead(**base))
    for file in (
        NewFile(filename=evil, content=b""),
        NewFile(filename="a", content=b"", content_type=f"text/{evil}"),
        NewFile(filename="a", content=b"", content_id=evil),
    ):
        assert list(check_files([file], FileLimits(), pointer="/attachments"))
