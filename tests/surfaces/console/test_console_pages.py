"""The console's pages over HTTP: what they show, and what they refuse."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest

from waypost.console.door import POLICY
from waypost.console.pages import ALL_PAGES

LATER = {"send_at": (datetime.now(UTC) + timedelta(days=2)).isoformat()}
Open = Callable[..., Any]


async def test_every_page_is_kept_by_its_policy(open_browser: Open, acme: Any) -> None:
    browser = await open_browser(acme.key)
    for page in ALL_PAGES:
        if page.method == "GET" and "{" not in page.path and page.path != "/tenants":
            answer = await browser.get(page.path)
            assert answer.status_code == 200, page.path
            assert answer.headers["content-security-policy"] == POLICY
            assert answer.headers["cache-control"] == "no-store"
            assert not re.search(r"<script(?![^>]* src=)|\son\w+=|\sstyle=|javascript:", answer.text), page.path


async def test_files_carry_their_hash_and_are_kept_for_ever(open_browser: Open) -> None:
    browser = await open_browser()
    page = (await browser.get("/sign-in")).text
    named = re.findall(r'"(/assets/[^"]+)"', unescape(page))
    assert named
    for path in named:
        answer = await browser.get(path)
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert (await browser.get("/assets/console.css")).status_code == 404


async def test_a_message_is_listed_shown_and_cancelled(open_browser: Open, acme: Any, send: Any) -> None:
    sent = await send(acme, **LATER)
    browser = await open_browser(acme.key)
    assert "jane-7" in (await browser.get("/messages")).text
    page = (await browser.get(f"/messages/{sent}")).text
    assert "Hello Jane" in page
    assert "j***@example.com" in page
    assert "jane@example.com" not in page
    assert "It waits for its time." in page
    cancelled = await browser.submit(f"/messages/{sent}/cancel")
    assert cancelled.headers["location"] == f"/messages/{sent}"
    assert "It was cancelled before it went out." in (await browser.get(f"/messages/{sent}")).text


async def test_a_message_that_has_ended_is_sent_again(open_browser: Open, acme: Any, send: Any) -> None:
    sent = await send(acme, **LATER)
    browser = await open_browser(acme.key)
    assert "Resend this message" not in (await browser.get(f"/messages/{sent}")).text
    await browser.submit(f"/messages/{sent}/cancel")
    [again] = re.findall(rf'"(/messages/{sent}/resend[^"]*)"', unescape((await browser.get(f"/messages/{sent}")).text))
    first, second = await browser.submit(again), await browser.submit(again)
    copy = first.headers["location"]
    assert copy.startswith("/messages/ntf_")
    # Whoever clicks twice has meant it once.
    assert second.headers["location"] == copy != f"/messages/{sent}"
    shown, before = (await browser.get(copy)).text, (await browser.get(f"/messages/{sent}")).text
    assert f'href="/messages/{sent}"' in shown
    assert "Accepted as a resend of" in shown
    assert f'href="{copy}"' in before
    assert "Resent as" in before
    waits = await browser.submit(f"{copy}/resend")
    assert waits.status_code == 409
    nowhere = await send(acme, to={"id": "nobody"}, content={"subject": "s", "text": "t"})
    assert "Resend this message" in (await browser.get(f"/messages/{nowhere}")).text
    await acme.ok("DELETE", "/v1/recipients/nobody")
    assert "Resend this message" not in (await browser.get(f"/messages/{nowhere}")).text
    reader = await open_browser((await acme.with_scopes("acme", "notifications:read")).key)
    assert "Resend this message" not in (await reader.get(f"/messages/{sent}")).text


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", True),
        ("?status=queued", True),
        ("?status=failed", False),
        ("?category=marketing", False),
        ("?recipient=jane-7", True),
        ("?recipient=nobody", False),
        ("?status=nonsense", True),
    ],
)
async def test_the_list_is_filtered(open_browser: Open, acme: Any, query: str, found: bool, send: Any) -> None:
    await send(acme)
    browser = await open_browser(acme.key)
    rows = (await browser.get(f"/messages{query}")).text.partition('id="rows"')[2]
    assert (">jane-7</a>" in rows) is found


async def test_the_live_list_says_nothing_until_something_happens(open_browser: Open, acme: Any, send: Any) -> None:
    first = await send(acme)
    browser = await open_browser(acme.key)
    live = re.search(r'hx-get="(/messages/rows[^"]+)"', unescape((await browser.get("/messages")).text))
    assert live
    path = live[1]
    assert (await browser.get(path)).status_code == 204
    second = await send(acme, to={"id": "paul-8", "email": "paul@example.com"}, content={"subject": "x", "text": "y"})
    rows = (await browser.get(path)).text
    assert re.search(rf'class="fresh">.*?{second}', rows, re.DOTALL)
    assert not re.search(rf'class="fresh">(?:(?!</tr>).)*{first}', rows, re.DOTALL)


async def test_an_ended_session_sends_the_live_list_to_the_door(open_browser: Open) -> None:
    browser = await open_browser()
    answer = await browser.get("/messages/rows", **{"HX-Request": "true"})
    assert (answer.status_code, answer.headers["hx-redirect"]) == (401, "/sign-in")


async def test_the_preview_stands_alone_and_can_do_nothing(open_browser: Open, acme: Any, send: Any) -> None:
    html = '<a HREF = "https://evil.example">x</a><link rel=preconnect href=//evil.example><form action="/x">'
    sent = await send(acme, content={"subject": "s", "html": html})
    browser = await open_browser(acme.key)
    answer = await browser.get(f"/messages/{sent}/preview")
    assert (
        answer.headers["content-security-policy"]
        == "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    )
    assert not re.search(r"(?i)(?<!data-inert-)(href|action)\s*=", answer.text)


async def test_words_of_others_are_escaped(open_browser: Open, acme: Any, send: Any) -> None:
    hostile = "<script>alert(1)</script>"
    sent = await send(
        acme,
        to={"id": "mallory", "email": "m@example.com", "attributes": {"name": hostile}},
        content={"subject": "{{ name }}", "text": hostile, "html": "<b>x</b>"},
        metadata={hostile: hostile},
    )
    browser = await open_browser(acme.key)
    for path in ("", "?tab=text", "?tab=source", "?tab=headers"):
        assert hostile not in (await browser.get(f"/messages/{sent}{path}")).text
    assert hostile not in (await browser.get("/recipients/mallory")).text


async def test_a_person_s_story(open_browser: Open, acme: Any, send: Any) -> None:
    sent = await send(acme)
    await acme.ok(
        "POST", "/v1/suppressions", {"channel": "email", "address": "jane@example.com", "reason": "complaint"}
    )
    browser = await open_browser(acme.key)
    found = await browser.get("/recipients?id=jane-7")
    assert found.headers["location"] == "/recipients/jane-7"
    page = (await browser.get("/recipients/jane-7")).text
    assert sent in page
    assert "complaint" in page
    assert "j***@example.com" in page
    assert "jane@example.com" not in page
    assert (await browser.get("/recipients/nobody")).status_code == 404


async def test_a_key_is_made_shown_once_and_revoked(open_browser: Open, acme: Any) -> None:
    browser = await open_browser(acme.key)
    nameless = await browser.submit("/keys", {"name": " ", "scopes": ["audit:read"]})
    assert nameless.status_code == 422
    made = await browser.submit("/keys", {"name": "shop", "scopes": ["audit:read", "mailbox:read"], "lasts": "30"})
    secret = re.search(r"wp_test_[\w-]{47}", made.text)
    assert secret
    listed = await browser.get("/keys")
    assert secret[0] not in listed.text
    assert ">shop<" in listed.text
    (key_id,) = [key["id"] for key in (await acme.ok("GET", "/v1/api-keys"))["items"] if key["name"] == "shop"]
    assert (await browser.submit(f"/keys/{key_id}/revoke")).headers["location"] == "/keys"
    assert "api_key.revoked" in (await browser.get("/audit")).text


async def test_an_address_is_suppressed_and_released(open_browser: Open, acme: Any) -> None:
    browser = await open_browser(acme.key)
    refused = await browser.submit("/suppressions", {"address": "nonsense", "reason": "manual"})
    assert refused.status_code == 422
    assert "not an email address" in refused.text
    await browser.submit("/suppressions", {"address": "jane@example.com", "reason": "manual"})
    assert "j***@example.com" in (await browser.get("/suppressions")).text
    for query, is_found in (
        ("find=jane@example.com", True),
        ("find=joe@example.com", False),
        ("why=manual", True),
        ("why=complaint", False),
    ):
        assert ("j***@example.com" in (await browser.get(f"/suppressions?{query}")).text) is is_found
    missed = await browser.get("/suppressions?find=nonsense")
    assert missed.status_code == 422
    assert "not an email address" in missed.text
    (standing,) = (await acme.ok("GET", "/v1/suppressions"))["items"]
    await browser.submit(f"/suppressions/{standing['id']}/release")
    assert "Nothing is suppressed" in (await browser.get("/suppressions")).text


async def test_templates_and_their_versions(open_browser: Open, acme: Any) -> None:
    body = {"key": "welcome", "channel": "email", "category": "marketing", "name": "Welcome mail"}
    await acme.ok("POST", "/v1/templates", body)
    words = {"subject": "Hi", "body": "Hello", "format": "text"}
    await acme.ok("POST", "/v1/templates/welcome/email/versions", {"locales": {"en": words}})
    browser = await open_browser(acme.key)
    assert "Welcome mail" in (await browser.get("/templates")).text
    page = (await browser.get("/templates/welcome/email")).text
    assert "1.0.0" in page
    assert "draft" in page


async def test_the_light_switch_is_remembered(open_browser: Open) -> None:
    browser = await open_browser()
    assert 'data-theme="system"' in (await browser.get("/sign-in")).text
    assert (await browser.post("/theme", {"theme": "dark", "back": "/sign-in"})).headers["location"] == "/sign-in"
    assert 'data-theme="dark"' in (await browser.get("/sign-in")).text
    await browser.post("/theme", {"theme": '"><script>', "back": "//evil.example"})
    assert 'data-theme="dark"' in (await browser.get("/sign-in")).text


async def test_the_overview_counts_what_was_accepted(open_browser: Open, acme: Any, send: Any) -> None:
    await acme.ok(
        "POST", "/v1/suppressions", {"channel": "email", "address": "gone@example.com", "reason": "complaint"}
    )
    await send(acme)
    await send(acme, to={"id": "gone", "email": "gone@example.com", "attributes": {"first_name": "G"}})
    browser = await open_browser(acme.key)
    for window in ("1h", "24h", "7d", "30d", "nonsense"):
        page = (await browser.get(f"/?window={window}")).text
        assert "2 messages accepted" in page
        assert "1 waiting, 1 suppressed" in page


@pytest.mark.parametrize("junk", ["%00", "%FF", "x" * 300, "%F0%9F%92%A5", "a%0Ab", "%27%22%3E%3Cb%3E", "-1"])
async def test_junk_in_a_path_or_a_query_is_refused_or_ignored(open_browser: Open, acme: Any, junk: str) -> None:
    browser = await open_browser(acme.key)
    for page in ALL_PAGES:
        if page.method == "GET":
            path = re.sub(r"{\w+}", junk, page.path)
            query = "&".join(
                f"{name}={junk}" for name in ("cursor", "status", "recipient", "id", "tab", "window", "seen")
            )
            for asked in (path, f"{path}?{query}", f"{path}?{junk}"):
                answer = await browser.get(asked)
                assert answer.status_code < 500, asked
                assert "<b>" not in answer.text
