"""Headers: what is written is read back by others exactly, and nothing can start a line of its own."""

import email
import email.policy
import re
from email.header import decode_header, make_header

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.render.mail_headers import (
    address_header,
    date_header,
    message_id_header,
    split_mailbox,
    text_header,
)
from waypost.adapters.render.refusal import RenderRefused

LINE_BREAKS = ["\r", "\n", "\r\n", "\x00", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\x7f", "\x1b"]

calm = st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"))
header_text = st.text(calm, min_size=1, max_size=300) | st.text("ab =?_é.\U0001f600", min_size=1, max_size=400)
local_parts = st.from_regex(r"[a-z0-9!#$%&'*+/=?^_`{|}~-]{1,20}(\.[a-z0-9]{1,10})?", fullmatch=True)
addresses = st.builds("{}@{}.example".format, local_parts, st.from_regex(r"[a-z0-9]{1,30}", fullmatch=True))


def parsed(header: str) -> email.message.EmailMessage:
    return email.message_from_bytes(header.encode("ascii") + b"\r\n", policy=email.policy.default)


def assert_well_formed(header: str) -> None:
    assert header.endswith("\r\n")
    lines = header[:-2].split("\r\n")
    for number, line in enumerate(lines):
        assert "\r" not in line
        assert "\n" not in line
        assert line.strip() != ""
        assert len(line) <= 998
        assert number == 0 or line[0] == " "
        for word in re.findall(r"=\?utf-8\?b\?.*?\?=", line):
            assert len(word) <= 75


@given(header_text)
def test_a_subject_is_read_back_exactly(subject: str) -> None:
    header = text_header("Subject", subject)
    assert_well_formed(header)
    assert parsed(header)["subject"] == subject
    assert str(make_header(decode_header(header[len("Subject:") :].replace("\r\n", "").strip()))) == subject


@given(st.lists(st.sampled_from(["word", "=?", "?=", "é", "a" * 40, " ", "  "]), min_size=1, max_size=80).map(" ".join))
def test_long_subjects_are_folded_to_78_columns(subject: str) -> None:
    header = text_header("Subject", subject)
    assert_well_formed(header)
    assert max(len(line) for line in header.split("\r\n")) <= 78 + 44
    assert parsed(header)["subject"] == subject


def test_words_without_spaces_still_fit_on_lines() -> None:
    header = text_header("Subject", "x" * 5000)
    assert_well_formed(header)
    assert parsed(header)["subject"] == "x" * 5000


@given(st.lists(st.tuples(st.text(calm, max_size=60), addresses), min_size=1, max_size=6))
def test_mailboxes_are_read_back_exactly(people: list[tuple[str, str]]) -> None:
    names = [name.strip().strip('"\\<') for name, _ in people]
    header = address_header(
        "Cc",
        tuple(f"{name} <{address}>" if name else address for name, (_, address) in zip(names, people, strict=True)),
    )
    assert_well_formed(header)
    found = parsed(header)["cc"].addresses
    assert [each.addr_spec for each in found] == [address for _, address in people]
    for written, read in zip(names, found, strict=True):
        # The standard library joins runs of spaces and puts spaces between the encoded words of a long display name.
        assert "".join(read.display_name.split()) == "".join(written.split())
        if len(written.encode()) < 30:
            assert read.display_name.split() == written.split()


@pytest.mark.parametrize(
    ("mailbox", "display", "address"),
    [
        ("jane@example.com", "", "jane@example.com"),
        ("Jane <jane@example.com>", "Jane", "jane@example.com"),
        ('"Acme, \\"Inc\\"" <a@example.com>', 'Acme, "Inc"', "a@example.com"),
        ("  Jane Doe   <jane@example.com> ", "Jane Doe", "jane@example.com"),
        ("<jane@example.com>", "", "jane@example.com"),
    ],
)
def test_mailboxes_are_split(mailbox: str, display: str, address: str) -> None:
    assert split_mailbox(mailbox) == (display, address)


def test_display_names_that_need_it_are_quoted() -> None:
    assert address_header("From", ("Acme, Inc. <a@example.com>",)) == 'From: "Acme, Inc." <a@example.com>\r\n'
    assert address_header("From", ("Acme <a@example.com>",)) == "From: Acme <a@example.com>\r\n"


@pytest.mark.parametrize("mark", LINE_BREAKS)
@pytest.mark.parametrize("place", ["start", "middle", "end"])
def test_what_could_end_a_line_is_refused_everywhere(mark: str, place: str) -> None:
    value = {"start": f"{mark}Bcc: x@example.com", "middle": f"a{mark}Bcc: x@example.com", "end": f"a{mark}"}[place]
    for make in (
        lambda: text_header("Subject", value),
        lambda: text_header("X-Custom", value),
        lambda: text_header(f"X-{value}", "a"),
        lambda: address_header("To", (f"{value} <a@example.com>",)),
        lambda: address_header("To", (f"a@example.com{value}",)),
        lambda: address_header("To", ("a@example.com", f"{value}@example.com")),
        lambda: message_id_header(f"{value}@example.com"),
        lambda: date_header(value),
    ):
        with pytest.raises(RenderRefused) as refused:
            make()
        assert refused.value.code == "header_refused"
        assert "Bcc: x" not in refused.value.message


@pytest.mark.parametrize(
    "address",
    [
        "jos\u00ade@example.com",
        "é@b@example.com",
        "é é@example.com",
        "a@bücher.example",
        "no-at",
        "a b@example.com",
        "a@b@example.com",
        "a,b@example.com",
        "",
    ],
)
def test_what_is_not_an_address_is_refused(address: str) -> None:
    for mailbox in (address, f"Name <{address}>"):
        with pytest.raises(RenderRefused) as refused:
            address_header("To", (mailbox,))
        assert refused.value.code == "header_refused"


def test_header_names_are_tokens() -> None:
    for name in ("", ".X", "X Y", "X:Y", "é", "x" * 77):
        with pytest.raises(RenderRefused):
            text_header(name, "a")
    assert parsed(text_header("X-" + "y" * 74, "a"))["X-" + "y" * 74] == "a"


def test_plain_headers_stay_readable() -> None:
    assert text_header("Subject", "Hello Jane") == "Subject: Hello Jane\r\n"
    assert message_id_header("01abc@example.com") == "Message-ID: <01abc@example.com>\r\n"
    assert date_header("Thu, 15 Jan 2026 12:00:00 +0000") == "Date: Thu, 15 Jan 2026 12:00:00 +0000\r\n"
