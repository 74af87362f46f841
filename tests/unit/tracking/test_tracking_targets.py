"""Where a tracked link may lead: to plain addresses of the web, written so that a header can carry them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.tracking.targets import LONGEST, is_target, target_of


@pytest.mark.parametrize(
    "text",
    [
        "https://example.com",
        "http://example.com/",
        "HTTPS://Example.com/A",
        "https://example.com:8443/a/b;c=d?x=1&y=%20#part",
        "https://[2001:db8::1]/x",
        "https://127.0.0.1:8000/",
        "https://sub_domain.example.com./x",
        "https://example.com/!$&'()*+,;=:@-._~/[a]",
    ],
)
def test_an_address_stays_as_it_is(text: str) -> None:
    assert target_of(text) == text


@pytest.mark.parametrize(
    ("written", "led"),
    [
        ("  https://example.com/a \n", "https://example.com/a"),
        ("https://example.com/ü?q=ß", "https://example.com/%C3%BC?q=%C3%9F"),
        ("https://example.com/a b|c{d}", "https://example.com/a%20b%7Cc%7Bd%7D"),
        ("https://example.com/100%", "https://example.com/100%"),
    ],
)
def test_what_browsers_encode_is_encoded(written: str, led: str) -> None:
    assert target_of(written) == led


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#top",
        "/path",
        "//example.com/x",
        "mailto:ada@example.com",
        "tel:+431234",
        "sms:+431234",
        "javascript:alert(1)",
        "java\tscript:alert(1)",
        "data:text/html,x",
        "ftp://example.com/",
        "https:example.com",
        "https:/example.com",
        "https:///example.com",
        "https://",
        "https://user@example.com/",
        "https://user:pass@example.com/",
        "https://example.com\\@evil.example/",
        "https://example.com/a\\b",
        "https://exa mple.com/",
        "https://example.com/\x00",
        "https://example.com/a\r\nb",
        "https://müller.example/",
        "https://example.com:port/",
        "https://example.com/\ud800",
        "https://example.com/" + "x" * LONGEST,
        "https://-example.com/",
    ],
)
def test_what_is_odd_is_not_tracked(text: str) -> None:
    assert target_of(text) is None


@given(st.text(max_size=300))
def test_whatever_is_written_the_answer_fits_into_a_header_and_stays(text: str) -> None:
    for written in (text, f"https://example.com/{text}", f"https://{text}"):
        led = target_of(written)
        if led is not None:
            assert led.isascii()
            assert led.isprintable()
            assert " " not in led
            assert "@" not in led.split("/")[2].split("?")[0].split("#")[0]
            assert led.lower().startswith(("http://", "https://"))
            assert target_of(led) == led
            assert is_target(led)
