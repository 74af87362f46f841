"""Sender accounts over the API: what is shown and what never is, refusals, and how each stands."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from waypost.kernel.tenancy import Permission

HUSH = "correct horse battery"
NEW = {
    "kind": "smtp",
    "name": "Newsletter",
    "from_address": "News@Mail.Example.com",
    "display_name": "Example Shop",
    "host": "smtp.example.com",
    "auth": "plain",
    "username": "news",
    "secret": HUSH,
    "daily_limit": 500,
    "provider_limits": {"gmail": 50},
    "categories": ["marketing"],
}
PATH = "/v1/sender-accounts"


async def test_the_life_of_an_account(acme: Any) -> None:
    made = await acme.ok("POST", PATH, NEW)
    assert made["id"].startswith("acc_")
    assert (made["from_address"], made["domain"]) == ("news@mail.example.com", "mail.example.com")
    assert (made["status"], made["has_secret"], made["secret_is_reference"]) == ("active", True, False)
    today = made["today"]
    assert (today["sent"], today["limit"], today["remaining"], today["limit_reached"]) == (0, 500, 500, False)
    assert today["next_reset"].endswith("T00:00:00Z")
    path = f"{PATH}/{made['id']}"
    assert await acme.ok("GET", path) == made
    assert [one["id"] for one in (await acme.ok("GET", PATH))["items"]] == [made["id"]]

    changed = await acme.ok("PATCH", path, {"daily_limit": None, "warmup": {}}, headers={"If-Match": '"1"'})
    assert (changed["status"], changed["today"]["limit"], changed["warmup"]["stage"]) == ("warming_up", 50, 1)
    assert [stage["limit"] for stage in changed["warmup"]["stages"]] == [50, 100, 250, 500, 1000, 2000]
    stale = await acme("PATCH", path, {"daily_limit": 1}, headers={"If-Match": '"1"'})
    assert stale.status_code == 412

    paused = await acme.ok("POST", f"{path}/pause")
    assert (paused["status"], paused["status_reason"]) == ("paused", "by_hand")
    resumed = await acme.ok("POST", f"{path}/resume")
    assert (resumed["status"], resumed["status_reason"], resumed["warmup"]["stage"]) == ("warming_up", None, 1)
    assert await acme.ok("GET", f"{path}/days") == {"items": [], "next": None}

    assert (await acme("DELETE", path)).status_code == 204
    assert (await acme.ok("GET", PATH))["items"] == []
    archived = await acme.ok("GET", f"{PATH}?archived=true")
    assert [(one["status"], one["has_secret"]) for one in archived["items"]] == [("archived", False)]
    for method, at, body in (
        ("PATCH", path, {"name": "x"}),
        ("POST", f"{path}/resume", None),
        ("POST", f"{path}/test", None),
    ):
        assert (await acme.refused(method, at, body))[:2] == (409, "account_archived")
    assert (await acme("DELETE", path)).status_code == 204

    log = await acme.ok("GET", "/v1/audit?limit=100")
    actions = [entry["action"] for entry in log["items"]]
    for action in ("created", "changed", "paused", "resumed", "archived"):
        assert actions.count(f"sender_account.{action}") == 1
    assert HUSH not in str(log)


async def test_the_secret_is_sealed_and_shown_nowhere(acme: Any, admin: Any) -> None:
    made = await acme.ok("POST", PATH, NEW)
    path = f"{PATH}/{made['id']}"
    answers = [made, await acme.ok("GET", path), await acme.ok("PATCH", path, {"secret": f"{HUSH} 2"})]
    assert HUSH not in str(answers)
    assert answers[-1]["version"] == 2
    row = await admin.fetchrow("select * from sender_accounts")
    assert HUSH.encode() not in bytes(row["secret"])
    assert HUSH not in str(dict(row) | {"secret": ""})


async def test_who_may_change_an_account_does_not_thereby_learn_its_secret(acme: Any) -> None:
    path = f"{PATH}/{(await acme.ok('POST', PATH, NEW))['id']}"
    for change in ({"host": "evil.example.net"}, {"port": 2525}, {"tls": "opportunistic"}, {"username": "me"}):
        assert (await acme.refused("PATCH", path, change))[:2] == (422, "secret_needed")
    moved = await acme.ok("PATCH", path, {"host": "smtp2.example.com", "secret": "other"})
    assert moved["host"] == "smtp2.example.com"
    assert (await acme.ok("PATCH", path, {"auth": "none", "username": ""}))["has_secret"] is False


@pytest.mark.parametrize("reference", ["env:PATH", "file:/etc/passwd", "ENV:HOME"])
async def test_a_tenant_may_not_name_the_installation_s_secrets(acme: Any, reference: str) -> None:
    refused = await acme.refused("POST", PATH, {**NEW, "secret": reference})
    assert refused[:2] == (422, "secret_reference_refused")
    path = f"{PATH}/{(await acme.ok('POST', PATH, NEW))['id']}"
    assert (await acme.refused("PATCH", path, {"secret": reference}))[:2] == (422, "secret_reference_refused")


async def test_the_operator_may_and_only_the_operator_sends_it_elsewhere(
    acme: Any, platform: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_SMTP_PASSWORD", HUSH)
    acting = {"Waypost-Tenant": "acme"}
    missing = await platform.refused("POST", PATH, {**NEW, "secret": "env:NOT_THERE_AT_ALL"}, headers=acting)
    assert missing[:2] == (422, "secret_not_found")
    made = await platform.ok("POST", PATH, {**NEW, "secret": "env:ACME_SMTP_PASSWORD"}, headers=acting)
    assert made["secret_is_reference"] is True
    path = f"{PATH}/{made['id']}"
    assert (await acme.ok("PATCH", path, {"daily_limit": 7}))["secret_is_reference"] is True
    refused = await acme.refused("PATCH", path, {"host": "evil.example.net", "secret": "mine"})
    assert refused[:2] == (422, "secret_reference_refused")
    assert HUSH not in str(await acme.ok("GET", path))


@pytest.mark.parametrize(
    ("change", "code", "pointer"),
    [
        ({"name": ""}, "invalid_name", "/name"),
        ({"display_name": "a\u0007b"}, "invalid_name", "/display_name"),
        ({"from_address": "nobody"}, "invalid_address", "/from_address"),
        ({"categories": []}, "required", "/categories"),
        ({"daily_limit": 0}, "out_of_range", "/daily_limit"),
        ({"batch_size": 0}, "out_of_range", "/batch_size"),
        ({"delay_ms": -1}, "out_of_range", "/delay_ms"),
        ({"provider_limits": {"Not a provider": 1}}, "invalid_provider", "/provider_limits"),
        ({"provider_limits": {"gmail": 0}}, "out_of_range", "/provider_limits/gmail"),
        ({"warmup": {"stages": []}}, "out_of_range", "/warmup/stages"),
        ({"warmup": {"stages": [{"limit": 0}]}}, "out_of_range", "/warmup/stages/0/limit"),
        ({"host": "smtp://x"}, "invalid_host", "/host"),
        ({"secret": None}, "required", "/secret"),
        ({"tls": "off"}, "password_in_the_clear", "/tls"),
    ],
)
async def test_what_cannot_be_is_refused_by_name(acme: Any, change: dict[str, Any], code: str, pointer: str) -> None:
    status, found, pointers = await acme.refused("POST", PATH, {**NEW, **change})
    assert (status, found) == (422, code)
    assert pointer in pointers
    assert (await acme.ok("GET", PATH))["items"] == []


async def test_names_are_taken_once_and_free_again_after_archiving(acme: Any) -> None:
    made = await acme.ok("POST", PATH, NEW)
    assert (await acme.refused("POST", PATH, NEW))[:2] == (409, "name_taken")
    other = await acme.ok("POST", PATH, {**NEW, "name": "Other"})
    assert (await acme.refused("PATCH", f"{PATH}/{other['id']}", {"name": "Newsletter"}))[:2] == (409, "name_taken")
    await acme("DELETE", f"{PATH}/{made['id']}")
    await acme.ok("PATCH", f"{PATH}/{other['id']}", {"name": "Newsletter"})


async def test_reading_and_writing_are_two_scopes(acme: Any, globex: Any) -> None:
    reader = await acme.with_scopes("acme", Permission.SENDERS_READ)
    assert (await reader("GET", PATH)).status_code == 200
    assert (await reader("POST", PATH, NEW)).status_code == 403
    made = await acme.ok("POST", PATH, NEW)
    assert (await globex("GET", f"{PATH}/{made['id']}")).status_code == 404


async def test_channels_say_how_their_messages_leave(acme: Any) -> None:
    await acme.ok("POST", PATH, NEW)
    found = {one["channel"]: one for one in (await acme.ok("GET", "/v1/channels"))["items"]}
    assert (found["email"]["way"], found["email"]["sender_accounts"], found["email"]["able"]) == ("catch_all", 1, 1)
    assert (found["inapp"]["way"], found["sms"]["way"]) == ("inbox", "none")


async def test_explain_tells_of_room_on_the_accounts_and_takes_none(acme: Any, admin: Any) -> None:
    await acme.ok("PUT", "/v1/recipients/user-42", {"email": "jane@example.com"})
    case = {"recipient": "user-42", "channel": "email", "category": "transactional"}

    async def room(**more: Any) -> tuple[str, str | None, str]:
        found = await acme.ok("POST", "/v1/explain", {**case, **more})
        assert found["steps"][-1]["rule"] == "sender_capacity"
        return found["verdict"], found["reason"], found["steps"][-1]["fact"]

    assert await room() == ("allow", None, "room")
    made = await acme.ok("POST", PATH, {**NEW, "categories": None, "daily_limit": 1})
    for _ in range(3):
        assert await room() == ("allow", None, "room")
    await acme.ok("POST", f"{PATH}/{made['id']}/pause")
    assert await room() == ("defer", "sender_paused", f"sender_paused of {made['id']}")
    assert (await room(channel="inapp"))[2] == "room"
    await acme.ok("POST", f"{PATH}/{made['id']}/resume")
    assert await room() == ("allow", None, "room")


@pytest.fixture
async def greeter() -> AsyncIterator[int]:
    """A mail server that lets everybody in whose password is right, and takes no mail."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 greeter\r\n")
        while line := await reader.readline():
            verb = line.split()[0].upper() if line.split() else b""
            if verb == b"EHLO":
                writer.write(b"250-greeter\r\n250 AUTH PLAIN LOGIN\r\n")
            elif verb == b"AUTH":
                writer.write(b"235 in\r\n" if b"cmlnaHQ" in line or b"AG5ld3MAcmlnaHQ" in line else b"535 5.7.8 no\r\n")
            elif verb == b"QUIT":
                writer.write(b"221 bye\r\n")
                break
            else:
                writer.write(b"250 ok\r\n")
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_a_trial_enters_through_the_guard_and_says_how_it_went(acme: Any, greeter: int) -> None:
    there = {**NEW, "host": "127.0.0.1", "port": greeter, "tls": "off", "secret": "right"}
    path = f"{PATH}/{(await acme.ok('POST', PATH, there))['id']}"
    tried = await acme.ok("POST", f"{path}/test")
    assert tried["ok"] is False
    assert "not public" in tried["message"]
