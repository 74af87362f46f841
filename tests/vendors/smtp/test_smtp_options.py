"""Reading the URL of a mail server."""

import pytest

from waypost.adapters.vendors.smtp.options import Tls, own_name, smtp_options
from waypost.kernel.errors import Misconfigured


@pytest.mark.parametrize(
    ("url", "host", "port", "tls"),
    [
        ("smtp://mail.example.com", "mail.example.com", 25, Tls.OPPORTUNISTIC),
        ("smtp://mail.example.com:2525/", "mail.example.com", 2525, Tls.OPPORTUNISTIC),
        ("smtp://mail.example.com:587?tls=required", "mail.example.com", 587, Tls.REQUIRED),
        ("smtp://127.0.0.1:25?tls=off", "127.0.0.1", 25, Tls.OFF),
        ("smtp://[::1]:25", "::1", 25, Tls.OPPORTUNISTIC),
        ("smtps://mail.example.com", "mail.example.com", 465, Tls.IMPLICIT),
        ("smtp://u:p@mail.example.com", "mail.example.com", 25, Tls.REQUIRED),
        ("smtp://u:p@mail.example.com?tls=opportunistic", "mail.example.com", 25, Tls.OPPORTUNISTIC),
    ],
)
def test_urls(url: str, host: str, port: int, tls: Tls) -> None:
    options = smtp_options(url)
    assert (options.host, options.port, options.tls) == (host, port, tls)


def test_everything_else_a_url_can_say() -> None:
    options = smtp_options(
        "smtp://us%40er:p%2Fa%3Ass@h.example?tls=off&plain_auth=yes&verify=no&ca_file=/etc/ca.pem&name=me.example",
        connections=3,
        messages_per_connection=7,
    )
    assert options.credentials is not None
    assert (options.credentials.username, options.credentials.password) == ("us@er", "p/a:ss")
    assert (options.plain_auth, options.verify, options.ca_file, options.name) == (
        True,
        False,
        "/etc/ca.pem",
        "me.example",
    )
    assert (options.connections, options.messages_per_connection) == (3, 7)


def test_the_password_is_never_shown() -> None:
    options = smtp_options("smtps://user:hunter2secret@mail.example.com")
    assert "hunter2secret" not in repr(options)
    assert "hunter2secret" not in str(options)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://mail.example.com", "smtp://"),
        ("mail.example.com", "smtp://"),
        ("smtp://", "no host"),
        ("smtp://mail.example.com:99999", "cannot be read"),
        ("smtp://mail.example.com:abc", "cannot be read"),
        ("smtp://user@mail.example.com", "without a password"),
        ("smtp://:hunter2@mail.example.com", "without a user"),
        ("smtp://mail.example.com?tls=maybe", "required, opportunistic or off"),
        ("smtps://mail.example.com?tls=off", "leave tls= out"),
        ("smtp://mail.example.com?verify=1", "yes or no"),
        ("smtp://mail.example.com?colour=red", "only tls"),
        ("smtp://mail.example.com?tls", "cannot be read"),
        ("smtp://mail.example.com/path", "between the port"),
        ("smtp://u:hunter2@mail.example.com?tls=off", "open line"),
        ("smtp://mail.example.com?name=a%0d%0ab", "full name"),
        ("smtp://u:hunter2%00@mail.example.com", "NUL"),
        ("smtp://a b.example.com", "no host"),
    ],
)
def test_what_is_wrong_is_said_without_repeating_it(url: str, words: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        smtp_options(url)
    assert words in refused.value.detail
    assert "hunter2" not in refused.value.detail


def test_we_introduce_ourselves_by_a_real_name() -> None:
    assert own_name("10.0.0.1", lambda: "mail.example.com") == "mail.example.com"
    assert own_name("10.0.0.1", lambda: "laptop") == "[10.0.0.1]"
    assert own_name("fe80::1", lambda: "laptop") == "[IPv6:fe80::1]"
    assert own_name("10.0.0.1", lambda: "bad_name.é") == "[10.0.0.1]"
