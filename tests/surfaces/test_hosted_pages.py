"""Links in messages: one click stops, years later too; only a fresh link starts; no other token passes."""

import re
from collections.abc import Awaitable, Callable
from html import unescape
from typing import Any
from uuid import UUID

import pytest

from waypost.kernel import tokens
from waypost.kernel.tokens import Purpose, Token
from waypost.kernel.vault import place
from waypost.kernel.vocabulary import Channel
from waypost.preferences.link_subject import LinkSubject

NEWS = {"title": "The “News”", "category": "marketing", "default": "opted_in"}
BROWSER = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "Accept": "text/html,application/xhtml+xml",
    "Accept-Language": "en",
}
ONE_CLICK = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "*/*"}
MULTIPART = {"Content-Type": "multipart/form-data; boundary=x"}


class Stage:
    """Ada gets the newsletter of acme, has consented to it, and holds the links of one of its messages."""

    def __init__(self, acme: Any, recipient_id: UUID, address_id: UUID) -> None:
        self.acme = acme
        self.recipient_id = recipient_id
        self.address_id = address_id

    async def link(self, purpose: Purpose = Purpose.UNSUBSCRIBE, *, topic: str = "news", **said: Any) -> str:
        subject = LinkSubject(
            recipient_id=said.pop("recipient_id", self.recipient_id),
            channel=Channel.EMAIL,
            topic=topic,
            address_id=self.address_id,
        )
        token = Token(purpose=purpose, tenant_id=said.pop("tenant", self.acme.tenant), subject=subject.pack(), **said)
        return await self.acme.app.wishes.tokens.issue(token)

    async def verdict(self, topic: str | None = "news", category: str | None = None) -> tuple[str, str | None]:
        case = {"recipient": "ada", "channel": "email", "topic": topic, "category": category}
        found = await self.acme.ok("POST", "/v1/explain", case)
        return found["verdict"], found["reason"]

    async def states(self) -> list[str]:
        return [one["state"] for one in (await self.acme.ok("GET", "/v1/recipients/ada/consents"))["items"]]


@pytest.fixture
async def stage(acme: Any, admin: Any) -> Stage:
    await acme.ok("PUT", "/v1/topics/news", NEWS)
    await acme.ok("PUT", "/v1/topics/offers", {**NEWS, "title": "Offers"})
    await acme.ok("PUT", "/v1/recipients/ada", {"email": "ada@example.com", "locale": "en-GB"})
    for topic in ("news", "offers"):
        said = {"topic": topic, "state": "granted", "source": "signup", "text_version": "1"}
        await acme.ok("POST", "/v1/recipients/ada/consents", said)
    row = await admin.fetchrow("select recipient_id, id from waypost.addresses")
    return Stage(acme, row["recipient_id"], row["id"])


@pytest.fixture
def web(acme: Any) -> Callable[..., Awaitable[Any]]:
    """A browser that has no key."""

    async def visit(method: str, path: str, **options: Any) -> Any:
        headers = {**BROWSER, **options.pop("headers", {})}
        return await acme.client.request(method, path, headers=headers, **options)

    return visit


@pytest.mark.parametrize(("headers", "body"), [(ONE_CLICK, b"List-Unsubscribe=One-Click"), (MULTIPART, b"--x--")])
async def test_one_click_stops_the_topic_and_nothing_else(stage: Stage, web: Any, headers: Any, body: bytes) -> None:
    assert await stage.verdict() == ("allow", None)
    answer = await web("POST", f"/u/{await stage.link()}", headers=headers, content=body)
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers
    assert await stage.verdict() == ("skip", "opted_out")
    assert await stage.verdict("offers") == ("allow", None)
    assert await stage.verdict(None, "transactional") == ("allow", None)
    chosen = await stage.acme.ok("GET", "/v1/recipients/ada/preferences")
    assert chosen["channels"]["email"]["topics"]["news"] is False
    assert (await stage.states())[0] == "withdrawn"


async def test_a_link_may_be_used_again_and_again(stage: Stage, web: Any) -> None:
    link = await stage.link()
    for _ in range(3):
        assert (await web("POST", f"/u/{link}", headers=ONE_CLICK)).status_code == 200
    assert (await stage.states()).count("withdrawn") == 1
    assert len((await stage.acme.ok("GET", "/v1/suppressions"))["items"]) == 1


async def test_opening_the_link_acts_at_once_and_can_be_undone(stage: Stage, web: Any) -> None:
    page = await web("GET", f"/u/{await stage.link()}")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "a***@example.com" in page.text
    assert "ada@example.com" not in page.text
    assert await stage.verdict() == ("skip", "opted_out")
    undo = re.search(r'action="/p/([^"]+)"', page.text)
    assert undo is not None
    undone = await web("POST", f"/p/{undo[1]}")
    assert undone.status_code == 200
    assert await stage.verdict() == ("allow", None)
    again = await web("GET", f"/u/{await stage.link()}")
    assert again.status_code == 200
    assert (await web("POST", f"/p/{undo[1]}")).status_code == 410
    assert await stage.verdict() == ("skip", "opted_out")


async def test_who_was_out_already_is_offered_no_way_in(stage: Stage, web: Any) -> None:
    link = await stage.link()
    await web("POST", f"/u/{link}")
    page = await web("GET", f"/u/{link}")
    assert "/p/" not in page.text


@pytest.mark.parametrize(
    "headers", [{"User-Agent": "BarracudaScanner/1.0"}, {"Sec-Purpose": "prefetch"}, {"Accept": "*/*"}]
)
async def test_a_machine_that_looks_is_only_asked(stage: Stage, web: Any, headers: dict[str, str]) -> None:
    page = await web("GET", f"/u/{await stage.link()}", headers=headers)
    assert page.status_code == 200
    assert "<form" in page.text
    assert await stage.verdict() == ("allow", None)


async def test_head_never_acts(stage: Stage, web: Any) -> None:
    for path in (f"/u/{await stage.link()}", f"/p/{await stage.link(Purpose.PREFERENCES)}"):
        answer = await web("HEAD", path)
        assert (answer.status_code, answer.content) == (200, b"")
    assert await stage.verdict() == ("allow", None)


async def test_a_tenant_may_want_a_question_first(stage: Stage, web: Any) -> None:
    await stage.acme.ok("PATCH", "/v1/settings", {"unsubscribe_get": "confirm"})
    link = await stage.link()
    assert "<form" in (await web("GET", f"/u/{link}")).text
    assert await stage.verdict() == ("allow", None)
    assert (await web("POST", f"/u/{link}", data={"scope": "all"})).status_code == 200
    assert await stage.verdict("offers") == ("skip", "opted_out")


async def test_all_marketing_ends_with_one_button(stage: Stage, web: Any) -> None:
    await web("POST", f"/u/{await stage.link()}", data={"scope": "all"})
    assert await stage.verdict("offers") == ("skip", "opted_out")
    assert await stage.verdict(None, "marketing") == ("skip", "opted_out")
    assert await stage.verdict(None, "operational") == ("allow", None)


async def test_the_centre_turns_topics_off_and_never_on(stage: Stage, web: Any) -> None:
    centre = f"/p/{await stage.link(Purpose.PREFERENCES)}"
    page = await web("GET", centre)
    assert "Offers" in page.text
    assert "The “News”" in page.text
    stopped = await web("POST", centre, data={"stop": "offers"})
    assert "Offers" in stopped.text
    assert await stage.verdict("offers") == ("skip", "opted_out")
    assert await stage.verdict() == ("allow", None)
    asked = await web("POST", centre, data={"ask": "offers"})
    assert asked.status_code == 200
    assert await stage.verdict("offers") == ("skip", "opted_out")
    assert (await stage.states())[0] == "pending"


async def test_a_fresh_link_by_mail_confirms_once(stage: Stage, web: Any, fresh_links: Any) -> None:
    centre = f"/p/{await stage.link(Purpose.PREFERENCES)}"
    await web("POST", centre, data={"stop": "offers"})
    for _ in range(3):
        await web("POST", centre, data={"ask": "offers"})
    [link] = await fresh_links()
    page = await web("GET", link)
    assert "<form" in page.text
    assert await stage.verdict("offers") == ("skip", "opted_out")
    assert (await web("POST", link)).status_code == 200
    assert await stage.verdict("offers") == ("allow", None)
    assert (await stage.acme.ok("GET", "/v1/recipients/ada/consents"))["items"][0]["source"] == "double_opt_in"
    assert (await web("POST", link)).status_code == 200
    await web("POST", centre, data={"stop": "offers"})
    assert (await web("POST", link)).status_code == 410
    assert await stage.verdict("offers") == ("skip", "opted_out")


@pytest.fixture
def fresh_links(acme: Any) -> Callable[[], Awaitable[list[str]]]:
    """The links of double opt-in mails, taken from the frozen inputs as the composer would."""

    async def find() -> list[str]:
        app = acme.app
        async with app.work.begin(acme.tenant) as tx:
            key = await app.wishes.tokens._keyring.of(tx)
            rows = await tx.connection.fetch(
                "select n.id, n.secrets, r.id as who, r.data_key from waypost.notifications n "
                "join waypost.recipients r on r.tenant_id = n.tenant_id and r.id = n.recipient_id "
                "where n.tenant_id = $1",
                acme.tenant,
            )
        found: list[str] = []
        for row in rows:
            data_key = key.unwrap(row["data_key"], place("data_key", acme.tenant, row["who"]))
            secrets = data_key.open(row["secrets"], place("secrets", acme.tenant, row["id"])).decode("latin-1")
            match = re.search(r"/p/[A-Za-z0-9_-]+", secrets)
            assert match is not None
            found.append(match[0])
        return found

    return find


async def test_links_answer_for_who_is_gone_and_for_a_tenant_that_is_closed(
    stage: Stage, web: Any, platform: Any
) -> None:
    link, centre = await stage.link(), await stage.link(Purpose.PREFERENCES)
    await stage.acme("DELETE", "/v1/recipients/ada")
    assert (await web("POST", f"/u/{link}")).status_code == 200
    assert (await web("GET", f"/p/{centre}")).status_code == 200
    [kept] = (await stage.acme.ok("GET", "/v1/suppressions"))["items"]
    assert (kept["reason"], kept["topic"]) == ("opt_out", "news")
    nobody = await stage.link(recipient_id=UUID(int=7))
    assert (await web("POST", f"/u/{nobody}")).status_code == 200
    await platform.ok("PATCH", f"/v1/tenants/{stage.acme.tenant}", {"status": "suspended"})
    assert (await web("POST", f"/u/{await stage.link(topic='offers')}")).status_code == 200


async def test_a_page_speaks_the_recipients_language(stage: Stage, web: Any) -> None:
    centre = f"/p/{await stage.link(Purpose.PREFERENCES)}"
    for locale, lang, direction in (("de-AT", "de", "ltr"), ("ar-EG", "ar", "rtl"), ("fr", "fr", "ltr")):
        await stage.acme.ok("PATCH", "/v1/recipients/ada", {"locale": locale})
        assert f'<html lang="{lang}" dir="{direction}">' in (await web("GET", centre)).text
    await stage.acme.ok("PATCH", "/v1/recipients/ada", {"locale": None})
    assert '<html lang="es"' in (await web("GET", centre, headers={"Accept-Language": "es-MX, en;q=0.5"})).text


async def test_pages_can_do_nothing_but_show(stage: Stage, web: Any) -> None:
    await stage.acme.ok("PUT", "/v1/topics/offers", {**NEWS, "title": "<script>alert(1)</script>"})
    page = await web("GET", f"/p/{await stage.link(Purpose.PREFERENCES)}")
    assert "<script" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"]
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["cache-control"] == "no-store"
    style = re.search(r'href="(/pages/[^"]+)"', unescape(page.text))
    assert style is not None
    assert (await web("GET", style[1])).headers["content-type"] == "text/css; charset=utf-8"


async def test_whoever_guesses_links_is_slowed_down(web: Any) -> None:
    answers = [(await web("POST", f"/u/guess-{number}")).status_code for number in range(40)]
    assert answers[0] == 404
    assert answers[-1] == 429


async def test_no_other_token_passes(stage: Stage, web: Any, globex: Any) -> None:
    """Forged, altered, of another purpose, of another tenant, expired: all are the same page, and nothing changes."""
    good = await stage.link()
    centre = await stage.link(Purpose.PREFERENCES)
    me = await stage.link(Purpose.RECIPIENT)
    moved = await stage.link(tenant=globex.tenant)
    raw = tokens.unspell(good, longest=500)
    assert raw is not None
    swapped = tokens.spell(raw.replace(b"\x04acme", b"\x06globex"))
    fakes = [good[:-2] + ("AA" if good[-2:] != "AA" else "BB"), good + "=", good[:40], "x", centre, me, swapped, "%00"]
    for fake in fakes:
        answer = await web("POST", f"/u/{fake}")
        assert answer.status_code == 404, fake
        assert "globex" not in answer.text
    for fake in (good, me, swapped, raw.hex()):
        assert (await web("POST", f"/p/{fake}", data={"stop": "news"})).status_code == 404
    assert (await web("POST", f"/u/{moved}")).status_code == 200  # genuine, of globex, where nobody of that id is
    assert await stage.verdict() == ("allow", None)
