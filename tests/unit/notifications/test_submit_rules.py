"""What a call to send may say, judged before anything is looked up."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from waypost.kernel.errors import Refused
from waypost.kernel.vocabulary import Category
from waypost.notifications.model import SubmitCommand
from waypost.notifications.rules import check_command, choose_category, choose_timing
from waypost.recipients.model import Target
from waypost.templates.model import Content

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
GOOD = SubmitCommand(to=(Target(id="user-42"),), content=Content(subject="Hello", text="Hi"))


def faults(command: SubmitCommand) -> dict[str, str]:
    with pytest.raises(Refused) as refused:
        check_command(command, NOW)
    return {error.pointer: error.code for error in refused.value.errors}


def test_a_plain_call_is_fine() -> None:
    check_command(GOOD, NOW)


@pytest.mark.parametrize(
    ("change", "pointer", "code"),
    [
        ({"to": ()}, "/to", "required"),
        ({"to": tuple(Target(id=f"u{n}") for n in range(1001))}, "/to", "too_many"),
        ({"content": None}, "/content", "content_or_template"),
        ({"template": "welcome"}, "/content", "content_or_template"),
        ({"content": Content(subject="Hello")}, "/content", "required"),
        ({"send_at": NOW - timedelta(minutes=6)}, "/send_at", "in_the_past"),
        ({"send_at": NOW + timedelta(days=367)}, "/send_at", "too_far_ahead"),
        ({"expires_at": NOW}, "/expires_at", "in_the_past"),
        (
            {"send_at": NOW + timedelta(hours=2), "expires_at": NOW + timedelta(hours=1)},
            "/expires_at",
            "before_send_at",
        ),
        ({"sender": "not an address"}, "/from", "invalid_address"),
        ({"reply_to": "x@example.com\r\nBcc: y@example.com"}, "/reply_to", "invalid_address"),
        ({"cc": ("fine@example.com", "wrong@")}, "/cc/1", "invalid_address"),
        ({"bcc": tuple(f"u{n}@example.com" for n in range(21))}, "/cc", "too_many"),
        ({"headers": (("Subject", "mine"),)}, "/headers/Subject", "header_reserved"),
        ({"headers": (("X-Order", "1\n2"),)}, "/headers/X-Order", "header_refused"),
        ({"metadata": {"note": "x" * 17_000}}, "/metadata", "too_large"),
        ({"variables": {"note": "x" * 263_000}}, "/variables", "too_large"),
    ],
)
def test_each_fault_is_named_by_its_pointer(change: dict[str, object], pointer: str, code: str) -> None:
    assert faults(replace(GOOD, **change))[pointer] == code


def test_all_faults_are_told_at_once() -> None:
    command = replace(GOOD, to=(), sender="?", expires_at=NOW - timedelta(days=1))
    assert faults(command).keys() == {"/to", "/from", "/expires_at"}


def test_a_send_time_just_past_means_now() -> None:
    timing = choose_timing(replace(GOOD, send_at=NOW - timedelta(minutes=4)), Category.TRANSACTIONAL, NOW)
    assert timing.send_at == NOW


@pytest.mark.parametrize(
    ("category", "lifetime"),
    [
        (Category.SECURITY, timedelta(hours=1)),
        (Category.TRANSACTIONAL, timedelta(hours=24)),
        (Category.MARKETING, timedelta(days=7)),
    ],
)
def test_every_notification_ends_some_time_after_its_send_time(category: Category, lifetime: timedelta) -> None:
    later = NOW + timedelta(days=3)
    assert choose_timing(replace(GOOD, send_at=later), category, NOW).expires_at == later + lifetime


def test_a_call_cannot_relabel_a_templates_category() -> None:
    with pytest.raises(Refused) as refused:
        choose_category(Category.TRANSACTIONAL, Category.MARKETING)
    assert [error.pointer for error in refused.value.errors] == ["/category"]
    assert choose_category(None, Category.MARKETING) is Category.MARKETING
    assert choose_category(Category.SECURITY, None) is Category.SECURITY
    assert choose_category(None, None) is Category.TRANSACTIONAL
