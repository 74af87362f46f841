"""15. No value starts a header, a line or a body of its own: the sink sees exactly the headers that were meant."""

import email
import email.policy
import re
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

# CR, LF, NUL, NEL, LINE SEPARATOR, VT, FF, the separators, ESC, DEL, and what looks like them after decoding.
BREAKS = (
    "\r", "\n", "\r\n", "\x00", "\x85", "\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1b", "\x7f",
    "\r\n\r\n", "\r\n.\r\n", "\n.\n", "\r\n ", "\n\t",
)  # fmt: skip
HARMLESS = (
    "=0D=0A",
    "=?utf-8?q?=0D=0ABcc:_x?=",
    "%0d%0a",
    "\\r\\n",
    "&#13;&#10;",
    "\U000e000d",
    "嘊",
    "\t",
    "é",
    "a" * 80,
)
INJECTED = ("Bcc: evil@hush.example", "X-Evil: 1", "Content-Type: text/html", "MAIL FROM:<x>", "<script>")
PLACES = (
    "subject", "subject variable", "from", "from name", "reply_to", "cc", "cc name", "header", "header name",
    "recipient", "recipient id", "text",
)  # fmt: skip
ALLOWED = {
    "date", "from", "to", "cc", "reply-to", "subject", "message-id", "mime-version", "content-type",
    "content-transfer-encoding", "x-custom", "auto-submitted", "feedback-id", "list-id",
}  # fmt: skip
values = st.builds(
    lambda before, mark, injected, after: before + mark + injected + after,
    st.sampled_from(("", "a", "Hello ")),
    st.sampled_from(BREAKS + HARMLESS),
    st.sampled_from(INJECTED),
    st.sampled_from(("", "b")),
)
CALM = settings(
    max_examples=150,
    deadline=None,
    database=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)


def call_with(place: str, value: str, address: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "to": {"email": address},
        "content": {"subject": "s", "text": "t"},
        "variables": {"value": value},
        "headers": {"X-Custom": "c"},
    }
    match place:
        case "subject":
            body["content"]["subject"] = value.replace("{", "")
        case "subject variable":
            body["content"]["subject"] = "{{ value }}"
        case "from":
            body["from"] = f"a@hush.example{value}"
        case "from name":
            body["from"] = f"{value} <a@hush.example>"
        case "reply_to":
            body["reply_to"] = f"{value}@hush.example"
        case "cc":
            body["cc"] = [f"cc@hush.example{value}"]
        case "cc name":
            body["cc"] = [f"{value} <cc@hush.example>"]
        case "header":
            body["headers"] = {"X-Custom": value}
        case "header name":
            body["headers"] = {f"X-Custom{value}": "c"}
        case "recipient":
            body["to"]["email"] = f"{address}{value}"
        case "recipient id":
            body["to"]["id"] = f"{address}{value}"
        case _:
            body["content"]["text"] = "{{ value }}"
    return body


def test_the_sink_sees_only_the_headers_that_were_meant(fortress: Any) -> None:
    caller = fortress.tenant("injection")
    fortress.prove(caller, "hush.example")
    accepted: dict[str, str] = {}
    refused: list[str] = []

    @CALM
    @given(st.sampled_from(PLACES), values)
    def inject(place: str, value: str) -> None:
        address = f"inject-{len(accepted)}@hush.example"
        answer = caller("POST", "/v1/notifications", call_with(place, value, address))
        if answer.status_code == 202:
            accepted[address] = place
            assert place == "text" or not any(mark in value for mark in BREAKS), (place, value)
        else:
            # A string that no store can hold does not even get to the rules.
            assert answer.status_code == 422 or ("\x00" in value and answer.status_code == 400), answer.text
            # A header's own name is how a refusal points at it; no other value is repeated.
            assert place == "header name" or "evil@" not in answer.text
            refused.append(place)

    inject()
    assert {"subject", "subject variable", "from name", "cc name", "header"} <= set(accepted.values())
    assert set(refused) >= set(PLACES) - {"text"}
    fortress.eventually(
        lambda: sum(b"<inject-" in mail.people[0] for mail in list(fortress.sink.mail)) >= len(accepted)
    )
    for address, place in accepted.items():
        (mail,) = fortress.sink.to(address)
        raw = mail.raw.removesuffix(b"\r\n.\r\n")
        assert not re.search(rb"(?<!\r)\n|\r(?!\n)|\x00", raw), place
        while raw.startswith(b"DKIM-Signature:"):
            # Where the sender's domain is proved there are two of these, on top.
            raw = re.sub(rb"\A[^\r\n]+\r\n(?:[ \t][^\r\n]*\r\n)*", b"", raw, count=1)
        head, _, body = raw.partition(b"\r\n\r\n")
        names = [line.split(b":")[0].decode().lower() for line in head.split(b"\r\n") if line[:1] not in (b" ", b"\t")]
        assert set(names) <= ALLOWED, (place, names)
        assert len(names) == len(set(names)), (place, names)
        parsed = email.message_from_bytes(raw, policy=email.policy.default)
        assert [name.lower() for name in parsed] == names
        assert not parsed.defects
        assert max(len(line) for line in raw.split(b"\r\n")) <= 998
        assert body
        # The envelope too: whoever is meant, and nobody besides.
        people = {line.split(b"<")[1].split(b">")[0].decode() for line in mail.people}
        assert people <= {address, "cc@hush.example"}, place
    assert not [mail for mail in list(fortress.sink.mail) if any(b"evil@" in line for line in mail.people)]
