"""Opens and clicks over the whole road: who is tracked, by whose word, and what comes of a click."""

import asyncio
import email
import re
from email.message import EmailMessage
from email.policy import default
from typing import Any

import httpx

from waypost.client import Client, Message

BROWSER = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"}
HTML = (
    '<body><a href="https://shop.example.com/a?x=1&amp;y=2">A</a><a href="https://shop.example.com/o/{{ order }}">B</a>'
    '<a href="{{ unsubscribe_url }}">stop</a></body>'
)
ON = {"opens": True, "clicks": True}


async def _html(client: Client, subject: str) -> str:
    for _ in range(1_200):
        async for caught in client.mailbox.list(page_size=50):
            if caught.subject == subject:
                message = email.message_from_bytes(await client.mailbox.raw(caught.id), policy=default)
                assert isinstance(message, EmailMessage)
                part, text = message.get_body(("html",)), message.get_body(("plain",))
                assert part is not None
                assert text is not None
                assert "/t/c/" not in text.get_content()
                return part.get_content()
        await asyncio.sleep(0.05)
    raise AssertionError(f"no mail “{subject}”")


def _tracked(html: str) -> tuple[int, int]:
    """Links that lead through us, and pixels."""
    return len(re.findall(r'href="http[^"]+/t/c/', html)), len(re.findall(r'src="http[^"]+/t/o/[^"]+\.gif"', html))


async def _send(client: Client, subject: str, who: str = "reader", **said: Any) -> str:
    said.setdefault("content", {"subject": subject, "html": HTML})
    to = {"id": f"tracked-{who}", "email": f"tracked-{who}@example.com"}
    accepted = await client.notifications.send(Message(to=to, variables={"order": "A-17"}, **said))
    assert accepted.notifications[0].status == "queued", accepted
    return accepted.notifications[0].id


async def test_from_the_decision_to_the_click(up: Any) -> None:
    async with up.client() as client, httpx.AsyncClient(headers=BROWSER, trust_env=False) as web:
        await _send(client, "plain")
        asked = await _send(client, "asked", tracking=ON)
        await _send(client, "only clicks", tracking={"clicks": True})
        assert _tracked(await _html(client, "plain")) == (0, 0)
        assert _tracked(await _html(client, "only clicks")) == (2, 0)

        html = await _html(client, "asked")
        assert _tracked(html) == (2, 1)
        first, second, stop = re.findall(r'href="([^"]+)"', html)
        [pixel] = re.findall(r'src="([^"]+\.gif)"', html)
        assert "/u/" in stop.replace("&#x2f;", "/")
        assert (await web.get(first)).headers["location"] == "https://shop.example.com/a?x=1&y=2"
        assert (await web.get(second)).headers["location"] == "https://shop.example.com/o/A-17"
        assert (await web.get(pixel)).content.startswith(b"GIF89a")
        seen = [(step.event, step.detail.get("link")) for step in await client.notifications.timeline(asked)]
        assert {one for one in seen if one[0] in ("opened", "clicked")} == {
            ("clicked", 1),
            ("clicked", 2),
            ("opened", None),
        }
        shown = await client.notifications.content(asked)
        assert _tracked(shown.html or "") == (0, 0)

        # The template's word counts where the call says nothing; bulk and single calls are the same.
        await client.templates.create("tracked", category="transactional")
        words = {"en": {"subject": "by template", "body": HTML}}
        drafted = await client.templates.add_version("tracked", words, tracking=ON)
        assert drafted.tracking == ON
        await client.templates.publish("tracked", drafted.semver)
        to = {"id": "tracked-reader", "email": "tracked-reader@example.com"}
        await client.notifications.send_many([Message(to=to, template="tracked", variables={"order": "1"})])
        assert _tracked(await _html(client, "by template")) == (2, 1)

        # A recipient's no stands above all.
        await client.recipients.put("tracked-shy", {"email": "tracked-shy@example.com"})
        await client.preferences.put("tracked-shy", {"channels": {"email": {"tracking": False}}})
        await _send(client, "shy", "shy", tracking=ON)
        assert _tracked(await _html(client, "shy")) == (0, 0)
