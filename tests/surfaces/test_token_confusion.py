"""23. Each token at each door, of another tenant, another purpose, run out, cut short, of a key that is none: refused.

An old link can neither grant nor show the address.
"""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from waypost.kernel import tokens
from waypost.kernel.tokens import LONGEST_TOKEN, Purpose, Token
from waypost.kernel.vocabulary import Channel
from waypost.notifications.links import CONFIRM, UNDO
from waypost.preferences.link_subject import LinkSubject

HEADERS = {"User-Agent": "Mozilla/5.0 (X11) Firefox/128.0", "Accept": "text/html", "Accept-Language": "en"}
LATER = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
DOORS = [("GET", "/u/"), ("POST", "/u/"), ("GET", "/p/"), ("POST", "/p/")]
OPENS = {
    (Purpose.UNSUBSCRIBE, ""): {("GET", "/u/"), ("POST", "/u/")},
    (Purpose.PREFERENCES, ""): {("GET", "/p/"), ("POST", "/p/")},
    (Purpose.OPT_IN, CONFIRM): {("GET", "/p/"), ("POST", "/p/")},
    (Purpose.OPT_IN, UNDO): {("GET", "/p/"), ("POST", "/p/")},
    (Purpose.OPT_IN, ""): set[tuple[str, str]](),
    (Purpose.OPT_IN, "inbox"): set[tuple[str, str]](),
    (Purpose.RECIPIENT, ""): set[tuple[str, str]](),
    (Purpose.UNSUBSCRIBE, "elsewhere"): set[tuple[str, str]](),
}


class Scene:
    def __init__(self, acme: Any, subject: bytes) -> None:
        self.acme, self.subject = acme, subject

    async def token(self, purpose: Purpose, audience: str = "", **said: Any) -> str:
        ends = LATER if purpose in (Purpose.OPT_IN, Purpose.RECIPIENT) else None
        fields = {"tenant_id": "acme", "subject": self.subject, "expires_at": ends, **said}
        return await self.acme.app.wishes.tokens.issue(Token(purpose=purpose, audience=audience, **fields))

    async def knock(self, method: str, door: str, text: str) -> int:
        answer = await self.acme.client.request(method, f"{door}{text}", headers=HEADERS)
        assert "ada@example.com" not in answer.text
        return answer.status_code

    async def state(self) -> Any:
        consents = (await self.acme.ok("GET", "/v1/recipients/ada/consents"))["items"]
        preferences = await self.acme.ok("GET", "/v1/recipients/ada/preferences")
        return [one["state"] for one in consents], preferences["channels"]


@pytest.fixture
async def scene(acme: Any, admin: Any) -> Scene:
    fields = {"title": "News", "category": "marketing", "default": "opted_in"}
    await acme.ok("PUT", "/v1/topics/news", fields)
    await acme.ok("PUT", "/v1/recipients/ada", {"email": "ada@example.com"})
    person: UUID = await admin.fetchval("select id from waypost.recipients where external_id = 'ada'")
    return Scene(acme, LinkSubject(recipient_id=person, channel=Channel.EMAIL, topic="news", n=1).pack())


@pytest.mark.parametrize(("purpose", "audience"), list(OPENS), ids=str)
async def test_a_token_opens_its_own_door_and_no_other(scene: Scene, purpose: Purpose, audience: str) -> None:
    text = await scene.token(purpose, audience)
    for method, door in DOORS:
        status = await scene.knock(method, door, text)
        opened = (method, door) in OPENS[purpose, audience]
        assert status in ({200, 410} if opened else {404}), (method, door)


async def test_no_link_is_a_key_and_no_link_speaks_for_a_recipient(scene: Scene) -> None:
    for purpose, audience in OPENS:
        bearer = {"Authorization": f"Bearer {await scene.token(purpose, audience)}"}
        for path in ("/v1/topics", "/v1/recipients/ada", "/v1/settings"):
            assert (await scene.acme.client.get(path, headers=bearer)).status_code == 401
        if purpose is not Purpose.RECIPIENT:
            answer = await scene.acme.client.get("/v1/me/inboxes/main/messages", headers=bearer)
            assert answer.status_code == 401


@pytest.mark.parametrize("purpose", [Purpose.UNSUBSCRIBE, Purpose.PREFERENCES, Purpose.OPT_IN])
async def test_what_was_tampered_with_is_nothing(scene: Scene, purpose: Purpose, globex: Any) -> None:
    before = await scene.state()
    audience = CONFIRM if purpose is Purpose.OPT_IN else ""
    good = await scene.token(purpose, audience)
    raw = tokens.unspell(good, longest=LONGEST_TOKEN)
    assert raw is not None
    others = [
        raw[:1] + bytes((3,)) + raw[2:],  # says that it grants
        b"\x00" + raw[1:],  # a key, or an algorithm, that is none
        b"\x02" + raw[1:],
        raw[:2] + (2**32).to_bytes(5, "big") + raw[7:],  # lives longer
        raw[:2] + bytes(5) + raw[7:],
        raw.replace(b"\x04acme", b"\x06globex"),
        raw.replace(b"news", b"spam"),
        raw[:-16] + bytes(16),
        raw[:-1],
        raw + b"\x00",
        raw[:-16],
        b"",
    ]
    spelled = [tokens.spell(other) for other in others if other != raw]
    spelled += [good + "=", good.lower(), good + ".", f"{good}%0a", good[:10], "x" * 5_000]
    for text in spelled:
        for method, door in DOORS:
            assert await scene.knock(method, door, text) in {404, 429}, text
    assert await scene.state() == before
    assert (await globex.ok("GET", "/v1/suppressions"))["items"] == []


async def test_a_link_of_another_tenants_key_is_nothing(scene: Scene, globex: Any) -> None:
    """The same body, proved by globex, with acme's name on it."""
    foreign = await scene.token(Purpose.UNSUBSCRIBE, tenant_id=globex.tenant)
    raw = tokens.unspell(foreign, longest=LONGEST_TOKEN)
    assert raw is not None
    claimed = tokens.spell(raw.replace(b"\x06globex", b"\x04acme"))
    assert await scene.knock("POST", "/u/", claimed) == 404
    assert await scene.state() == ([], {})


async def test_what_has_run_out_opens_nothing(scene: Scene) -> None:
    past = datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=1)
    for purpose, audience in OPENS:
        text = await scene.token(purpose, audience, expires_at=past)
        for method, door in DOORS:
            assert await scene.knock(method, door, text) in {404, 429}
    assert await scene.state() == ([], {})


async def test_an_old_link_grants_nothing(scene: Scene) -> None:
    for purpose in (Purpose.UNSUBSCRIBE, Purpose.PREFERENCES):
        text = await scene.token(purpose)
        door = "/u/" if purpose is Purpose.UNSUBSCRIBE else "/p/"
        for body in ({"ask": "news"}, {"grant": "news"}, {"confirm": "1"}, {"state": "granted"}, {"undo": "1"}):
            await scene.acme.client.post(f"{door}{text}", data=body, headers=HEADERS)
    states, _ = await scene.state()
    assert "granted" not in states
    fresh_but_unasked = await scene.token(Purpose.OPT_IN, CONFIRM, subject=scene.subject[:33] + bytes(4) + b"news")
    assert await scene.knock("POST", "/p/", fresh_but_unasked) == 410
    assert "granted" not in (await scene.state())[0]
