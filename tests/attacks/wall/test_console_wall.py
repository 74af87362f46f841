"""6, in the browser: a session of one tenant sees nothing of another, and acts only by its own forms."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

ULID = "01KF0M7Q8Z6Y5X4W3V2T1S0R9Q"
_PROOF = re.compile(r'name="proof" value="([^"]+)"')


@pytest.fixture(scope="module")
def browser(fortress: Any, wall_a: Any) -> Iterator[httpx.Client]:
    """Signed in as tenant A."""
    with httpx.Client(base_url=fortress.url, trust_env=False, timeout=30) as client:
        signed = client.post("/sign-in", data={"key": wall_a.key}, headers={"Origin": fortress.url})
        assert signed.status_code == 303, signed.text
        cookie = signed.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite" in cookie
        assert client.get("/").status_code == 200
        yield client


@pytest.fixture(scope="module")
def proof(browser: httpx.Client) -> str:
    for path in ("/keys/new", "/suppressions", "/keys", "/"):
        if found := _PROOF.search(browser.get(path).text):
            return found[1]
    raise AssertionError("no page has a form")


@pytest.fixture(scope="module")
def foreign(fortress: Any, wall_b: Any) -> dict[str, str]:
    sent = wall_b.ok(
        "POST",
        "/v1/notifications",
        {
            "to": {"id": "console-b", "email": "console-b@hush.example"},
            "content": {"subject": "hush of b", "html": "<p>hush of b</p>"},
        },
    )
    wall_b.ok("POST", "/v1/templates", {"key": "console-b", "name": "n", "category": "transactional"})
    suppression = wall_b.ok("POST", "/v1/suppressions", {"address": "console-no@hush.example"})
    key = wall_b.ok("POST", "/v1/api-keys", {"name": "console", "scopes": ["recipients:read"]})
    fortress.secrets.append(key["secret"])
    return {"ntf": sent["notifications"][0]["id"], "sup": suppression["id"], "key": key["id"]}


def without_ids(answer: httpx.Response, *ids: str) -> str:
    text = re.sub(r"rid_[0-9A-Z]{26}", "RID", answer.text)
    for one in ids:
        text = text.replace(one, "ID")
    return text


def test_pages_about_what_is_foreign_are_those_about_what_is_unknown(
    browser: httpx.Client, foreign: dict[str, str]
) -> None:
    for path, own, unknown in (
        ("/messages/{}", foreign["ntf"], f"ntf_{ULID}"),
        ("/messages/{}/preview", foreign["ntf"], f"ntf_{ULID}"),
        ("/recipients/{}", "console-b", "console-x"),
        ("/templates/{}/email", "console-b", "console-x"),
        ("/mailbox/{}", f"mbx_{foreign['ntf'][4:]}", f"mbx_{ULID}"),
    ):
        other, absent = browser.get(path.format(own)), browser.get(path.format(unknown))
        assert (other.status_code, absent.status_code) == (404, 404), path
        assert without_ids(other, own) == without_ids(absent, unknown), path
        assert "hush of b" not in other.text


def test_lists_show_only_one_s_own(browser: httpx.Client, foreign: dict[str, str]) -> None:
    for path in ("/", "/messages", "/messages/rows", "/recipients", "/templates", "/suppressions", "/keys", "/audit"):
        answer = browser.get(path)
        assert answer.status_code in (200, 204), path
        for private in (*foreign.values(), "console-b", "wall-b"):
            assert private not in answer.text, (path, private)
    assert browser.get("/messages?recipient_id=console-b").status_code == 200
    # The tenants are the platform's.
    assert "wall-b" not in browser.get("/tenants").text


def test_forms_act_on_one_s_own_only_and_only_with_their_proof(
    fortress: Any, browser: httpx.Client, proof: str, foreign: dict[str, str], wall_b: Any
) -> None:
    origin = {"Origin": fortress.url}
    for path in (
        f"/messages/{foreign['ntf']}/cancel", f"/messages/{foreign['ntf']}/resend",
        f"/suppressions/{foreign['sup']}/release", f"/keys/{foreign['key']}/revoke",
    ):  # fmt: skip
        assert browser.post(path, data={"proof": proof}, headers=origin).status_code == 404, path
        assert browser.post(path, data={"x": "y"}, headers=origin).status_code == 403, path
        assert browser.post(path, data={"proof": "x" * len(proof)}, headers=origin).status_code == 403, path
        for evil in (
            "https://evil.example",
            "null",
            fortress.url.replace("http://", "http://evil@"),
            "http://127.0.0.1",
        ):
            assert browser.post(path, data={"proof": proof}, headers={"Origin": evil}).status_code == 403, (path, evil)
    assert browser.post("/tenants/act", data={"proof": proof, "tenant": "wall-b"}, headers=origin).status_code in (
        403,
        404,
    )
    assert browser.get("/recipients/console-b").status_code == 404
    assert foreign["sup"] in [one["id"] for one in wall_b.all("/v1/suppressions")]
    assert [one["revoked_at"] for one in wall_b.all("/v1/api-keys") if one["id"] == foreign["key"]] == [None]


def test_a_session_that_was_bent_is_no_session(fortress: Any, browser: httpx.Client) -> None:
    (name, token), *_ = [(name, value) for name, value in browser.cookies.items() if "session" in name]
    for bent in (
        token[:-1],
        token + "A",
        token[::-1],
        "",
        "A" * len(token),
        token.swapcase(),
        token.replace(".", "", 1),
    ):
        answer = httpx.get(f"{fortress.url}/messages", headers={"Cookie": f"{name}={bent}"}, trust_env=False)
        assert bent == token or answer.status_code == 303, bent
    answer = httpx.get(f"{fortress.url}/v1/recipients", headers={"Cookie": f"{name}={token}"}, trust_env=False)
    assert answer.status_code == 401, "the API takes no cookies"


def test_nobody_is_sent_elsewhere_after_signing_in(fortress: Any, wall_a: Any) -> None:
    for wanted in (
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "\\\\evil",
        "/%0d%0aX: y",
        "javascript:x",
        "@e",
    ):
        data = {"key": wall_a.key, "next": wanted}
        answer = httpx.post(f"{fortress.url}/sign-in", data=data, headers={"Origin": fortress.url}, trust_env=False)
        assert answer.status_code == 303
        assert answer.headers["location"] in ("/", "/%0d%0aX: y"), wanted
        assert "x" not in answer.headers
