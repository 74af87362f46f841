"""Files of people: safe in a spreadsheet, exact on the way back, and gone in time."""

import csv
import io
from typing import Any

from waypost.kernel.tenancy import Permission

FORMULAS = {
    "a": "=1+1",
    "b": "+49",
    "c": "-x",
    "d": "@sum",
    "e": "\tx",
    "f": "'quoted",
    "g": '=cmd|"x"',
    "h": " space ",
}
TYPED = {"number": 3, "yes": True, "list": [1, {"a": None}], "empty": "", "blank": "  ", "text": "3"}


async def exported(acme: Any, job_runner: Any, **order: Any) -> Any:
    job = await acme.ok("POST", "/v1/exports", {"kind": "recipients", **order})
    assert (await acme.refused("GET", f"/v1/exports/{job['id']}/file"))[:2] == (409, "not_finished")
    await job_runner.work_off()
    done = await acme.ok("GET", f"/v1/jobs/{job['id']}")
    assert done["state"] == "finished", done
    answer = await acme("GET", done["links"]["file"])
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == "attachment"
    return answer.text


async def test_what_was_exported_is_imported_back_exactly(acme: Any, globex: Any, job_runner: Any) -> None:
    await acme.ok(
        "PUT",
        "/v1/recipients/u1",
        {
            "email": "old@example.com",
            "phone": "+14155550123",
            "locale": "de-AT",
            "timezone": "Europe/Vienna",
            "attributes": {**FORMULAS, **TYPED},
            "tags": ["b", "a"],
        },
    )
    await acme.ok("PATCH", "/v1/recipients/u1", {"email": "new@example.com"})
    await acme.ok("PUT", "/v1/recipients/u2", {"kind": "vendor", "attributes": {"later": "col"}})
    text = await exported(acme, job_runner)
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0][:7] == ["id", "kind", "email", "phone", "locale", "timezone", "tags"]
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    answer = await globex("POST", "/v1/imports", text.encode(), headers={"Content-Type": "text/csv"})
    assert answer.status_code == 202, answer.text
    await job_runner.work_off()
    result = (await globex.ok("GET", f"/v1/jobs/{answer.json()['id']}"))["result"]
    assert result["rejected"] == 0, result
    for name in ("u1", "u2"):
        there, back = [await api.ok("GET", f"/v1/recipients/{name}") for api in (acme, globex)]
        for field in ("kind", "locale", "timezone", "attributes", "tags"):
            assert back[field] == there[field], field
        assert sorted((a["masked"], a["current"]) for a in back["addresses"]) == sorted(
            (a["masked"], a["current"]) for a in there["addresses"]
        )
    assert table_of(await exported(globex, job_runner)) == table_of(text)


def table_of(text: str) -> list[dict[str, str]]:
    """Rows and columns in an order of their own: who is first in a file is not said."""
    rows = [{name: cell for name, cell in row.items() if cell} for row in csv.DictReader(io.StringIO(text))]
    return sorted(rows, key=lambda row: sorted(row.items()))


async def test_only_those_with_a_tag_or_in_a_list(acme: Any, job_runner: Any) -> None:
    await acme.ok("PUT", "/v1/lists/l", {})
    for n in range(3):
        await acme.ok("PUT", f"/v1/recipients/u{n}", {"tags": ["t"] if n else []})
    await acme.ok("POST", "/v1/lists/l/members", {"add": ["u0"]})
    assert [line.split(",")[0] for line in (await exported(acme, job_runner, tag="t")).splitlines()] == [
        "id",
        "u1",
        "u2",
    ]
    assert [line.split(",")[0] for line in (await exported(acme, job_runner, list="l")).splitlines()] == ["id", "u0"]
    assert (await acme.refused("POST", "/v1/exports", {"kind": "recipients", "list": "no"}))[1] == "unknown_list"
    assert (await acme.refused("POST", "/v1/exports", {"kind": "suppressions", "tag": "t"}))[1] == "invalid_filter"


async def test_suppressions_are_exported_masked(acme: Any, job_runner: Any) -> None:
    await acme.ok("POST", "/v1/suppressions", {"address": "ada@example.com", "reason": "complaint"})
    text = await exported(acme, job_runner, kind="suppressions")
    assert next(csv.DictReader(io.StringIO(text)))["address"] == "a***@example.com"


async def test_the_file_is_sealed_needs_its_own_scope_and_goes(acme: Any, admin: Any, job_runner: Any) -> None:
    await acme.ok("PUT", "/v1/recipients/u1", {"email": "marker@example.com"})
    job = await acme.ok("POST", "/v1/exports", {"kind": "recipients"})
    await job_runner.work_off()
    parts = await admin.fetch("select content from waypost.job_files where file = 'result'")
    assert len(parts) == 2
    assert not [part for part in parts if b"marker" in part["content"]]
    reader = await acme.with_scopes("acme", Permission.RECIPIENTS_READ, Permission.RECIPIENTS_WRITE)
    assert (await reader.refused("GET", f"/v1/exports/{job['id']}/file"))[:2] == (403, "missing_scope")
    assert (await reader.refused("POST", "/v1/exports", {"kind": "recipients"}))[:2] == (403, "missing_scope")
    await admin.execute("update waypost.jobs set files_until = now() - interval '1 second'")
    await job_runner.tidy()
    assert (await acme.refused("GET", f"/v1/exports/{job['id']}/file"))[:2] == (404, "file_gone")
    assert (await acme.ok("GET", f"/v1/jobs/{job['id']}"))["links"] == {}
