"""An inbox over the whole road: a notification lands in it, is seen live, and reading it ends what would follow."""

import asyncio
import json
from typing import Any

import httpx

from waypost.client import Client, Message

FEED = "/v1/me/inboxes/main"


async def _until(look: Any) -> Any:
    for _ in range(600):
        if found := await look():
            return found
        await asyncio.sleep(0.05)
    raise AssertionError("it did not happen in time")


async def _messages(web: httpx.AsyncClient, feed: str = FEED) -> list[Any]:
    answer = await web.get(f"{feed}/messages")
    return answer.json()["items"] if answer.status_code == 200 else []


async def _token(client: Client, who: str) -> dict[str, str]:
    await client.recipients.put(who, {"email": f"{who}@example.com"})
    return {"Authorization": f"Bearer {(await client.inboxes.token(who)).token}"}


async def test_a_notification_lands_in_the_inbox_and_on_the_screen(up: Any, shell: Any) -> None:
    content = {"subject": "Order {{ number }}", "text": "It is on its <b>way</b>."}
    async with up.client() as client:
        headers = await _token(client, "inbox-ada")
        await client.inboxes.put("main", title="Notifications")
        async with httpx.AsyncClient(base_url=up.url, headers=headers, trust_env=False, timeout=30) as web:
            stream_url = (await web.get("/v1/me")).json()["stream_url"]
            async with web.stream("GET", f"{stream_url}{FEED}/stream") as stream:
                lines = stream.aiter_lines()
                await anext(line async for line in lines if line == "event: counts")
                accepted = await client.notifications.send(
                    Message(to={"id": "inbox-ada"}, channel="inapp", content=content, variables={"number": 7})
                )
                await anext(line async for line in lines if line == "event: message")
                told = json.loads((await anext(line async for line in lines if line.startswith("data: ")))[6:])
            sent = accepted.notifications[0]
            assert (told["title"], told["body"]) == ("Order 7", "It is on its way.")
            assert told["notification_id"] == sent.id
            assert [one["id"] for one in await _messages(web)] == [told["id"]]
            assert (await web.get(f"{FEED}/counts")).json()["unread"] == 1
            elsewhere = {"subject": "Look out", "json": {"body": "Order {{ number }}", "inbox": "{{ inbox }}"}}
            variables = {"number": 7, "inbox": "orders"}
            await client.notifications.send(
                Message(to={"id": "inbox-ada"}, channel="inapp", content=elsewhere, variables=variables)
            )
            [message] = await _until(lambda: _messages(web, "/v1/me/inboxes/orders"))
            assert (message["title"], message["body"]) == ("Look out", "Order 7")
            assert len(await _messages(web)) == 1
        found = await _until(lambda: _ended(client, sent.id))
        assert found == "dispatched"
    assert "All counters are right." in shell("counters", "verify").stdout


async def _ended(client: Client, notification_id: str) -> str | None:
    found = await client.notifications.get(notification_id)
    return found.status if found.status not in ("queued", "dispatching", "scheduled") else None


async def test_reading_it_in_the_inbox_ends_what_would_have_followed(up: Any) -> None:
    key = {"Authorization": f"Bearer {up.api_key}"}
    body = {
        "to": "inbox-bob",
        "channels": ["inapp", "email"],
        "routing": "until_seen",
        "after": "1h",
        "content": {"subject": "Look", "text": "Here"},
    }
    async with up.client() as client, httpx.AsyncClient(base_url=up.url, trust_env=False, timeout=30) as web:
        headers = await _token(client, "inbox-bob")
        sent = await web.post("/v1/notifications", headers=key, json=body)
        assert sent.status_code == 202, sent.text
        web.headers.update(headers)
        [message] = await _until(lambda: _messages(web))

        async def timers() -> list[tuple[str, str | None]]:
            answer = await web.get("/v1/timers?recipient=inbox-bob", headers=key)
            return [(one["state"], one["reason"]) for one in answer.json()["items"]]

        assert await timers() == [("pending", None)]
        await web.post(f"{FEED}/read", json={"ids": [message["id"]]})
        assert await timers() == [("cancelled", "seen")]


def test_posting_from_the_shell(shell: Any) -> None:
    shell("inbox", "put", "main", "--title", "Notifications")
    posted = json.loads(shell("inbox", "post", "Hello all", "--json").stdout)
    shown = json.loads(shell("inbox", "show", posted["id"], "--json").stdout)
    assert (shown["title"], shown["audience"]) == ("Hello all", "everyone")
    shell("inbox", "redact", posted["id"])
    listed = json.loads(shell("inbox", "posts", "--json").stdout)
    assert posted["id"] in {one["id"] for one in listed if one["redacted_at"]}
    assert shell("counters", "verify").returncode == 0
