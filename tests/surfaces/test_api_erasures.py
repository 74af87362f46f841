"""Erasing someone: the certificate, and that nothing is left anywhere."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg

from waypost.kernel import ids

MARKER = "zanzibar"
LATER = (datetime.now(UTC) + timedelta(days=30)).isoformat()


async def test_the_certificate_is_signed_and_can_be_verified(acme: Any, globex: Any) -> None:
    await acme.ok("PUT", "/v1/recipients/u1", {"email": "ada@example.com", "tags": ["a", "b"]})
    certificate = await acme.ok("DELETE", "/v1/recipients/u1")
    assert certificate["destroyed"] == {"data_keys": 1, "addresses": 1, "tags": 2}
    assert "u1" not in json.dumps(certificate)
    assert await acme.ok("DELETE", "/v1/recipients/u1") == certificate
    assert (await acme.ok("GET", "/v1/erasures"))["items"] == [certificate]

    async def verify(who: Any, shown: Any, **more: Any) -> Any:
        return await who.ok("POST", "/v1/erasures/verify", {"certificate": shown, **more})

    assert await verify(acme, certificate) == {"genuine": True, "on_record": True, "about": None}
    assert (await verify(acme, certificate, id="u1"))["about"] is True
    assert (await verify(acme, certificate, id="u2"))["about"] is False
    forged = {**certificate, "destroyed": {**certificate["destroyed"], "addresses": 9}}
    assert await verify(acme, forged) == {"genuine": False, "on_record": False, "about": None}
    assert (await verify(acme, {**certificate, "signature": "ü"}))["genuine"] is False
    assert (await verify(globex, certificate))["genuine"] is False
    assert (await globex.ok("GET", "/v1/erasures"))["items"] == []


async def keep_backup(admin: asyncpg.Connection) -> None:
    for table in ("recipients", "addresses"):
        await admin.execute(f"create temp table old_{table} as select * from waypost.{table}")


async def restore(admin: asyncpg.Connection) -> None:
    """The rows of then are back, and nobody knows of the erasures."""
    await admin.execute("delete from waypost.erasures")
    await admin.execute(
        "update waypost.recipients r set external_id = o.external_id, data_key = o.data_key, attributes = o.attributes,"
        " merged_into = o.merged_into, erased_at = o.erased_at from old_recipients o where o.id = r.id"
    )
    await admin.execute(
        "update waypost.addresses a set status = o.status, ciphertext = o.ciphertext"
        " from old_addresses o where o.id = a.id"
    )


async def test_after_a_restore_the_erased_are_erased_again(acme: Any, admin: asyncpg.Connection) -> None:
    for who in ("u1", "u2", "u3"):
        await acme.ok("PUT", f"/v1/recipients/{who}", {"email": f"{who}@example.com", "attributes": {"n": who}})
    await keep_backup(admin)
    # Only after the backup it turns out that two of them are one; somebody new comes and goes.
    await acme.ok("POST", "/v1/recipients/u1/merge", {"from": "u2"})
    await acme.ok("PUT", "/v1/recipients/u4", {"email": "u4@example.com"})
    certificates = [await acme.ok("DELETE", f"/v1/recipients/{who}") for who in ("u1", "u4")]
    await restore(admin)
    await admin.execute("delete from waypost.addresses where recipient_id not in (select id from old_recipients)")
    await admin.execute("delete from waypost.recipients where id not in (select id from old_recipients)")
    assert (await acme.ok("GET", "/v1/recipients/u2"))["attributes"] == {"n": "u2"}, "the backup brought them back"
    body = {"certificates": certificates}
    assert await acme.ok("POST", "/v1/erasures/replay", body) == {"erased": 1, "noted": 2}
    for who in ("u1", "u2", "u4"):
        assert (await acme.refused("PUT", f"/v1/recipients/{who}", {}))[:2] == (409, "recipient_erased")
    assert (await acme.ok("GET", "/v1/recipients/u3"))["attributes"] == {"n": "u3"}
    assert await acme.ok("DELETE", "/v1/recipients/u1") == certificates[0], "the certificate of then still holds"
    assert await acme.ok("POST", "/v1/erasures/replay", body) == {"erased": 0, "noted": 0}


async def test_one_forged_certificate_and_nobody_is_erased(acme: Any, globex: Any, admin: asyncpg.Connection) -> None:
    await acme.ok("PUT", "/v1/recipients/u1", {"email": "ada@example.com"})
    await acme.ok("PUT", "/v1/recipients/u2", {"email": "bob@example.com"})
    victim = await admin.fetchval("select id from waypost.recipients where external_id = 'u2'")
    await keep_backup(admin)
    certificate = await acme.ok("DELETE", "/v1/recipients/u1")
    await restore(admin)
    forged = {**certificate, "recipient": ids.show("rcp", victim)}
    refusal = await acme.refused("POST", "/v1/erasures/replay", {"certificates": [certificate, forged]})
    assert refusal == (422, "not_genuine", ["/certificates/1"])
    foreign = await globex.refused("POST", "/v1/erasures/replay", {"certificates": [certificate]})
    assert foreign == (422, "not_genuine", ["/certificates/0"])
    for who in ("u1", "u2"):
        await acme.ok("GET", f"/v1/recipients/{who}")


async def test_what_waits_is_cancelled(acme: Any) -> None:
    sent = await acme.ok(
        "POST",
        "/v1/notifications",
        {
            "to": {"id": "u1", "email": "ada@example.com"},
            "content": {"subject": "s", "text": "t"},
            "send_at": LATER,
        },
    )
    certificate = await acme.ok("DELETE", "/v1/recipients/u1")
    assert certificate["destroyed"]["cancelled_messages"] == 1
    assert (await acme.ok("GET", f"/v1/notifications/{sent['notifications'][0]['id']}"))["status"] == "cancelled"


async def test_nothing_of_the_person_is_left_in_any_table(
    acme: Any, job_runner: Any, admin: asyncpg.Connection, capsys: Any
) -> None:
    """30. The marker goes through every feature there is, then the person is erased, then every table is searched."""
    address, who = f"{MARKER}@{MARKER}.example", f"{MARKER}@id"
    path = f"/v1/recipients/{MARKER}%40id"
    await acme.ok(
        "PUT",
        path,
        {"email": address, "phone": "+14155550123", "attributes": {"name": MARKER, MARKER: 1}, "tags": [MARKER]},
    )
    await acme.ok("POST", f"{path}/addresses", {"channel": "email", "address": f"x.{MARKER}@example.com"})
    await acme.ok("PUT", "/v1/lists/everyone", {})
    await acme.ok("POST", "/v1/lists/everyone/members", {"add": [who]})
    visitor = await acme.ok(
        "POST",
        "/v1/notifications",
        {"to": {"email": f"visitor@{MARKER}.example"}, "content": {"subject": MARKER, "text": MARKER}},
        headers={"Idempotency-Key": "k1"},
    )
    await acme.ok("POST", f"{path}/merge", {"from": visitor["notifications"][0]["recipient_id"]})
    await acme.ok(
        "POST",
        "/v1/notifications",
        {
            "to": who,
            "content": {"subject": f"Hello {{{{ {MARKER} }}}}", "text": "Hi {{ name }}"},
            "variables": {"name": MARKER},
            "metadata": {"note": MARKER},
            "send_at": LATER,
        },
    )
    await acme.ok("POST", "/v1/suppressions", {"address": address, "reason": "manual"})
    answer = await acme("POST", "/v1/imports", f"id,email,name\n{who},{address},{MARKER}\n".encode(),
                        headers={"Content-Type": "text/csv"})  # fmt: skip
    assert answer.status_code == 202
    exported = await acme.ok("POST", "/v1/exports", {"kind": "recipients"})
    await job_runner.work_off()
    file = await acme("GET", f"/v1/exports/{exported['id']}/file")
    assert address in file.text
    before = await found_in(admin)
    assert before, "the search must be able to find it"
    await acme.ok("DELETE", path)
    assert await found_in(admin) == []
    assert (await acme.refused("GET", f"/v1/exports/{exported['id']}/file"))[:2] == (404, "file_gone")
    assert MARKER not in capsys.readouterr().out.replace(f"/v1/recipients/{MARKER}", "")
    # The suppression holds without the address.
    await acme.ok("PUT", "/v1/recipients/another", {"email": address})
    [again] = (await acme.ok("GET", "/v1/recipients/another"))["addresses"]
    assert again["status"] == "suppressed"


async def found_in(admin: asyncpg.Connection) -> list[str]:
    """Every table in which the marker stands, as text or within bytes."""
    tables = await admin.fetch(
        "select c.oid::regclass::text as name from pg_class c where c.relnamespace = 'waypost'::regnamespace"
        " and c.relkind = 'r'"
    )
    spelled = MARKER.encode().hex()
    found = []
    for table in tables:
        query = f"select count(*) from {table['name']} t where t::text ilike $1 or t::text ilike $2"
        if await admin.fetchval(query, f"%{MARKER}%", f"%{spelled}%"):
            found.append(table["name"])
    return found
