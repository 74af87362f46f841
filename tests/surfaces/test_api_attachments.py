"""Files of a call to send and of a template: kept once, shown by name, forgotten with the last who was sent them."""

import base64
from pathlib import Path
from typing import Any

import asyncpg

PATH = "/v1/notifications"
CONTENT = {"subject": "Your invoice", "html": '<p>See below <img src="cid:logo"></p>'}
PDF = b"%PDF-1.7\n" + bytes(range(256)) * 20


def in_base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def to(number: int) -> dict[str, Any]:
    return {"id": f"user-{number}", "email": f"user{number}@example.com"}


def invoice(**more: Any) -> dict[str, Any]:
    return {"filename": "Rechnung № 7.pdf", "content": in_base64(PDF)} | more


async def counts(admin: asyncpg.Connection) -> tuple[int, int]:
    return (
        await admin.fetchval("select count(*) from waypost.blobs"),
        await admin.fetchval("select count(*) from waypost.blob_uses"),
    )


async def test_a_file_is_kept_once_and_shown_by_name(acme: Any, globex: Any, admin: asyncpg.Connection) -> None:
    logo = {"filename": "logo.png", "content": in_base64(b"png"), "disposition": "inline", "content_id": "logo"}
    body = {"to": [to(1), to(2), to(3)], "content": CONTENT, "attachments": [invoice(), logo]}
    made = await acme.ok("POST", PATH, body)
    await acme.ok("POST", PATH, body)
    assert await counts(admin) == (2, 6)
    shown = await acme.ok("GET", f"{PATH}/{made['notifications'][2]['id']}/content")
    assert shown["attachments"] == [
        {
            "filename": "Rechnung № 7.pdf",
            "content_type": "application/pdf",
            "size": len(PDF),
            "disposition": "attachment",
            "content_id": None,
        },
        {"filename": "logo.png", "content_type": "image/png", "size": 3, "disposition": "inline", "content_id": "logo"},
    ]
    # Another tenant's is another blob: nobody learns that somebody else has the same file.
    await globex.ok("POST", PATH, {"to": to(1), "content": CONTENT, "attachments": [invoice()]})
    assert await counts(admin) == (3, 7)
    assert await admin.fetchval("select count(distinct sealed) from waypost.blobs") == 3
    assert not await admin.fetchval("select count(*) from waypost.blobs where position($1 in sealed) > 0", PDF[:40])


async def test_a_file_goes_with_the_last_who_was_sent_it(acme: Any, admin: asyncpg.Connection) -> None:
    await acme.ok("POST", PATH, {"to": [to(1), to(2)], "content": CONTENT, "attachments": [invoice()]})
    await acme.ok("POST", PATH, {"to": to(1), "content": CONTENT, "attachments": [invoice(content=in_base64(b"own"))]})
    assert await counts(admin) == (2, 3)
    certificate = await acme.ok("DELETE", "/v1/recipients/user-1")
    assert certificate["destroyed"]["attachments"] == 1
    assert await counts(admin) == (1, 1)
    certificate = await acme.ok("DELETE", "/v1/recipients/user-2")
    assert certificate["destroyed"]["attachments"] == 1
    assert await counts(admin) == (0, 0)


async def test_nothing_is_kept_of_what_is_not_sent(acme: Any, admin: asyncpg.Connection) -> None:
    address = "user1@example.com"
    await acme.ok("POST", "/v1/suppressions", {"channel": "email", "address": address, "reason": "manual"})
    made = await acme.ok("POST", PATH, {"to": to(1), "content": CONTENT, "attachments": [invoice()]})
    assert made["notifications"][0]["status"] == "suppressed"
    assert await counts(admin) == (0, 0)
    words = {"subject": "s", "text": "t"}
    on_another = {"to": to(2), "content": words, "channel": "inapp", "attachments": [invoice()]}
    await acme.ok("POST", PATH, on_another)
    assert await counts(admin) == (0, 0)


REFUSED: list[tuple[list[Any], str, str]] = [
    ([invoice(content="no base64!")], "invalid_base64", "/attachments/0/content"),
    ([invoice(content="SGVsbG8")], "invalid_base64", "/attachments/0/content"),
    ([{"filename": "a.pdf"}], "content_or_object", "/attachments/0/content"),
    ([invoice(object="a.pdf")], "content_or_object", "/attachments/0/content"),
    ([invoice(filename="../a.pdf")], "invalid_file_name", "/attachments/0/filename"),
    ([invoice(filename="a\u202egpj.exe")], "invalid_file_name", "/attachments/0/filename"),
    ([invoice(filename="")], "invalid_file_name", "/attachments/0/filename"),
    ([invoice(content_type="multipart/mixed")], "invalid_content_type", "/attachments/0/content_type"),
    ([invoice(content_type="message/rfc822")], "invalid_content_type", "/attachments/0/content_type"),
    ([invoice(content_type="text/html; boundary=x")], "invalid_content_type", "/attachments/0/content_type"),
    ([invoice(content_id="a b", disposition="inline")], "invalid_content_id", "/attachments/0/content_id"),
    ([invoice(disposition="inline")], "needs_content_id", "/attachments/0/content_id"),
    ([invoice(content_id="x", disposition="attachment")], "needs_content_id", "/attachments/0/content_id"),
    ([invoice(content_id="x"), invoice(content_id="x")], "duplicate", "/attachments/1/content_id"),
    ([invoice()] * 21, "too_many", "/attachments"),
    ([{"filename": "a.pdf", "object": "../master.key"}], "invalid_object", "/attachments/0/object"),
    ([{"filename": "a.pdf", "object": "/etc/passwd"}], "invalid_object", "/attachments/0/object"),
    ([{"filename": "a.pdf", "object": "nowhere.pdf"}], "unknown_object", "/attachments/0/object"),
]


async def test_what_cannot_be_sent_is_refused(acme: Any, admin: asyncpg.Connection) -> None:
    for files, code, pointer in REFUSED:
        body = {"to": to(1), "content": CONTENT, "attachments": files}
        assert await acme.refused("POST", PATH, body) == (422, code, [pointer]), (code, pointer)
    assert await counts(admin) == (0, 0)


async def test_files_have_a_size(acme: Any, admin: asyncpg.Connection) -> None:
    """Larger than any other body may be: a call with files counts as a bulk."""
    large = {"to": to(1), "content": CONTENT, "attachments": [invoice(content=in_base64(bytes(3_000_000)))]}
    await acme.ok("POST", PATH, large)
    assert await admin.fetchval("select max(length(sealed)) from waypost.blobs") > 3_000_000
    each = {"to": to(1), "content": CONTENT, "attachments": [invoice(content=in_base64(bytes(10_485_761)))]}
    assert await acme.refused("POST", PATH, each) == (422, "too_large", ["/attachments/0/content"])
    beyond = {"to": to(1), "content": CONTENT, "attachments": [invoice(content="A" * 17_000_000)]}
    assert (await acme.refused("POST", PATH, beyond))[:2] == (413, "body_too_large")
    elsewhere = {"email": "a@example.com", "attributes": {"x": "y" * 2_000_000}}
    assert (await acme.refused("PUT", "/v1/recipients/user-9", elsewhere))[:2] == (413, "body_too_large")


async def test_objects_lie_in_the_tenant_s_folder(acme: Any, globex: Any, admin: asyncpg.Connection) -> None:
    folder: Path = acme.app.settings.data_dir / "objects"
    (folder / "acme" / "invoices").mkdir(parents=True)
    (folder / "acme" / "invoices" / "7.pdf").write_bytes(PDF)
    (folder / "acme" / "link.pdf").symlink_to(acme.app.settings.master_key_path)
    (folder / "acme" / "elsewhere").symlink_to(acme.app.settings.data_dir)
    by_object = {"to": to(1), "content": CONTENT, "attachments": [{"filename": "7.pdf", "object": "invoices/7.pdf"}]}
    made = await acme.ok("POST", PATH, by_object)
    shown = await acme.ok("GET", f"{PATH}/{made['notifications'][0]['id']}/content")
    assert [(one["filename"], one["size"]) for one in shown["attachments"]] == [("7.pdf", len(PDF))]
    assert await counts(admin) == (1, 1)
    for caller, key in (
        (globex, "invoices/7.pdf"),
        (acme, "link.pdf"),
        (acme, "elsewhere/master.key"),
        (acme, "invoices"),
    ):
        body = {"to": to(1), "content": CONTENT, "attachments": [{"filename": "x.pdf", "object": key}]}
        assert (await caller.refused("POST", PATH, body))[:2] == (422, "unknown_object"), key


async def test_a_version_carries_its_images(acme: Any, admin: asyncpg.Connection) -> None:
    await acme.ok("POST", "/v1/templates", {"key": "invoice", "category": "transactional"})
    path = "/v1/templates/invoice/email/versions"
    logo = {"filename": "logo.png", "content": in_base64(b"png"), "disposition": "inline", "content_id": "logo"}
    words = {"subject": "Invoice", "body": '<img src="cid:logo" alt="Acme"><p>Thank you.</p>'}
    made = await acme.ok("POST", path, {"locales": {"en": words, "de": words}, "files": [logo]})
    shown = {"filename": "logo.png", "content_type": "image/png", "size": 3, "disposition": "inline"}
    assert made["files"] == [shown | {"content_id": "logo"}]
    drawn = f'<img src="data:image/png;base64,{in_base64(b"png")}" alt="Acme">'
    assert drawn in (await acme.ok("POST", f"{path}/1.0.0/preview", {}))["html"]
    await acme.ok("POST", f"{path}/1.0.0/publish")
    assert drawn in (await acme.ok("POST", f"{path}/1.0.0/preview", {}))["html"]
    assert await counts(admin) == (1, 0)
    assert await admin.fetchval("select kept_until from waypost.blobs") is None
    sent = await acme.ok("POST", PATH, {"to": to(1), "template": "invoice", "attachments": [invoice()]})
    content = await acme.ok("GET", f"{PATH}/{sent['notifications'][0]['id']}/content")
    assert [one["filename"] for one in content["attachments"]] == ["logo.png", "Rechnung № 7.pdf"]
    # The same bytes, sent to someone as well: the template's stay when that someone goes.
    await acme.ok("POST", PATH, {"to": to(2), "content": CONTENT, "attachments": [invoice(content=in_base64(b"png"))]})
    await acme.ok("DELETE", "/v1/recipients/user-2")
    assert await counts(admin) == (2, 1)
    assert await acme.refused("POST", path, {"locales": {"en": words}, "files": [logo] * 2}) == (
        422,
        "duplicate",
        ["/files/1/content_id"],
    )
    large = logo | {"content": in_base64(bytes(600_000))}
    assert (await acme.refused("POST", path, {"locales": {"en": words}, "files": [large]}))[:2] == (422, "too_large")
