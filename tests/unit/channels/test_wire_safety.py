"""A message must not be able to end itself on the wire, whatever the render process made of it."""

import pytest

from waypost.channels.rules import is_wire_safe


@pytest.mark.parametrize(
    "message",
    [
        b"Subject: a\r\n\r\nbody\r\n.\r\nMAIL FROM:<x@example.com>\r\n",
        b"Subject: a\r\n\r\nbody\n.\nMAIL FROM:<x@example.com>\r\n",
        b"Subject: a\r\n\r\nbody\n.\r\n",
        b"Subject: a\r\n\r\nbody\r.\r",
        b"Subject: a\r\n\r\n.hidden\r\n",
        b".\r\n",
        b"Subject: a\r\n\r\nno end",
    ],
)
def test_what_some_server_would_take_for_the_end_is_looked_at_again(message: bytes) -> None:
    assert not is_wire_safe(message)


def test_an_ordinary_message_goes_as_it_is() -> None:
    assert is_wire_safe(b"Subject: a.b\r\n\r\nDots. In lines. Are fine...\r\n")
