"""What is noticed of the readers of a submitted mail: by the rules of every call, and one word to say otherwise."""

import pytest

from waypost.kernel.errors import Refused
from waypost.kernel.tracking import UNSAID, Tracking
from waypost.submission.model import ReadMail
from waypost.submission.rules import command_of


def mail(**controls: str) -> ReadMail:
    return ReadMail(
        sender="orders@shop.example",
        reply_to=None,
        message_id=None,
        subject="s",
        html='<a href="https://shop.example/">x</a>',
        text=None,
        controls=tuple(controls.items()),
    )


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("on", Tracking(opens=True, clicks=True)),
        ("OFF", Tracking(opens=False, clicks=False)),
        ("opens", Tracking(opens=True, clicks=False)),
        ("clicks", Tracking(opens=False, clicks=True)),
    ],
)
def test_a_header_says_what_is_noticed(word: str, meant: Tracking) -> None:
    assert command_of(mail(tracking=word), ("jane@example.com",)).tracking == meant


def test_without_a_word_whoever_is_asked_next_decides() -> None:
    assert command_of(mail(), ("jane@example.com",)).tracking == UNSAID


def test_another_word_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        command_of(mail(tracking="maybe"), ("jane@example.com",))
    [error] = refused.value.errors
    assert (error.pointer, error.code) == ("/headers/X-Waypost-Tracking", "header_refused")
