"""The catch-all's mailbox over HTTP; without the catch-all the paths do not exist."""

from dataclasses import replace
from typing import Any

import httpx

from waypost.adapters.postgres.mailbox import PgMailboxStore
from waypost.adapters.postgres.tenants import PgKeyring
from waypost.api.app import create_app
from waypost.mailbox.model import Letter
from waypost.mailbox.receive import Receive

LETTER = Letter(recipients=("jane@example.com",), data=b"Subject: Hello\r\nTo: jane@example.com\r\n\r\nHi\r\n")


async def test_what_was_caught_is_listed_and_read_raw(acme: Any, globex: Any) -> None:
    receive = Receive(
        work=acme.app.work, store=PgMailboxStore(), keyring=acme.app.mailbox._keyring, clock=acme.app.clock
    )
    assert isinstance(acme.app.mailbox._keyring, PgKeyring)
    await receive.keep("acme", [LETTER])
    [entry] = (await acme.ok("GET", "/v1/mailbox"))["items"]
    assert (entry["to"], entry["subject"]) == ("jane@example.com", "Hello")
    raw = await acme("GET", f"/v1/mailbox/{entry['id']}")
    assert raw.content == LETTER.data
    assert raw.headers["content-type"].startswith("message/rfc822")
    assert raw.headers["x-content-type-options"] == "nosniff"
    assert (await globex.ok("GET", "/v1/mailbox"))["items"] == []
    assert (await globex.refused("GET", f"/v1/mailbox/{entry['id']}"))[:2] == (404, "not_found")


async def test_without_the_catch_all_there_is_no_mailbox(acme: Any) -> None:
    bare = httpx.ASGITransport(create_app(replace(acme.app, mailbox=None)))
    async with httpx.AsyncClient(transport=bare, base_url="http://waypost") as client:
        answer = await client.get("/v1/mailbox", headers={"Authorization": f"Bearer {acme.key}"})
        assert (answer.status_code, answer.json()["code"]) == (404, "no_such_path")
        assert "/v1/mailbox" not in (await client.get("/openapi.json")).json()["paths"]
