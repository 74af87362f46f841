"""The same from the shell: send, tail, doctor, mailbox, tenants, keys. Each finds the running Waypost by itself."""

import email
import email.policy
import json
import subprocess
import sys
from pathlib import Path


def test_send_and_wait_says_what_became_of_it(shell) -> None:
    done = shell(
        *("send", "--to", "shell@example.com", "--subject", "Hi {{ name }}", "--text", "Dear {{ name }}"),
        *("--var", "name=Ada", "--wait", "30", "--json"),
    )
    [one] = json.loads(done.stdout)
    assert one["status"] in ("dispatched", "delivered")
    assert one["attempts"] == 1
    mails = json.loads(shell("mailbox", "list", "--json").stdout)
    found = next(mail for mail in mails if mail["subject"] == "Hi Ada")
    message = email.message_from_string(shell("mailbox", "show", found["id"]).stdout, policy=email.policy.default)
    assert message["Subject"] == "Hi Ada"
    assert message.get_content().strip() == "Dear Ada"


def test_send_for_people_is_a_table(shell) -> None:
    done = shell("send", "--to", "table@example.com", "--subject", "Table", "--text", "Text")
    assert "ntf_" in done.stdout
    assert "queued" in done.stdout


def test_a_refusal_is_one_line_and_an_exit_code(shell) -> None:
    done = shell("send", "--to", "broken@", "--subject", "x", "--text", "x", check=False)
    assert done.returncode == 65
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("waypost: ")
    assert "/to/0/email" in line
    assert "broken@" not in line


def test_a_wrong_key_is_one_line_and_an_exit_code(shell) -> None:
    done = shell("tail", check=False, WAYPOST_API_KEY="wp_test_wrong")
    assert done.returncode == 77
    assert len(done.stderr.splitlines()) == 1
    assert "wp_test_wrong" not in done.stderr


def test_tail_follows_new_ones_and_their_states(up, shell) -> None:
    command = [
        str(Path(sys.executable).with_name("waypost")),
        *("tail", "--lines", "0", "--count", "1", "--json", "--data-dir", str(up.data_dir)),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tail:
        assert tail.stdout is not None
        for number in range(50):
            shell("send", "--to", "tail@example.com", "--subject", f"Tail {number}", "--text", "x")
            if tail.poll() is not None:
                break
        line = json.loads(tail.stdout.readline())
        assert tail.wait(30) == 0
    assert line["id"].startswith("ntf_")
    assert line["channel"] == "email"


def test_doctor_finds_nothing_wrong(shell) -> None:
    done = shell("doctor", "--json")
    findings = json.loads(done.stdout)
    # Whoever uses this server too may have named a domain that nobody will ever prove.
    assert [one for one in findings if one["result"] != "ok" and one["check"] != "domain"] == []
    checked = {one["check"] for one in findings}
    assert {"settings", "data directory", "master key", "database", "roles", "schema", "partitions", "clock"} <= checked
    assert {"worker", "queue", "catch-all", "API"} <= checked


def test_doctor_names_the_remedy(shell, up) -> None:
    file = up.data_dir / "dev.env"
    file.chmod(0o644)
    try:
        done = shell("doctor")
    finally:
        file.chmod(0o600)
    assert f"chmod 600 {file}" in done.stdout


def test_tenants_and_keys(shell) -> None:
    made = json.loads(shell("tenants", "create", "acme-shell", "--name", "Acme", "--json").stdout)
    assert (made["id"], made["mode"], made["status"]) == ("acme-shell", "sandbox", "active")
    assert "acme-shell" in shell("tenants", "list").stdout
    key = json.loads(shell("keys", "create", "--tenant", "acme-shell", "--json").stdout)
    assert key["secret"].startswith("wp_test_")
    sent = shell(
        "send", "--to", "a@example.com", "--subject", "s", "--text", "t", "--json", WAYPOST_API_KEY=key["secret"]
    )
    assert json.loads(sent.stdout)[0]["status"] == "queued"
    listed = json.loads(shell("keys", "list", "--tenant", "acme-shell", "--json").stdout)
    assert [one["id"] for one in listed] == [key["id"]]
    assert key["secret"] not in json.dumps(listed)
    shell("keys", "revoke", key["id"], "--tenant", "acme-shell")
    refused = shell("mailbox", "list", check=False, WAYPOST_API_KEY=key["secret"])
    assert refused.returncode == 77
    suspended = json.loads(shell("tenants", "status", "acme-shell", "suspended", "--json").stdout)
    assert suspended["status"] == "suspended"
