"""People from a file, over HTTP, with the job done by the worker's role."""

import csv
import io
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

Upload = Callable[..., Awaitable[Any]]


@pytest.fixture
def upload(acme: Any) -> Upload:
    async def send(text: str | bytes, options: dict[str, Any] | None = None, **headers: str) -> Any:
        raw = text if isinstance(text, bytes) else text.encode()
        return await acme(
            "POST",
            "/v1/imports",
            raw,
            headers={"Content-Type": "text/csv", **headers},
            params={"options": json.dumps(options)} if options else None,
        )

    return send


async def done(acme: Any, runner: Any, answer: Any) -> Any:
    assert answer.status_code == 202, answer.text
    await runner.work_off()
    return await acme.ok("GET", f"/v1/jobs/{answer.json()['id']}")


async def report_of(acme: Any, job: Any) -> list[dict[str, str]]:
    answer = await acme("GET", job["links"]["report"])
    assert answer.status_code == 200, answer.text
    return list(csv.DictReader(io.StringIO(answer.text)))


async def test_good_rows_are_kept_and_bad_ones_reported(acme: Any, upload: Upload, job_runner: Any) -> None:
    text = (
        "id,Email,phone,locale,timezone,tags,city,unsubscribed,tenant_id\r\n"
        "u1,Ada@Example.com,,en-gb,Europe/London,beta;vip,London,false,globex\r\n"
        "u2,not an address,,,,,Paris,,\r\n"
        ',grace@example.com,+14155550123,,,,"New\r\nYork",,\r\n'
        "u3,x@example.com,,klingon,Mars/Base,,,,\r\n"
        "\r\n"
        ",,,,,,nobody,,\r\n"
        'u4,"broken,,,,,,,\r\n'
    )
    job = await done(acme, job_runner, await upload(text))
    assert (job["state"], job["error"]) == ("finished", None)
    assert {name: job["result"][name] for name in ("rows", "created", "changed", "unchanged", "rejected")} == {
        "rows": 6,
        "created": 2,
        "changed": 0,
        "unchanged": 0,
        "rejected": 4,
    }
    assert job["result"]["ignored_columns"] == ["unsubscribed", "tenant_id"]
    assert job["progress"]["done"] == job["progress"]["total"] == len(text.encode())
    ada = await acme.ok("GET", "/v1/recipients/u1")
    assert (ada["locale"], ada["timezone"], ada["tags"], ada["attributes"]) == (
        "en-GB",
        "Europe/London",
        ["beta", "vip"],
        {"city": "London"},
    )
    [grace] = (await acme.ok("GET", "/v1/recipients?email=grace@example.com"))["items"]
    assert (grace["kind"], grace["attributes"]) == ("anonymous", {"city": "New\r\nYork"})
    faults = [(row["line"], row["column"], row["code"]) for row in await report_of(acme, job)]
    assert faults == [
        ("3", "Email", "invalid_address"),
        ("6", "locale", "invalid_locale"),
        ("6", "timezone", "invalid_timezone"),
        ("8", "", "required"),
        ("9", "", "unclosed_quote"),
    ]
    assert "not an address" not in str(await report_of(acme, job))


async def test_the_same_file_twice_changes_nothing(acme: Any, upload: Upload, job_runner: Any, admin: Any) -> None:
    text = "id,email,city,tags\n" + "".join(f"u{n},u{n}@example.com,Graz,a\n" for n in range(50))
    first = await done(acme, job_runner, await upload(text))
    before = await admin.fetch("select * from waypost.recipients order by id")
    second = await done(acme, job_runner, await upload(text))
    assert (first["result"]["created"], second["result"]["created"]) == (50, 0)
    assert (second["result"]["changed"], second["result"]["unchanged"]) == (0, 50)
    assert await admin.fetch("select * from waypost.recipients order by id") == before


async def test_a_form_with_options_and_a_dry_run(acme: Any, job_runner: Any) -> None:
    await acme.ok("PUT", "/v1/lists/customers", {})
    options = {"columns": {"E": "email", "Ort": "attributes.city", "x": None}, "list": "customers", "tags": ["new"]}
    for dry_run in (True, False):
        answer = await acme(
            "POST",
            "/v1/imports",
            data={"options": json.dumps({**options, "dry_run": dry_run})},
            files={"file": ("people.csv", "E;Ort;x;Name\na@example.com;Wien;1;Ada\n", "text/csv")},
        )
        job = await done(acme, job_runner, answer)
        assert (job["result"]["created"], job["result"]["dry_run"]) == (1, dry_run)
        assert len((await acme.ok("GET", "/v1/recipients"))["items"]) == (0 if dry_run else 1)
    [one] = (await acme.ok("GET", "/v1/recipients?list=customers"))["items"]
    assert (one["attributes"], one["tags"]) == ({"city": "Wien", "Name": "Ada"}, ["new"])


@pytest.mark.parametrize(
    ("raw", "options", "code"),
    [
        (b"", None, "empty_file"),
        ("id,name\n".encode("utf-16"), None, "unsupported_encoding"),
        (b"id,n\xff\n", None, "unsupported_encoding"),
        (b"name,city\nx,y\n", None, "no_identity_column"),
        (b"id,email,E-Mail\n", None, "doubled_column"),
        (b"id\n", {"columns": {"nope": "email"}}, "unknown_column"),
        (b"id,x\n", {"columns": {"x": "tenant_id"}}, "invalid_target"),
        (b"id\n", {"list": "nope"}, "unknown_list"),
        (b"id\n", {"delimiter": "x"}, "invalid_delimiter"),
        (b"id\n", {"tags": ["a,b"]}, "invalid_tag"),
        (b"id\n", {"consents": [{"column": "id", "topic": "t", "channel": "email", "source": "s"}]}, "unknown_topic"),
        (b'"id\n' + b"x" * 70_000, None, "invalid_header"),
        (b"," * 2_000 + b"\n", None, "too_many_columns"),
    ],
)
async def test_what_cannot_be_read_at_all_is_refused_and_leaves_nothing(
    upload: Upload, admin: Any, raw: bytes, options: dict[str, Any] | None, code: str
) -> None:
    answer = await upload(raw, options)
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert await admin.fetchval("select count(*) from waypost.jobs") == 0
    assert await admin.fetchval("select count(*) from waypost.job_files") == 0


async def test_the_file_is_sealed_and_gone_after_the_end(
    acme: Any, upload: Upload, job_runner: Any, admin: Any
) -> None:
    answer = await upload("id,email\nu1,marker@example.com\n")
    [kept] = await admin.fetch("select content from waypost.job_files")
    assert b"marker" not in kept["content"]
    await done(acme, job_runner, answer)
    assert await admin.fetchval("select count(*) from waypost.job_files where file = 'upload'") == 0


async def test_an_import_cannot_take_back_a_suppression(acme: Any, upload: Upload, job_runner: Any) -> None:
    await acme.ok("POST", "/v1/suppressions", {"address": "ada@example.com", "reason": "complaint"})
    text = "id,email,status,suppressed,unsubscribed,consent\nu1,ada@example.com,active,false,false,granted\n"
    await done(acme, job_runner, await upload(text))
    [address] = (await acme.ok("GET", "/v1/recipients/u1"))["addresses"]
    assert address["status"] == "suppressed"
    assert len((await acme.ok("GET", "/v1/suppressions"))["items"]) == 1


async def test_consent_columns_add_to_the_history_once(acme: Any, upload: Upload, job_runner: Any) -> None:
    topic = {"title": "News", "category": "marketing", "default": "opted_out"}
    await acme.ok("PUT", "/v1/topics/news", topic)
    text = "id,email,agreed\nu1,a@example.com,yes\nu2,b@example.com,no\nu3,c@example.com,\nu4,d@example.com,perhaps\n"
    column = {"column": "agreed", "topic": "news", "channel": "email", "source": "fair", "text_version": "2026-11"}
    for _ in range(2):
        job = await done(acme, job_runner, await upload(text, {"consents": [column]}))
        assert job["result"]["rejected"] == 1
    said = {}
    for name in ("u1", "u2", "u3"):
        said[name] = (await acme.ok("GET", f"/v1/recipients/{name}/consents"))["items"]
    assert [(one["state"], one["source"], one["text_version"]) for one in said["u1"]] == [
        ("granted", "fair", "2026-11")
    ]
    assert [one["state"] for one in said["u2"]] == ["withdrawn"]
    assert said["u3"] == []


async def test_a_key_makes_an_upload_happen_once(upload: Upload, admin: Any) -> None:
    key = {"Idempotency-Key": "once"}
    first, second = [await upload("id\nu1\n", **key) for _ in range(2)]
    assert first.json() == second.json()
    assert second.headers["idempotency-replayed"] == "true"
    assert await admin.fetchval("select count(*) from waypost.jobs") == 1
    other = await upload("id\nu2\n", **key)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


async def test_a_waiting_job_is_cancelled_at_once(acme: Any, upload: Upload, job_runner: Any, admin: Any) -> None:
    job = (await upload("id\nu1\n")).json()
    cancelled = await acme.ok("POST", f"/v1/jobs/{job['id']}/cancel")
    assert cancelled["state"] == "cancelled"
    assert await job_runner.work_off() == 0
    assert (await acme.refused("GET", "/v1/recipients/u1"))[0] == 404
    await job_runner.tidy()
    assert await admin.fetchval("select count(*) from waypost.job_files") == 0
    assert (await acme.ok("POST", f"/v1/jobs/{job['id']}/cancel"))["state"] == "cancelled"


@pytest.mark.parametrize(
    ("content_type", "body", "status", "code"),
    [
        ("application/json", b"{}", 415, "unsupported_media_type"),
        ("text/csv; charset=latin-1", b"id\n", 415, "unsupported_media_type"),
        ("multipart/form-data", b"x", 400, "invalid_form"),
        ("multipart/form-data; boundary=b", b"junk", 400, "invalid_form"),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="other"\r\n\r\nx\r\n--b--\r\n',
            400,
            "invalid_form",
        ),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="options"\r\n\r\n{}\r\n--b--\r\n',
            400,
            "invalid_form",
        ),
    ],
)
async def test_bodies_that_are_no_file_are_refused(
    acme: Any, admin: Any, content_type: str, body: bytes, status: int, code: str
) -> None:
    answer = await acme("POST", "/v1/imports", body, headers={"Content-Type": content_type})
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert await admin.fetchval("select count(*) from waypost.jobs") == 0
