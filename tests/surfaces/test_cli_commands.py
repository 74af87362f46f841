"""The command line against a server that answers as told: output for people and programs, errors, exit codes."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

WAYPOST = str(Path(sys.executable).with_name("waypost"))
NOTE = {
    "id": "ntf_1",
    "request_id": "req_1",
    "recipient_id": "user-42",
    "channel": "email",
    "category": "transactional",
    "priority": "normal",
    "template": None,
    "status": "dispatched",
    "reason": None,
    "attempts": 1,
    "send_at": "2026-01-15T12:00:00Z",
    "expires_at": "2026-01-16T12:00:00Z",
    "created_at": "2026-01-15T12:00:00Z",
}
ACCEPTED = {
    "request_id": "req_1",
    "notifications": [{"id": "ntf_1", "recipient_id": "user-42", "channel": "email", "status": "queued"}],
}


class Stub:
    """Remembers what it was asked and answers by (method, path)."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], tuple[int, object]] = {}
        self.asked: list[tuple[str, str, dict[str, str], object]] = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                is_json = "json" in self.headers.get("Content-Type", "json")
                raw = self.rfile.read(length)
                body = (json.loads(raw) if is_json else raw) if length else None
                stub.asked.append((self.command, self.path, dict(self.headers), body))
                missing = (404, {"status": 404, "code": "not_found", "title": "Not found", "detail": "Nothing here."})
                status, answer = stub.answers.get((self.command, self.path.partition("?")[0]), missing)
                raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            do_GET = do_POST = do_DELETE = do_PATCH = answer  # noqa: N815 — names that http.server asks for

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def stub() -> Iterator[Stub]:
    made = Stub()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


@pytest.fixture
def run(stub: Stub, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    environment = {
        "WAYPOST_URL": stub.url,
        "WAYPOST_API_KEY": "wp_test_key",
        "WAYPOST_PLATFORM_KEY": "wp_platform_key",
        "WAYPOST_DATA_DIR": str(tmp_path),
        "COLUMNS": "200",
    }

    def call(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [WAYPOST, *words], env={**environment, **more}, capture_output=True, text=True, timeout=90
        )

    return call


def test_send_speaks_the_api_and_prints_json(stub: Stub, run) -> None:
    stub.answers["POST", "/v1/notifications"] = (202, ACCEPTED)
    done = run(
        *("send", "--to", "jane@example.com", "--to", "user-7", "--subject", "Hi", "--html", "<p>Hi</p>"),
        *("--var", "n=3", "--var", "name=Ada", "--category", "security", "--from", "A <a@example.com>", "--json"),
    )
    assert done.returncode == 0, done.stderr
    assert [one["id"] for one in json.loads(done.stdout)] == ["ntf_1"]
    [(_, _, headers, body)] = stub.asked
    assert headers["Authorization"] == "Bearer wp_test_key"
    assert headers["Idempotency-Key"]
    assert body == {
        "to": [{"email": "jane@example.com"}, "user-7"],
        "content": {"subject": "Hi", "html": "<p>Hi</p>"},
        "variables": {"n": 3, "name": "Ada"},
        "category": "security",
        "from": "A <a@example.com>",
    }


def test_send_reads_files_and_standard_input(stub: Stub, run, tmp_path: Path) -> None:
    stub.answers["POST", "/v1/notifications"] = (202, ACCEPTED)
    (tmp_path / "body.html").write_text("<p>From a file</p>")
    done = run("send", "--to", "user-7", "--subject", "s", "--html", f"@{tmp_path}/body.html")
    assert done.returncode == 0, done.stderr
    assert stub.asked[0][3]["content"]["html"] == "<p>From a file</p>"
    assert run("send", "--to", "user-7", "--subject", "s", "--text", "@/nowhere").returncode == 65


def test_send_and_wait_ends_with_the_fate_of_the_message(stub: Stub, run) -> None:
    stub.answers["POST", "/v1/notifications"] = (202, ACCEPTED)
    stub.answers["GET", "/v1/notifications/ntf_1"] = (200, NOTE)
    sent = run("send", "--to", "user-7", "--subject", "s", "--text", "t", "--wait", "5")
    assert sent.returncode == 0
    assert "dispatched" in sent.stdout
    stub.answers["GET", "/v1/notifications/ntf_1"] = (200, {**NOTE, "status": "failed", "reason": "render_failed"})
    failed = run("send", "--to", "user-7", "--subject", "s", "--text", "t", "--wait", "5")
    assert failed.returncode == 1
    assert "render_failed" in failed.stdout


def test_resend_names_one_message_and_prints_the_new_one(stub: Stub, run) -> None:
    stub.answers["POST", "/v1/notifications/ntf_0/resend"] = (202, ACCEPTED)
    done = run("resend", "ntf_0", "--idempotency-key", "k1", "--json")
    assert done.returncode == 0, done.stderr
    assert [one["id"] for one in json.loads(done.stdout)] == ["ntf_1"]
    [(_, _, headers, _)] = stub.asked
    assert headers["Idempotency-Key"] == "k1"


def test_a_refusal_is_one_line_with_the_kind_s_exit_code(stub: Stub, run) -> None:
    problem = {
        "status": 422,
        "code": "invalid_address",
        "title": "Request refused",
        "detail": "The request has fields that must be mended.",
        "errors": [{"pointer": "/to/0/email", "code": "invalid_address", "message": "Not an address."}],
    }
    stub.answers["POST", "/v1/notifications"] = (422, problem)
    done = run("send", "--to", "x@", "--subject", "s", "--text", "t")
    assert done.returncode == 65
    assert done.stdout == ""
    assert done.stderr == ("waypost: The request has fields that must be mended. (/to/0/email: Not an address.)\n")


def test_no_server_is_one_line(run) -> None:
    done = run("mailbox", "list", WAYPOST_URL="http://127.0.0.1:1")
    assert done.returncode == 75
    assert done.stderr == "waypost: No answer from http://127.0.0.1:1: nothing listens there.\n"


def test_an_unknown_setting_is_one_line(run) -> None:
    done = run("mailbox", "list", WAYPOST_PROT="1")
    assert done.returncode == 78
    assert done.stderr == "waypost: WAYPOST_PROT is not a setting: did you mean WAYPOST_PORT?\n"


def test_without_keys_it_says_where_they_come_from(run, tmp_path: Path) -> None:
    done = run("mailbox", "list", WAYPOST_API_KEY="", WAYPOST_URL="")
    assert done.returncode == 78
    assert "Set WAYPOST_URL and WAYPOST_API_KEY" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_mailbox_is_listed_and_shown_as_it_came(stub: Stub, run) -> None:
    mail = {"id": "mbx_1", "to": "jane@example.com", "subject": "Hallo Jané", "received_at": "2026-01-15T12:00:00Z"}
    stub.answers["GET", "/v1/mailbox"] = (200, {"items": [mail], "next": None})
    stub.answers["GET", "/v1/mailbox/mbx_1"] = (200, b"Subject: Hallo\r\n\r\nJane\r\n")
    assert "Hallo Jané" in run("mailbox", "list").stdout
    assert json.loads(run("mailbox", "list", "--json").stdout) == [mail]
    assert run("mailbox", "show", "mbx_1").stdout == "Subject: Hallo\n\nJane\n"
    stub.answers["GET", "/v1/mailbox"] = (200, {"items": [], "next": None})
    assert run("mailbox", "list").stdout == "The mailbox is empty.\n"


def test_webhooks_are_made_listed_tested_and_replayed(stub: Stub, run) -> None:
    at = "2026-01-15T12:00:00Z"
    endpoint = {"id": "whe_1", "url": "https://example.com/h", "events": ["*"], "description": "", "status": "enabled",
                "version": 1, "created_at": at, "updated_at": at}  # fmt: skip
    delivery = {"id": "whd_1", "event_id": "evt_1", "type": "webhook_endpoint.test", "occurred_at": at,
                "status": "waiting", "created_at": at, "attempts": []}  # fmt: skip
    stub.answers["POST", "/v1/webhook-endpoints"] = (201, {"id": "whe_1", "secret": "whsec_x"})
    stub.answers["GET", "/v1/webhook-endpoints"] = (200, {"items": [endpoint], "next": None})
    stub.answers["POST", "/v1/webhook-endpoints/whe_1/test"] = (202, delivery)
    stub.answers["GET", "/v1/webhook-endpoints/whe_1/deliveries"] = (200, {"items": [delivery], "next": None})
    replay = {"id": "whr_1", "from": at, "to": at, "status": "running", "deliveries": 0}
    stub.answers["POST", "/v1/webhook-endpoints/whe_1/replay"] = (202, replay)
    made = run("webhooks", "create", "https://example.com/h", "--event", "notification.*", "--json")
    assert json.loads(made.stdout)["secret"] == "whsec_x"
    assert "https://example.com/h" in run("webhooks", "list").stdout
    assert json.loads(run("webhooks", "test", "whe_1", "--json").stdout)["id"] == "whd_1"
    assert "webhook_endpoint.test" in run("webhooks", "deliveries", "whe_1", "--status", "waiting").stdout
    begun = run("webhooks", "replay", "whe_1", "--from", "2026-01-15T12:00:00", "--json")
    assert json.loads(begun.stdout)["status"] == "running"


def test_what_is_not_there_has_its_exit_code(run) -> None:
    done = run("mailbox", "show", "mbx_none")
    assert done.returncode == 66
    assert done.stderr == "waypost: Nothing here.\n"


def test_keys_are_made_with_the_platform_s_key(stub: Stub, run) -> None:
    stub.answers["POST", "/v1/api-keys"] = (201, {"id": "key_1", "secret": "wp_test_secret"})
    done = run("keys", "create", "--tenant", "acme", "--name", "CI", "--scope", "notifications:send", "--json")
    assert json.loads(done.stdout) == {"id": "key_1", "secret": "wp_test_secret"}
    [(_, _, headers, body)] = stub.asked
    assert headers["Authorization"] == "Bearer wp_platform_key"
    assert headers["Waypost-Tenant"] == "acme"
    assert body == {"tenant_id": "acme", "name": "CI", "scopes": ["notifications:send"]}


def test_tail_prints_json_lines_and_stops_at_its_count(stub: Stub, run) -> None:
    stub.answers["GET", "/v1/notifications"] = (200, {"items": [{**NOTE, "id": "ntf_2"}, NOTE], "next": None})
    done = run("tail", "--lines", "2", "--count", "2", "--json")
    assert done.returncode == 0
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["ntf_1", "ntf_2"]


def test_settings_lists_every_one(run) -> None:
    rows = json.loads(run("settings", "--json").stdout)
    assert {"WAYPOST_PORT", "WAYPOST_SMTP_URL", "WAYPOST_API_KEY"} <= {row["setting"] for row in rows}
    assert "WAYPOST_PORT" in run("settings").stdout


def test_doctor_without_an_installation_names_remedies_and_fails(run) -> None:
    done = run("doctor", "--json")
    assert done.returncode == 1
    failed = {one["check"]: one for one in json.loads(done.stdout) if one["result"] == "fail"}
    assert {"master key", "database"} <= failed.keys()
    assert all(one["remedy"] for one in failed.values())


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("up",),
        ("api",),
        ("worker",),
        ("migrate",),
        ("send",),
        ("tail",),
        ("doctor",),
        ("mailbox", "show"),
        ("tenants", "create"),
        ("keys", "create"),
    ],
)
def test_every_command_explains_itself(run, words: tuple[str, ...]) -> None:
    done = run(*words, "--help")
    assert done.returncode == 0
    assert "Usage: waypost" in done.stdout


def test_help_loads_neither_the_client_nor_the_database_nor_the_web_framework() -> None:
    loaded = subprocess.run(
        [sys.executable, "-P", "-c", "import sys, waypost.cli.main; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert not {"httpx", "asyncpg", "litestar", "granian", "cryptography", "structlog", "msgspec"} & set(loaded)


def test_the_version_is_said(run) -> None:
    from waypost import __version__

    assert run("--version").stdout == f"waypost {__version__}\n"


def test_dead_letters_are_sent_again_only_where_somebody_says_which(stub: Stub, run) -> None:
    stub.answers["POST", "/v1/dead-letters/redrive"] = (200, {"redriven": 2, "refused": [], "job_id": None})
    for words in ((), ("ntf_1", "--reason", "refused")):
        refused = run("dead-letters", "redrive", *words)
        assert (refused.returncode, "Name notifications" in refused.stderr) == (64, True)
    assert stub.asked == []
    assert run("dead-letters", "redrive", "--all", "--json").returncode == 0
    assert stub.asked[-1][3] == {"filter": {}}


def test_resuming_what_is_not_paused_is_no_success(stub: Stub, run) -> None:
    stub.answers["GET", "/v1/pauses"] = (200, {"items": []})
    assert run("resume", "channel", "email").returncode == 1


def test_columns_of_consents_are_named_with_their_topics(stub: Stub, run, tmp_path: Path) -> None:
    job: dict[str, object] = {"id": "job_1", "kind": "import", "state": "waiting", "created_at": "2026-01-15T12:00:00Z"}
    job |= {"progress": {"done": 0, "total": 1, "unit": "rows"}, "result": {}, "links": {}}
    stub.answers["POST", "/v1/imports"] = (202, job)
    people = tmp_path / "people.csv"
    people.write_text("id,News,Texts=now\nada,yes,no\n")
    columns = ("--consent", "News=newsletter", "--consent", "Texts=now=alerts:sms")
    done = run("imports", "start", str(people), *columns, "--consent-text", "2026-11", "--no-wait", "--json")
    assert done.returncode == 0, done.stderr
    [(_, path, _, body)] = stub.asked
    assert body == people.read_bytes()
    [options] = parse_qs(urlsplit(path).query)["options"]
    assert json.loads(options)["consents"] == [
        {"column": "News", "topic": "newsletter", "channel": "email", "source": "import", "text_version": "2026-11"},
        {"column": "Texts=now", "topic": "alerts", "channel": "sms", "source": "import", "text_version": "2026-11"},
    ]
    wrong = run("imports", "start", str(people), "--consent", "News")
    assert (wrong.returncode, "FILE=TOPIC" in wrong.stderr) == (64, True)
