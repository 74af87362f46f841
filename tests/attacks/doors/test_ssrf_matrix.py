"""17. Nothing a tenant writes makes Waypost connect to a place of the tenant's choice.

Only the fields named below take one, and each goes through the guard that resolves, judges and connects to the address
it judged (`tests/unit/adapters/outbound/test_guard.py`). A field that is not listed here must not name a place.
"""

import re
from collections.abc import Iterator
from typing import Any

SUSPICIOUS = re.compile(
    r"url|uri|host|endpoint|server|callback|webhook|proxy|bucket|smtp|imap|issuer|link|port\b", re.I
)
# Fields of requests that name a place to connect to. Each must be listed with the test that proves its guard.
SHOWN_ONLY = {"cta_url": "a link that people click; nothing of ours calls it"}
GUARDED: dict[str, str] = {
    "url": "test_webhooks_to_private_places_are_refused_and_never_called",
    "host": "test_mail_servers_in_private_places_are_refused_and_never_called",
    "port": "the same",
}


def places(host_port: int) -> list[str]:
    hosts = [
        "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "localhost", "[::1]", "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "169.254.169.254", "metadata.google.internal", "localtest.me",
    ]  # fmt: skip
    return [f"http://{host}:{host_port}/x" for host in hosts]


def fields(schema: Any, document: dict[str, Any], seen: set[str]) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            if name not in seen:
                seen.add(name)
                yield from fields(document["components"]["schemas"][name], document, seen)
        yield from schema.get("properties", {})
        for inner in schema.values():
            yield from fields(inner, document, seen)
    elif isinstance(schema, list):
        for inner in schema:
            yield from fields(inner, document, seen)


def test_no_request_names_a_place_to_connect_to(fortress: Any) -> None:
    named: set[str] = set()
    for _, _, operation in fortress.operations():
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        named |= set(fields(content.get("schema", {}), fortress.openapi, set()))
        named |= {parameter["name"] for parameter in operation.get("parameters", ())}
    assert {"email", "subject", "variables_schema", "limit"} <= named
    assert {name for name in named if SUSPICIOUS.search(name)} == set(GUARDED) | set(SHOWN_ONLY)


def test_places_in_every_value_are_never_called(fortress: Any, listener: Any) -> None:
    caller = fortress.tenant("ssrf")
    for number, place in enumerate(places(listener.port)):
        body = {
            "to": {"id": f"ssrf-{number}", "email": f"ssrf-{number}@hush.example", "attributes": {"avatar": place}},
            "content": {"subject": place, "html": f'<a href="{place}">x</a><img src="{place}">', "text": place},
            "headers": {"List-Unsubscribe": f"<{place}>", "X-Callback": place},
            "metadata": {"webhook": place},
            "variables": {"url": place},
        }
        accepted = caller("POST", "/v1/notifications", body)
        assert accepted.status_code == 202, accepted.text
        # An address whose domain is a place: mail goes to the operator's server, never to the domain itself.
        host = place.split("/")[2].rpartition(":")[0]
        caller("PUT", f"/v1/recipients/literal-{number}", {"email": f"x@{host}"})
        caller("POST", "/v1/notifications", body | {"from": f"a@{host}", "reply_to": f"a@{host}"})
    count = len(places(0))
    fortress.eventually(lambda: sum(b"<ssrf-" in mail.people[0] for mail in list(fortress.sink.mail)) >= count)
    assert listener.calls == []


def test_webhooks_to_private_places_are_refused_and_never_called(fortress: Any, listener: Any) -> None:
    caller = fortress.tenant("ssrf-hooks")
    for place in places(listener.port):
        for scheme in ("http", "https"):
            body = {"url": place.replace("http", scheme, 1), "events": ["*"]}
            refused = caller("POST", "/v1/webhook-endpoints", body)
            assert refused.status_code == 422, (place, refused.text)
            assert refused.json()["code"] in ("url_private", "url_unresolvable"), (place, refused.text)
            assert refused.json()["errors"][0]["pointer"] == "/url"
            assert place.split("/")[2] not in refused.text, "a refusal never repeats the value"
    assert caller.all("/v1/webhook-endpoints") == []
    assert listener.calls == []


def test_mail_servers_in_private_places_are_refused_and_never_called(fortress: Any, listener: Any) -> None:
    """A name may lead anywhere tomorrow, so an account is judged when it is tried, and each time it connects."""
    caller = fortress.tenant("ssrf-mail")
    fortress.prove(caller, "ssrf-mail.example")
    for number, place in enumerate(places(listener.port)):
        host = place.split("/")[2].rpartition(":")[0].strip("[]")
        body = {
            "kind": "smtp", "name": f"Relay {number}", "host": host, "port": listener.port, "tls": "off",
            "auth": "none",
            "from_address": f"a{number}@ssrf-mail.example",
        }  # fmt: skip
        made = caller("POST", "/v1/sender-accounts", body)
        if made.status_code == 422:
            assert made.json()["errors"][0]["pointer"] in ("/host", "/tls"), (place, made.text)
            continue
        tried = caller.ok("POST", f"/v1/sender-accounts/{made.json()['id']}/test")
        assert tried["ok"] is False, place
    assert listener.calls == []
