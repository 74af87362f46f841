"""`/t/o` and `/t/c` over the whole API: what they answer, what they keep, and what nobody can make them do."""

import asyncio
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest

from waypost.adapters.postgres.news_subjects import PgSubjects
from waypost.adapters.postgres.tenants import PgKeyring
from waypost.adapters.postgres.webhook_endpoints import PgEndpoints
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import open_master_key
from waypost.bootstrap.inputs import inputs_of
from waypost.kernel import ids, tokens
from waypost.kernel.tokens import Purpose, Stamp, Token
from waypost.notifications.metadata import Metadata
from waypost.outbox.catalogue import ReadingData
from waypost.outbox.describe import Describe
from waypost.outbox.model import Told
from waypost.tracking.link_pattern import WordPen, set_of
from waypost.tracking.link_token import LinkPen, link_key_of, write_link

URL = "https://shop.example.com/spring?x=1&y=2#part"
FIREFOX = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "Accept-Language": "de",
}
HTML = '<body><a href="https://shop.example.com/spring?x=1&amp;y=2#part">Spring</a></body>'
NEW: dict[str, Any] = {
    "to": {"id": "ada", "email": "ada@example.com"},
    "content": {"subject": "Spring", "html": HTML},
    "metadata": {"campaign": "spring"},
}


class Letter:
    """A message of a tenant, and its links as they stand in it."""

    def __init__(self, who: Any, admin: Any, shown_id: str, version_id: UUID, key: Any) -> None:
        self.who, self.admin, self.shown_id, self.version_id, self.key = who, admin, shown_id, version_id, key
        found = ids.read("ntf", shown_id)
        assert found is not None
        self.id = found

    def mark(self, purpose: Purpose = Purpose.MESSAGE) -> str:
        return Stamp(purpose, self.who.tenant, self.key)(self.id.bytes)

    def link(self, url: str = URL, *, number: int = 1, is_personal: bool = False, version: UUID | None = None) -> str:
        version = version or self.version_id
        return write_link(link_key_of(self.key, version), version.bytes, number, url, is_personal=is_personal)

    @property
    def click(self) -> str:
        return f"/t/c/{self.mark()}.{self.link()}"

    @property
    def pixel(self) -> str:
        return f"/t/o/{self.mark()}.gif"

    async def get(self, path: str, method: str = "GET", **headers: str) -> Any:
        return await self.who.client.request(method, path, headers={**FIREFOX, **headers})

    async def rows(self) -> list[Any]:
        return await self.admin.fetch(
            "select kind, client, link, target is not null as led from waypost.tracking_events"
            " where notification_id = $1 order by id",
            self.id,
        )

    async def timeline(self) -> list[dict[str, Any]]:
        items = (await self.who.ok("GET", f"/v1/notifications/{self.shown_id}/timeline"))["items"]
        return [{"event": one["event"], **one["detail"]} for one in items if one["event"] in ("opened", "clicked")]


async def a_letter(who: Any, admin: Any, **said: Any) -> Letter:
    accepted = await who.ok("POST", "/v1/notifications", {**NEW, **said})
    shown_id = accepted["notifications"][0]["id"]
    found = ids.read("ntf", shown_id)
    version = await admin.fetchval("select version_id from waypost.notifications where id = $1", found)
    return Letter(who, admin, shown_id, version, await a_key(who))


async def a_key(who: Any) -> Any:
    keyring = PgKeyring(LocalVault(open_master_key(who.app.settings.master_key_path, create=False)))
    async with who.app.work.begin(who.tenant) as tx:
        return await keyring.of(tx)


@pytest.fixture
async def letter(acme: Any, admin: Any) -> Letter:
    return await a_letter(acme, admin)


async def test_what_is_followed_and_loaded_is_answered_and_kept(letter: Letter) -> None:
    answer = await letter.get(letter.click)
    assert (answer.status_code, answer.headers["location"]) == (302, URL)
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "set-cookie" not in answer.headers
    answer = await letter.get(letter.pixel)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/gif")
    assert answer.content.startswith(b"GIF89a\x01\x00\x01\x00")
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert answer.headers["cache-control"] == "no-store"
    await letter.get(letter.pixel, **{"User-Agent": "Mozilla/5.0 (via ggpht.com GoogleImageProxy)"})
    # Where an address is one person's own, it may hold a secret: it leads there, and is not kept.
    secret = "https://shop.example.com/reset/s3cret"
    answer = await letter.get(f"/t/c/{letter.mark()}.{letter.link(secret, number=2, is_personal=True)}")
    assert answer.headers["location"] == secret
    assert sorted(await letter.timeline(), key=str) == sorted(
        [
            {"event": "clicked", "client": "browser", "link": 1, "url": URL},
            {"event": "opened", "client": "browser"},
            {"event": "opened", "client": "proxy"},
            {"event": "clicked", "client": "browser", "link": 2},
        ],
        key=str,
    )
    assert [row["led"] for row in await letter.rows() if row["link"] == 2] == [False]


async def test_a_link_that_differs_by_words_leads_where_pattern_and_words_say(letter: Letter) -> None:
    key, names = link_key_of(letter.key, letter.version_id), set_of(["order"])
    url = "https://shop.example.com/orders/{0}?x=1"
    pattern = LinkPen(key, letter.version_id.bytes).write_pattern(5, url, names)
    words, others = WordPen(key, names).write(["o-17"]), WordPen(key, set_of(["name"])).write(["o-17"])
    answer = await letter.get(f"/t/c/{letter.mark()}.{pattern}.{words}")
    assert (answer.status_code, answer.headers["location"]) == (302, "https://shop.example.com/orders/o-17?x=1")
    assert await letter.timeline() == [{"event": "clicked", "client": "browser", "link": 5}]
    for wrong in (pattern, f"{pattern}.{others}", f"{letter.link()}.{words}", words):
        assert (await letter.get(f"/t/c/{letter.mark()}.{wrong}")).status_code == 404


async def test_only_get_is_kept_and_nothing_else_is_done_there(letter: Letter) -> None:
    click, pixel = await letter.get(letter.click, "HEAD"), await letter.get(letter.pixel, "HEAD")
    assert (click.status_code, click.headers["location"], click.content) == (302, URL, b"")
    assert (pixel.status_code, pixel.content) == (200, b"")
    assert (await letter.get("/t/c/none", "HEAD")).status_code == 404
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        for path in (letter.click, letter.pixel):
            answer = await letter.get(path, method)
            assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
    assert await letter.rows() == []


async def test_no_altered_token_leads_anywhere(letter: Letter) -> None:
    mark, link = letter.mark(), letter.link()
    other = letter.link("https://evil.example/")
    forged = write_link(b"k" * 32, letter.version_id.bytes, 1, "https://evil.example/", is_personal=False)
    wrong = [
        f"{mark}.{link[:-2]}",
        f"{mark}.{link}A",
        f"{mark}.{link}=",
        f"{mark}.{link[:-1]}{'A' if link[-1] != 'A' else 'B'}",
        f"{mark[:-1]}{'A' if mark[-1] != 'A' else 'B'}.{link}",
        f"{mark}.{forged}",
        f"{mark}.{other[:22]}{link[22:]}",
        f"{mark}.{link[:22]}{other[22:]}",
        mark,
        link,
        f".{link}",
        f"{mark}.",
        f"{mark}.{link}.{link}",
        f"{link}.{mark}",
        f"{letter.mark(Purpose.OPEN)}.{link}",
        f"{mark}.{letter.link('https://user@evil.example/')}",
        f"{mark}.{letter.link('javascript:alert(1)')}",
        f"{mark}.{letter.link('https://a.example/' + chr(13) + chr(10) + 'X: y')}",
        "",
        "https://evil.example/",
        quote("https://evil.example/", safe=""),
        "x" * 9_000,
    ]
    for text in wrong:
        answer = await letter.get(f"/t/c/{text}")
        assert answer.status_code in (404, 429), text
        assert "location" not in answer.headers
        assert "evil" not in answer.text
    answer = await letter.get(f"{letter.click}?url=https://evil.example/&next=//evil.example")
    assert answer.headers["location"] == URL
    twice = quote(quote(letter.click[5:], safe=""), safe="").replace("-", "%252D")
    answer = await letter.get(f"/t/c/{twice}")
    assert answer.status_code in (404, 429) or answer.headers["location"] == URL
    for tail in ("/", "//evil.example", "%0d%0aLocation:%20https://evil.example", "%00", "\\evil.example"):
        answer = await letter.get(f"{letter.click}{tail}")
        assert answer.status_code in (404, 429)
        assert "location" not in answer.headers


async def test_no_other_token_and_no_other_tenant_s_key_passes(letter: Letter, globex: Any, admin: Any) -> None:
    for purpose in Purpose:
        mark = tokens.write(Token(purpose=purpose, tenant_id="acme", subject=letter.id.bytes), letter.key)
        answer = await letter.get(f"/t/c/{mark}.{letter.link()}")
        assert answer.status_code == (302 if purpose in (Purpose.MESSAGE, Purpose.CLICK) else 404)
        await letter.get(f"/t/o/{mark}.gif")
        for door in ("/u/", "/p/") if purpose in (Purpose.MESSAGE, Purpose.OPEN, Purpose.CLICK) else ():
            assert (await letter.get(f"{door}{mark}")).status_code == 404
    assert sorted(row["kind"] for row in await letter.rows()) == [1, 1, 2, 2], "and what was sent with a mark for each"
    theirs = await a_key(globex)
    mark = Stamp(Purpose.MESSAGE, "globex", theirs)(letter.id.bytes)
    link = write_link(link_key_of(theirs, letter.version_id), letter.version_id.bytes, 1, URL, is_personal=False)
    as_acme = Stamp(Purpose.MESSAGE, "acme", theirs)(letter.id.bytes)
    assert (await letter.get(f"/t/c/{as_acme}.{link}")).status_code == 404
    assert (await letter.get(f"/t/c/{mark}.{letter.link()}")).status_code == 404
    assert (await letter.get(f"/t/c/{letter.mark()}.{link}")).status_code == 404
    # A message of the other tenant is not theirs to note anything about.
    assert (await letter.get(f"/t/c/{mark}.{link}")).status_code == 302
    # Found genuine for them, it is none for us.
    assert (await letter.get(f"/t/c/{letter.mark()}.{link}")).status_code == 404
    assert len(await letter.rows()) == 4
    unknown = Stamp(Purpose.MESSAGE, "nobody", theirs)(letter.id.bytes)
    assert (await letter.get(f"/t/c/{unknown}.{link}")).status_code == 404
    # A link of another content of one's own leads, and is not kept about this message.
    other = await a_letter(letter.who, admin, content={"subject": "Other", "html": "<p>other</p>"})
    answer = await letter.get(f"/t/c/{other.mark()}.{letter.link()}")
    assert answer.headers["location"] == URL
    assert await other.rows() == []
    status, code, _ = await globex.refused("GET", f"/v1/notifications/{letter.shown_id}/timeline")
    assert (status, code) == (404, "not_found")


async def test_what_is_no_token_gets_the_picture_or_a_friendly_page(letter: Letter) -> None:
    for text in ("", ".gif", "x.gif", "..%2f..%2fetc", "ä.gif", "x" * 5_000):
        answer = await letter.get(f"/t/o/{text}")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/gif")
    assert await letter.rows() == []
    answer = await letter.get("/t/c/nothing")
    assert answer.status_code == 404
    assert "Dieser Link funktioniert nicht" in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    answers = [await letter.get(f"/t/c/{number}") for number in range(60)]
    assert answers[-1].status_code == 429
    assert (await letter.get(letter.click)).status_code == 302


async def test_links_outlive_everything_and_of_who_is_gone_nothing_is_kept(letter: Letter, admin: Any) -> None:
    await letter.get(letter.click)
    no_version = f"/t/c/{letter.mark()}.{letter.link(version=uuid4())}"
    assert (await letter.get(no_version)).headers["location"] == URL
    other = await a_letter(letter.who, admin, to={"id": "bob", "email": "bob@example.com"})
    await admin.execute("delete from waypost.notifications where id = $1", other.id)
    await letter.who.ok("DELETE", "/v1/recipients/ada")
    for one in (letter, other):
        assert (await one.get(one.click)).headers["location"] == URL
        assert (await one.get(one.pixel)).status_code == 200
    assert (len(await letter.rows()), await other.rows()) == (1, [])
    assert await admin.fetchval("select count(*) from waypost.outbox where kind in (60, 61)") == 1


async def test_links_of_a_suspended_tenant_end(letter: Letter, platform: Any, admin: Any) -> None:
    await platform.ok("PATCH", "/v1/tenants/acme", {"status": "suspended"})
    answer = await letter.get(letter.click)
    assert answer.status_code == 410
    assert "location" not in answer.headers
    assert (await letter.get(letter.pixel)).status_code == 200
    assert await admin.fetchval("select count(*) from waypost.tracking_events") == 0


async def test_no_answer_before_the_commit_and_many_share_one(letter: Letter, admin: Any) -> None:
    """What is answered is in the database: nothing that happens to this process afterwards can lose it."""
    await letter.get(letter.pixel)
    lock = admin.transaction()
    await lock.start()
    await admin.execute("lock table waypost.tracking_events in exclusive mode")
    waiting = [asyncio.create_task(letter.get(letter.click)) for _ in range(30)]
    for _ in range(3_000):
        if await admin.fetchval(
            "select count(*) from pg_locks where not granted and relation = 'waypost.tracking_events'::regclass"
            " and database = (select oid from pg_database where datname = current_database())"
        ):
            break
        await asyncio.sleep(0.01)
    assert not any(one.done() for one in waiting)
    await lock.rollback()
    answers = await asyncio.gather(*waiting)
    assert [one.status_code for one in answers] == [302] * 30
    assert len(await letter.rows()) == 31
    commits = await admin.fetchval(
        "select count(distinct xmin::text) from waypost.tracking_events where notification_id = $1", letter.id
    )
    assert commits < 31

    # Who reads a mail does not suffer from a database that keeps nothing, and a flood of one token is bounded.
    await admin.execute("revoke insert on waypost.tracking_events from waypost_api")
    assert (await letter.get(letter.click)).headers["location"] == URL
    assert (await letter.get(letter.pixel)).content.startswith(b"GIF89a")
    await admin.execute("grant insert on waypost.tracking_events to waypost_api")
    assert len(await letter.rows()) == 31
    for _ in range(4):
        answers = await asyncio.gather(*(letter.get(letter.pixel) for _ in range(40)))
        assert {one.status_code for one in answers} == {200}
    assert len([row for row in await letter.rows() if row["kind"] == 1]) == 99


async def test_opens_and_clicks_are_told_to_the_world(letter: Letter, admin: Any) -> None:
    await letter.get(letter.pixel)
    await letter.get(letter.click)
    await letter.get(f"/t/c/{letter.mark()}.{letter.link('https://a.example/me', number=2, is_personal=True)}")
    app = letter.who.app
    keyring = PgKeyring(LocalVault(open_master_key(app.settings.master_key_path, create=False)))
    async with app.work.begin("acme") as tx:
        rows = await admin.fetch("select id, at, kind, subject_id, n from waypost.outbox where kind in (60, 61)")
        news = [Told(at=at, kind=kind, subject_id=subject, n=n, row=row) for row, at, kind, subject, n in rows]
        metadata = Metadata(keyring=keyring, inputs=inputs_of(keyring, app.clock))
        describe = Describe(subjects=PgSubjects(), endpoints=PgEndpoints(), metadata=metadata, keyring=keyring)
        events = await describe(tx, news)
    told = {(one.type.name, one.data.link, one.data.url) for one in events if one and isinstance(one.data, ReadingData)}
    assert told == {
        ("notification.opened", None, None),
        ("notification.clicked", 1, URL),
        ("notification.clicked", 2, None),
    }
    assert len({one.id for one in events if one}) == 3
    for one in events:
        assert one is not None
        assert isinstance(one.data, ReadingData)
        assert (one.data.notification_id, one.data.recipient_id) == (letter.shown_id, "ada")
        assert (one.data.client, one.data.metadata) == ("browser", {"campaign": "spring"})


async def test_everyone_who_may_decide_can_say_so_and_read_it_again(acme: Any) -> None:
    assert (await acme.ok("GET", "/v1/settings"))["tracking"] == {"opens": None, "clicks": None}
    said = await acme.ok("PATCH", "/v1/settings", {"tracking": {"opens": False}})
    assert said["tracking"] == {"opens": False, "clicks": None}
    assert (await acme.ok("PATCH", "/v1/settings", {"timezone": "Europe/Vienna"}))["tracking"]["opens"] is False
    assert (await acme.ok("PATCH", "/v1/settings", {"tracking": None}))["tracking"]["opens"] is None

    await acme.ok("PUT", "/v1/recipients/ada", {"email": "ada@example.com"})
    path = "/v1/recipients/ada/preferences"
    assert (await acme.ok("PUT", path, {"channels": {"email": {"tracking": False}}}))["channels"]["email"] == {
        "enabled": None, "categories": {}, "topics": {}, "tracking": False,
    }  # fmt: skip
    kept = await acme.ok("PUT", path, {"channels": {"email": {"enabled": True}}})
    assert kept["channels"]["email"]["tracking"] is False
    assert (await acme.ok("PUT", path, {"channels": {"email": None}}))["channels"] == {}

    await acme.ok("POST", "/v1/templates", {"key": "spring", "category": "marketing"})
    version = {"locales": {"en": {"subject": "s", "body": "<p>b</p>"}}, "tracking": {"clicks": False}}
    drafted = await acme.ok("POST", "/v1/templates/spring/email/versions", version)
    assert drafted["tracking"] == {"opens": None, "clicks": False}
    read = await acme.ok("GET", f"/v1/templates/spring/email/versions/{drafted['semver']}")
    assert read["tracking"] == {"opens": None, "clicks": False}
    status, _, pointers = await acme.refused("POST", "/v1/notifications", {**NEW, "tracking": {"opens": "yes"}})
    assert (status, pointers) == (422, ["/tracking/opens"])
