"""A newsletter over the whole road: consent by double opt-in, headers for mail programs, and one click to end it."""

import asyncio
import email
import re
from email.message import EmailMessage
from email.policy import default
from typing import Any

import httpx
import pytest

from waypost.client import ApiError, Client, Message

BROWSER = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "Accept": "text/html",
    "Accept-Language": "en",
}
NEWS = {"subject": "News", "text": "Read it. {{ unsubscribe_url }} {{ preferences_url }}"}


async def _mail(client: Client, subject: str, to: str) -> EmailMessage:
    for _ in range(600):
        async for caught in client.mailbox.list(page_size=50):
            if caught.subject == subject and to in str(caught.to):
                raw = await client.mailbox.raw(caught.id)
                message = email.message_from_bytes(raw, policy=default)
                assert isinstance(message, EmailMessage)
                return message
        await asyncio.sleep(0.05)
    raise AssertionError(f"no mail “{subject}” for {to}")


def _text(message: EmailMessage) -> str:
    part = message.get_body(("plain",))
    assert part is not None
    return part.get_content()


async def _send(client: Client, who: str, **said: Any) -> Any:
    accepted = await client.notifications.send(Message(to={"id": who}, content=NEWS, **said))
    return accepted.notifications[0]


async def test_a_newsletter_from_opt_in_to_one_click(up: Any) -> None:
    who, address = "journey-ada", "journey-ada@example.com"
    async with up.client() as client, httpx.AsyncClient(headers=BROWSER, trust_env=False) as web:
        fields = {"title": "Weekly", "category": "marketing", "default": "opted_in"}
        await client.topics.put("weekly", fields)
        await client.recipients.put(who, {"email": address})
        refused = await _send(client, who, topic="weekly")
        assert (refused.status, refused.reason) == ("suppressed", "no_consent")

        asked = await client.preferences.consent(who, {"topic": "weekly", "state": "pending", "source": "signup"})
        assert asked.state == "pending"
        opt_in = await _mail(client, "Please confirm: Weekly", address)
        assert opt_in["List-Unsubscribe"] is None
        [link] = set(re.findall(r"http://\S+/p/[\w-]+", _text(opt_in)))
        assert (await web.get(link)).status_code == 200
        assert (await client.explain(who, topic="weekly")).verdict == "skip"
        assert (await web.post(link)).status_code == 200
        assert (await client.explain(who, topic="weekly")).verdict == "allow"

        await _send(client, who, topic="weekly")
        news = await _mail(client, "News", address)
        assert news["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
        assert "<weekly.demo." in news["List-Id"]
        one_click = re.fullmatch(r"<(http\S+/u/[\w-]+)>", news["List-Unsubscribe"])
        assert one_click is not None
        assert one_click[1] in _text(news)
        [centre] = re.findall(r"http://\S+/p/[\w-]+", _text(news))
        assert "Weekly" in (await web.get(centre)).text

        waiting = await _send(client, who, topic="weekly", send_at="2027-01-01T00:00:00Z")
        done = await web.post(one_click[1], data={"List-Unsubscribe": "One-Click"})
        assert (done.status_code, done.cookies) == (200, httpx.Cookies())
        assert (await client.notifications.get(waiting.id)).status == "cancelled"
        stopped = await _send(client, who, topic="weekly")
        assert (stopped.status, stopped.reason) == ("suppressed", "opted_out")
        history = [consent.state async for consent in client.preferences.consents(who)]
        assert history == ["withdrawn", "granted", "pending"]
        assert (await client.preferences.verify_consents(who)).intact
        with pytest.raises(ApiError) as refusal:
            await client.preferences.consent(who, {"topic": "none", "state": "granted", "source": "x"})
        assert refusal.value.code == "unknown_topic"


async def test_a_receipt_carries_none_of_it(up: Any) -> None:
    async with up.client() as client:
        to = {"id": "journey-bob", "email": "journey-bob@example.com"}
        await client.notifications.send(Message(to=to, content={"subject": "Receipt", "text": "Paid"}))
        receipt = await _mail(client, "Receipt", "journey-bob@example.com")
        assert [name for name in receipt if name.lower().startswith("list-")] == []


async def test_a_suppression_stops_what_is_queued_already(up: Any) -> None:
    async with up.client() as client:
        to = {"id": "journey-eve", "email": "journey-eve@example.com"}
        message = Message(to=to, content={"subject": "Soon", "text": "Hello"}, send_at="2027-01-01T00:00:00Z")
        [waiting] = (await client.notifications.send(message)).notifications
        await client.suppressions.add("journey-eve@example.com", reason="manual", notes="asked by telephone")
        explained = await client.explain("journey-eve", category="security")
        assert (explained.verdict, explained.reason) == ("skip", "suppressed")
        assert waiting.status == "scheduled"
