"""6. Through HTTP: what belongs to another tenant is answered exactly like what does not exist."""

import re
import socket
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import httpx
import pytest

ULID = "01KF0M7Q8Z6Y5X4W3V2T1S0R9Q"
ABSENT = {
    **dict.fromkeys(("jobs", "imports", "exports"), f"job_{ULID}"),
    "notifications": f"ntf_{ULID}", "requests": f"req_{ULID}", "api-keys": f"key_{ULID}", "suppressions": f"sup_{ULID}",
    "mailbox": f"mbx_{ULID}", "webhook-endpoints": f"whe_{ULID}", "pauses": f"pau_{ULID}", "alerts": f"alr_{ULID}",
    "alert-targets": f"alt_{ULID}", "sender-accounts": f"acc_{ULID}", "domains": f"dom_{ULID}",
    "triggers": f"trg_{ULID}",
    "timers": f"tmr_{ULID}", "events": f"evf_{ULID}", "recipients": "nobody-here", "tenants": "nobody-here",
}  # fmt: skip
WORDS = {"locales": {"en": {"subject": "s", "body": "hush", "format": "text"}}}
# What makes something of the id it is given, and so never says that it is unknown.
MAKES = {"put_recipient", "put_list", "put_inbox", "put_topic"}


@pytest.fixture(scope="module")
def belongings(fortress: Any, wall_b: Any) -> dict[str, str]:
    """One of everything that tenant B has, by the name of its path parameter and area."""
    sent = wall_b.ok(
        "POST", "/v1/notifications",
        {"to": {"id": "b-user", "email": "b-user@hush.example"}, "content": {"subject": "s", "text": "hush"},
         "send_at": None},
    )  # fmt: skip
    person = wall_b.ok("GET", "/v1/recipients/b-user")
    wall_b.ok("POST", "/v1/templates", {"key": "b-only", "name": "n", "category": "transactional"})
    wall_b.ok("POST", "/v1/templates/b-only/email/versions", WORDS)
    wall_b.ok("POST", "/v1/templates/b-only/email/versions/1.0.0/publish")
    suppression = wall_b.ok("POST", "/v1/suppressions", {"address": "b-no@hush.example"})
    key = wall_b.ok("POST", "/v1/api-keys", {"name": "n", "scopes": ["recipients:read"]})
    fortress.secrets.append(key["secret"])
    # A public address that nothing of this tenant will ever be sent to.
    hook = wall_b.ok("POST", "/v1/webhook-endpoints",
                     {"url": "https://8.8.8.8/never", "events": ["webhook_endpoint.disabled"]})  # fmt: skip
    fortress.secrets.append(hook["secret"])
    # A channel that nothing of this tenant goes out on.
    pause = wall_b.ok("POST", "/v1/pauses", {"scope": "channel", "id": "voice"})
    domain = fortress.prove(wall_b, "b-own.hush.example")
    account = wall_b.ok("POST", "/v1/sender-accounts",
                        {"kind": "smtp", "name": "hush", "from_address": "b@b-own.hush.example", "host": "8.8.8.8",
                         "categories": ["system"]})  # fmt: skip
    target = wall_b.ok("POST", "/v1/alert-targets", {"email": "b-ops@hush.example"})
    trigger = wall_b.ok("POST", "/v1/triggers", {"event_type": "b.happened", "template": "b-only",
                                                 "recipient": "$.data.who", "offset": "30d"})  # fmt: skip
    taken = wall_b.ok("POST", "/v1/events", {"id": "b-1", "type": "b.happened", "data": {"who": "b-user"},
                                             "occurred_at": "2026-01-15T12:00:00Z"})  # fmt: skip
    wall_b.ok("PUT", "/v1/inboxes/b-inbox", {"title": "hush"})
    post = wall_b.ok("POST", "/v1/inboxes/b-inbox/posts", {"audience": {"kind": "everyone"}, "title": "hush"})
    wall_b.ok("PUT", "/v1/lists/b-only", {})
    wall_b.ok("PUT", "/v1/topics/b-only", {"title": "hush", "category": "operational", "default": "opted_in"})
    job = wall_b.ok("POST", "/v1/exports", {"kind": "recipients"})
    return {
        "tag": "hush",
        **dict.fromkeys(("jobs", "imports", "exports"), job["id"]),
        "inbox": "b-inbox",
        "post": post["id"],
        "triggers": trigger["id"],
        "timers": taken["timers"][0]["id"],
        "events": f"evf_{ULID[:-1]}7",
        "webhook-endpoints": hook["id"],
        "pauses": pause["id"],
        "sender-accounts": account["id"],
        "domains": domain["id"],
        "alert-targets": target["id"],
        "alerts": f"alr_{ULID[:-1]}7",
        "delivery_id": f"whd_{ULID}",
        "notifications": sent["notifications"][0]["id"],
        "requests": sent["request_id"],
        "recipients": "b-user",
        "address_id": person["addresses"][0]["id"],
        "key": "b-only",
        "channel": "email",
        "semver": "1.0.0",
        "suppressions": suppression["id"],
        "api-keys": key["id"],
        "tenants": "wall-b",
        "mailbox": f"mbx_{sent['notifications'][0]['id'][4:]}",
    }


def pairs(fortress: Any, belongings: dict[str, str]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Each route with an id: its path with what is tenant B's, and with what nobody has."""
    for method, path, operation in fortress.operations():
        names = re.findall(r"{(\w+)}", path)
        if not names or operation["operationId"] in MAKES or fortress.is_platforms(operation):
            continue
        if operation["security"] == [{"recipient": []}]:
            continue
        area = path.split("/")[2]
        foreign = {name: belongings[area] if name == "id" else belongings[name] for name in names}
        absent = {"id": ABSENT.get(area, ""), "key": "no-such-key", "address_id": f"adr_{ULID}",
                  "inbox": "no-such-inbox", "post": f"pst_{ULID}"}  # fmt: skip
        yield (
            method,
            path.format(**foreign),
            path.format(**{name: absent.get(name, foreign[name]) for name in names}),
            operation,
        )


def body_of(operation: dict[str, Any]) -> Any:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return content.get("example")


def query_of(operation: dict[str, Any]) -> str:
    """What must be given in the query, as the document's example has it."""
    needed = [one for one in operation.get("parameters", ()) if one["in"] == "query" and one.get("required")]
    return "?" + "&".join(f"{one['name']}={_example(one)}" for one in needed) if needed else ""


def _example(parameter: dict[str, Any]) -> str:
    schema = parameter["schema"]
    return str(parameter.get("example") or next(iter(schema.get("examples", ["1.0.0"]))))


def seen(answer: httpx.Response) -> tuple[int, dict[str, Any], dict[str, str]]:
    """All of an answer but the id of the request and the time of day."""
    headers = {
        name: value for name, value in answer.headers.items() if name not in ("date", "waypost-request-id")
    }  # fmt: skip
    return answer.status_code, answer.json() | {"request_id": ""}, headers


def world_of(caller: Any) -> list[Any]:
    """All that a tenant can read of itself."""
    paths = ("/v1/notifications", "/v1/recipients", "/v1/templates", "/v1/suppressions", "/v1/audit", "/v1/api-keys")
    found: list[Any] = [caller.all(path) for path in paths]
    for key in found[-1]:
        key.pop("last_used_at")
    # Sending goes on meanwhile; what it does to its own message is no concern here.
    for notification in found[0]:
        for name in ("status", "attempts", "reason"):
            notification.pop(name)
    return found


def test_what_is_foreign_is_answered_like_what_is_unknown(
    fortress: Any, wall_a: Any, wall_b: Any, belongings: dict[str, str]
) -> None:
    before = world_of(wall_b)
    walked = 0
    for method, foreign, absent, operation in pairs(fortress, belongings):
        walked += 1
        body = body_of(operation)
        foreign, absent = (path + query_of(operation) for path in (foreign, absent))
        other = seen(wall_a(method, foreign, body))
        unknown = seen(wall_a(method, absent, body))
        assert other[0] == 404, (method, foreign, other)
        assert other == unknown, (method, foreign)
    assert walked >= 18
    assert world_of(wall_b) == before


def test_making_what_another_tenant_has_makes_one_s_own(wall_a: Any, wall_b: Any) -> None:
    before = wall_b.ok("PUT", "/v1/recipients/b-twin", {"email": "b-twin@hush.example"})
    made = wall_a.ok("PUT", "/v1/recipients/b-twin", {"email": "a-twin@hush.example"})
    assert made["version"] == 1
    assert wall_b.ok("GET", "/v1/recipients/b-twin") == before
    wall_a.ok("DELETE", "/v1/recipients/b-twin")
    assert wall_b.ok("GET", "/v1/recipients/b-twin") == before


def test_foreign_names_in_bodies_and_queries_are_unknown_too(
    fortress: Any, wall_a: Any, wall_b: Any, belongings: dict[str, str]
) -> None:
    wall_b.ok("PUT", "/v1/recipients/only-b", {"email": "only-b@hush.example"})
    content = {"subject": "s", "text": "t"}
    for foreign, absent in (
        (
            ("POST", "/v1/notifications", {"to": "only-b", "content": content}),
            ("POST", "/v1/notifications", {"to": "no-one", "content": content}),
        ),
        (
            ("POST", "/v1/notifications", {"to": {"email": "x@hush.example"}, "template": "b-only"}),
            ("POST", "/v1/notifications", {"to": {"email": "x@hush.example"}, "template": "no-such"}),
        ),
        (
            ("POST", "/v1/api-keys", {"tenant_id": "wall-b", "name": "n", "scopes": []}),
            ("POST", "/v1/api-keys", {"tenant_id": "no-tenant", "name": "n", "scopes": []}),
        ),
        (("GET", "/v1/api-keys?tenant_id=wall-b"), ("GET", "/v1/api-keys?tenant_id=no-tenant")),
        (
            ("DELETE", f"/v1/api-keys/{belongings['api-keys']}?tenant_id=wall-b"),
            ("DELETE", f"/v1/api-keys/{ABSENT['api-keys']}?tenant_id=no-tenant"),
        ),
    ):
        other, unknown = seen(wall_a(*foreign)), seen(wall_a(*absent))
        assert other[0] >= 400
        assert other == unknown, foreign
    assert wall_a.all("/v1/notifications?recipient_id=only-b") == []
    # A listing's cursor says where to go on, never in whose list.
    page = wall_b.ok("GET", "/v1/recipients?limit=1")
    answer = wall_a("GET", f"/v1/recipients?cursor={page['next']}")
    assert "only-b" not in answer.text
    assert "b-user" not in answer.text


def test_the_difference_cannot_be_timed(wall_a: Any, belongings: dict[str, str]) -> None:
    """A difference that is there shows each time; one by chance does not come three times."""
    assert any(_take_equally_long(wall_a, belongings) for _ in range(3))


def _take_equally_long(wall_a: Any, belongings: dict[str, str]) -> bool:
    """One after the other, so that a busy machine is busy for both."""
    spent: dict[str, list[float]] = {"foreign": [], "absent": []}
    for _ in range(60):
        for name, notification in (("foreign", belongings["notifications"]), ("absent", ABSENT["notifications"])):
            began = time.perf_counter()
            wall_a("GET", f"/v1/notifications/{notification}")
            spent[name].append(time.perf_counter() - began)
    foreign, absent = median(spent["foreign"]), median(spent["absent"])
    return abs(foreign - absent) < 0.5 * min(foreign, absent) + 0.002


def test_every_route_asks_for_its_scope_and_for_a_key(fortress: Any, wall_a: Any, belongings: dict[str, str]) -> None:
    scopes = {scope for _, _, operation in fortress.operations() for scope in operation.get("x-scopes", ())}
    tenants_own = sorted(scopes - {"tenants:manage", "tenants:act"})
    without = {
        scope: fortress.key("wall-a", *(other for other in tenants_own if other != scope)) for scope in tenants_own
    }
    for method, path, operation in fortress.operations():
        if operation["security"] == []:
            continue
        area = path.split("/")[2]
        real = path.format(**{**belongings, "id": belongings.get(area, "x")})
        body = body_of(operation)
        anonymous = fortress.http.request(method, real, json=body)
        for_recipients = operation["security"] == [{"recipient": []}]
        lacking = "invalid_token" if for_recipients else "missing_key"
        assert (anonymous.status_code, anonymous.json()["code"]) == (401, lacking), real
        stranger = fortress.http.request(
            method, real, json=body, headers={"Authorization": "Bearer wp_live_" + "A" * 47}
        )
        code = "invalid_token" if for_recipients else "unauthenticated"
        assert (stranger.status_code, stranger.json()["code"]) == (401, code), real
        for scope in operation["x-scopes"]:
            caller = without.get(scope, wall_a)
            refused = caller(method, real, body)
            assert (refused.status_code, refused.json()["code"]) == (403, "missing_scope"), real


def test_a_mailbox_shows_only_one_s_own_mail(fortress: Any) -> None:
    """Sandbox tenants share one catch-all: whose mail it is says the signed return path, and nothing else."""
    first, second = fortress.tenant("mailbox-a", mode="sandbox"), fortress.tenant("mailbox-b", mode="sandbox")
    content = {"subject": "s", "text": "hush"}
    second.ok("POST", "/v1/notifications", {"to": {"email": "mail-b@hush.example"}, "content": content})
    (letter,) = fortress.eventually(lambda: second.all("/v1/mailbox"))
    assert second("GET", f"/v1/mailbox/{letter['id']}").status_code == 200
    assert first.all("/v1/mailbox") == []
    assert seen(first("GET", f"/v1/mailbox/{letter['id']}")) == seen(first("GET", f"/v1/mailbox/{ABSENT['mailbox']}"))
    assert first("GET", f"/v1/mailbox/{letter['id']}").status_code == 404


def test_metrics_name_no_tenant_and_no_person(fortress: Any, wall_a: Any, belongings: dict[str, str]) -> None:
    wall_a("GET", "/v1/recipients/b-user@hush.example")
    status = fortress.up.status
    for port in (status["metrics_port"], status["worker_metrics_port"]):
        told = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).text
        assert "waypost_" in told
        for private in ("wall-a", "wall-b", "hush", "b-user", *fortress.secrets, *belongings.values()):
            assert private in ("email", "1") or private not in told, private


SMUGGLED = [
    b"Waypost-Tenant: wall-b",
    b"waypost-tenant: wall-b",
    b"WAYPOST-TENANT: wall-b",
    b"Waypost-Tenant:wall-b",
    b"Waypost-Tenant:\twall-b\t",
    b"Waypost-Tenant : wall-b",
    b"Waypost-Tenant: wall-a\r\nWaypost-Tenant: wall-b",
    b"Waypost-Tenant: wall-b\r\nWaypost-Tenant: wall-a",
    b"Waypost-Tenant: wall-a, wall-b",
    b"Waypost-Tenant: wall-a\r\n wall-b",
    b"Waypost-Tenant: wall-a wall-b",
    b"Waypost-Tenant: WALL-B",
    b"Waypost-Tenant: wall%2Db",
    b"Waypost-Tenant: wall-b%00",
    b"Waypost-Tenant: wall-b\x00",
    b"Waypost-Tenant: =?utf-8?b?d2FsbC1i?=",
    b'Waypost-Tenant: "wall-b"',
    b"Waypost-Tenant: _platform",
    b"Waypost-Tenant: ",
    b"Waypost-Tenant: \xe2\x80\x8bwall-b",
    b"Waypost-Tenant: wall-a'; set app.tenant_id='wall-b",
    b"Waypost_Tenant: wall-b",
    b"X-Waypost-Tenant: wall-b",
    b"Connection: Waypost-Tenant\r\nWaypost-Tenant: wall-b",
    b"Waypost-Tenant: wall-a\rWaypost-Tenant: wall-b",
]


def raw_answer(url: str, sent: bytes) -> bytes:
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=15) as connection:
        connection.sendall(sent)
        received = b""
        while chunk := connection.recv(65_536):
            received += chunk
    return received


@pytest.mark.parametrize("line", SMUGGLED, ids=range(len(SMUGGLED)))
def test_no_spelling_of_the_tenant_header_opens_another_tenant(
    line: bytes, fortress: Any, wall_a: Any, wall_b: Any, belongings: dict[str, str]
) -> None:
    powerless = fortress.key("_platform", "tenants:manage", "recipients:read")
    for key in (wall_a.key, powerless.key):
        head = b"GET /v1/recipients HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer " + key.encode()
        received = raw_answer(fortress.url, head + b"\r\n" + line + b"\r\n\r\n")
        assert b"b-user" not in received
        status = int(received.split()[1])
        if status == 200:
            assert line.split(b":")[0].lower() not in (b"waypost-tenant", b"waypost-tenant "), received[:300]
        else:
            assert 400 <= status < 500


def test_a_second_request_in_a_body_is_no_request(fortress: Any, wall_a: Any, belongings: dict[str, str]) -> None:
    """Content-Length and chunks that disagree: two readers would see two different requests."""
    inner = (
        f"GET /v1/recipients HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {fortress.platform.key}\r\n"
        "Waypost-Tenant: wall-b\r\n\r\n"
    )
    head = f"POST /v1/templates HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {wall_a.key}\r\nConnection: close\r\n"
    for lengths in (
        f"Content-Length: {len(inner) + 5}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Content-Length: 5\r\nContent-Length: 0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: xchunked\r\n\r\n",
        "Content-Length: +5\r\n\r\n",
        "Content-Length: 5, 0\r\n\r\n",
    ):
        received = raw_answer(fortress.url, (head + lengths + inner).encode())
        assert b"b-user" not in received, lengths
        assert received.count(b"HTTP/1.1 ") == 1, lengths
        assert 400 <= int(received.split()[1]) < 500, (lengths, received[:200])
