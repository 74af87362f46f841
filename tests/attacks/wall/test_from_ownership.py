"""26. Nobody sends as somebody else: not by any way in, and not with somebody else's key."""

import re
from typing import Any

import dkim

MESSAGE = {"to": {"email": "who@hush.example"}, "content": {"subject": "s", "text": "t"}}
OWNED = "owned.hush.example"


def test_a_domain_is_used_by_whoever_proved_it_and_by_nobody_else(fortress: Any) -> None:
    owner, thief = fortress.tenant("owner-of-it"), fortress.tenant("thief-of-it")
    domain = fortress.prove(owner, OWNED)
    thief.ok("POST", "/v1/domains", {"name": OWNED})

    for sender in (f"a@{OWNED}", f"Owner <A@{OWNED.upper()}>", f"a@sub.{OWNED}", "a@unproved.hush.example"):
        answer = thief("POST", "/v1/notifications", {**MESSAGE, "from": sender})
        assert (answer.status_code, answer.json()["code"]) == (422, "domain_not_verified"), sender
        assert OWNED not in answer.text.lower()
        bulk = thief.ok("POST", "/v1/notifications/bulk", [{**MESSAGE, "from": sender}, MESSAGE])
        assert [item.get("error", {}).get("code") for item in bulk["items"]] == ["domain_not_verified", None]

    words = {"locales": {"en": {"subject": "s", "body": "t", "format": "text"}}}
    thief.ok("POST", "/v1/templates", {"key": "as-owner", "name": "n", "category": "transactional"})
    thief.ok("POST", "/v1/templates/as-owner/email/versions", words)
    thief.ok("POST", "/v1/templates/as-owner/email/versions/1.0.0/publish")
    answer = thief("POST", "/v1/notifications", {"to": MESSAGE["to"], "template": "as-owner", "from": f"a@{OWNED}"})
    assert answer.json()["code"] == "domain_not_verified"

    account = {"kind": "smtp", "name": "hush", "host": "8.8.8.8", "from_address": f"a@{OWNED}"}
    assert thief("POST", "/v1/sender-accounts", account).json()["code"] == "domain_not_verified"

    for name in ("From", "Sender", "Resent-From", "Return-Path", "DKIM-Signature", "Reply-To"):
        answer = thief("POST", "/v1/notifications", {**MESSAGE, "headers": {name: f"a@{OWNED}"}})
        assert answer.json()["code"] == "header_reserved", name
    for reply_to in (
        f"x@hush.example\r\nFrom: a@{OWNED}",
        f"x@hush.example, a@{OWNED}",
        f"x@hush.example\nSender: a@{OWNED}",
    ):
        assert thief("POST", "/v1/notifications", {**MESSAGE, "reply_to": reply_to}).json()["code"] == "invalid_address"

    owner.ok(
        "POST", "/v1/notifications", {**MESSAGE, "to": {"email": "signed@hush.example"}, "from": f"Owner <a@{OWNED}>"}
    )
    owner.ok("POST", "/v1/notifications", {**MESSAGE, "to": {"email": "unsigned@hush.example"}})
    thief.ok("POST", "/v1/notifications", {**MESSAGE, "to": {"email": "thief@hush.example"}})

    def arrived(who: str) -> Any:
        return next((one for one in fortress.sink.mail if any(who.encode() in to for to in one.people)), None)

    mail = fortress.eventually(lambda: arrived("<signed@hush.example>"))
    raw = mail.raw.removesuffix(b".\r\n")
    records = {record["name"]: record["value"].encode() for record in domain["records"]}
    for number in range(2):
        assert dkim.DKIM(raw).verify(idx=number, dnsfunc=lambda name, timeout: records[name.decode().rstrip(".")])
    assert re.search(rb"<b\+[0-9a-hjkmnp-tv-z]{26}-[0-9a-f]{16}@waypost\.localhost>", mail.sender)
    for other in ("unsigned", "thief"):
        mail = fortress.eventually(lambda other=other: arrived(f"<{other}@hush.example>"))
        assert b"DKIM-Signature" not in mail.raw, "nobody's key signs for the operator's own address"

    assert [one for one in fortress.sink.mail if OWNED.encode() in one.raw and b"thief" in b" ".join(one.people)] == []
