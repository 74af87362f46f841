"""18. `env:` and `file:` are the operator's words: from a tenant they are text like any other, and reach no secret."""

import re
from typing import Any

# Fields of requests that take a secret. Each must be listed with the test that tries references on it.
TAKEN = {"secret": "test_a_sender_account_takes_no_reference_from_a_tenant"}
SECRETIVE = re.compile(r"secret|password|credential|token|vault|private|_ref\b|key_file", re.I)


def test_no_request_takes_a_reference_to_a_secret(fortress: Any) -> None:
    """Those that do refuse everything but the tenant's own words, and are tried here."""
    schemas = fortress.openapi["components"]["schemas"]
    taken: set[str] = set()
    for _, _, operation in fortress.operations():
        schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        taken |= set(schemas.get(schema.get("$ref", "").rpartition("/")[2], {}).get("properties", {}))
    assert {"email", "content"} <= taken
    assert {name for name in taken if SECRETIVE.search(name)} == set(TAKEN)


def test_references_are_sent_as_the_text_they_are(fortress: Any) -> None:
    caller = fortress.tenant("exfil")
    data_dir = fortress.up.data_dir
    master_key = (data_dir / "master.key").read_text().strip()
    password = (data_dir / "postgres.password").read_text().strip()
    words = [
        "env:WAYPOST_MASTER_KEY", "env:WAYPOST_DATABASE_API_URL", f"file:{data_dir}/master.key",
        f"file://{data_dir}/postgres.password", "vault:exfil/x", "${WAYPOST_SMTP_URL}", "%(WAYPOST_SMTP_URL)s",
        "$WAYPOST_API_KEY", "{env.PATH}",
    ]  # fmt: skip
    for number, word in enumerate(words):
        sent = caller.ok(
            "POST",
            "/v1/notifications",
            {
                "to": {"email": f"exfil-{number}@hush.example", "attributes": {"word": word}},
                "content": {"subject": "{{ word }}", "text": "{{ word }}|{{ other }}"},
                "variables": {"other": word},
                "headers": {"X-Word": word},
                "metadata": {"word": word},
            },
        )
        shown = caller.ok("GET", f"/v1/notifications/{sent['notifications'][0]['id']}/content")
        assert (shown["subject"], shown["text"]) == (word, f"{word}|{word}")
    fortress.eventually(lambda: sum(b"<exfil-" in mail.people[0] for mail in list(fortress.sink.mail)) >= len(words))
    for mail in list(fortress.sink.mail):
        assert master_key.encode() not in mail.raw
        assert password.encode() not in mail.raw


def test_templates_reach_no_environment(fortress: Any) -> None:
    caller = fortress.tenant("exfil-template")
    for source in (
        "{{ env }}", "{{ env.PATH }}", "{{ environ }}", "{{ os.environ }}", "{{ config }}", "{{ settings }}",
        "{{ self }}", "{{ ''.__class__.__mro__ }}", "{{ request }}", "{{ cycler.__init__.__globals__ }}",
        "{{ lipsum.__globals__ }}", "{{ context }}", "{{ debug() }}",
    ):  # fmt: skip
        body = {"to": {"email": "e@hush.example"}, "content": {"subject": "s", "text": source}}
        answer = caller("POST", "/v1/notifications", body)
        assert answer.status_code == 422, (source, answer.text)


def test_a_sender_account_takes_no_reference_from_a_tenant(fortress: Any) -> None:
    caller = fortress.tenant("exfil-account")
    fortress.prove(caller, "exfil-account.example")
    account = {
        "kind": "smtp", "name": "Relay", "host": "smtp.exfil-account.example", "auth": "plain", "username": "u",
        "from_address": "a@exfil-account.example",
    }  # fmt: skip
    for word in ("env:WAYPOST_MASTER_KEY", f"file:{fortress.up.data_dir}/master.key", "file:///etc/passwd", "env:PATH"):
        refused = caller("POST", "/v1/sender-accounts", {**account, "secret": word})
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/secret"), refused.text
        assert word not in refused.text
    assert caller.all("/v1/sender-accounts") == []
