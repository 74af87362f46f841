"""The first call of the README, letter by letter, and what can be seen of it afterwards."""

import asyncio
import email
import email.policy
import shutil
import subprocess

import httpx
import pytest

from waypost.client import ApiError, Client, Message

FIRST_CALL = (
    '{"to": {"id": "user-42", "email": "jane@example.com", "attributes": {"first_name": "Jane"}},'
    ' "content": {"subject": "Hello {{ first_name }}", "html": "<p>Welcome, {{ first_name }}</p>"},'
    ' "category": "transactional"}'
)


async def arrived(client: Client, subject: str) -> str:
    async with asyncio.timeout(30):
        while True:
            async for mail in client.mailbox.list(page_size=20):
                if mail.subject == subject:
                    return mail.id
            await asyncio.sleep(0.02)


async def test_the_first_call(up, client: Client) -> None:
    headers = {"Authorization": f"Bearer {up.api_key}", "Content-Type": "application/json"}
    async with httpx.AsyncClient(base_url=up.url, trust_env=False) as http:
        answer = await http.post("/v1/notifications", headers=headers, content=FIRST_CALL)
    assert answer.status_code == 202
    accepted = answer.json()
    assert accepted["request_id"].startswith("req_")
    [notification] = accepted["notifications"]
    assert notification["id"].startswith("ntf_")
    assert {name: notification[name] for name in ("recipient_id", "channel", "status")} == {
        "recipient_id": "user-42",
        "channel": "email",
        "status": "queued",
    }

    mail_id = await arrived(client, "Hello Jane")
    message = email.message_from_bytes(await client.mailbox.raw(mail_id), policy=email.policy.default)
    assert message["To"] == "jane@example.com"
    html = message.get_body(("html",))
    assert html is not None
    assert "Welcome, Jane" in html.get_content()

    seen = await client.notifications.get(notification["id"])
    assert (seen.recipient_id, seen.category, seen.request_id) == ("user-42", "transactional", accepted["request_id"])
    assert seen.to is not None
    assert "jane@example.com" not in seen.to
    content = await client.notifications.content(notification["id"])
    assert content.subject == "Hello Jane"
    steps = await client.notifications.timeline(notification["id"])
    assert steps[0].event == "accepted"
    assert len(steps) >= 2
    assert [one.at for one in steps] == sorted(one.at for one in steps)
    request = await client.notifications.request(accepted["request_id"])
    assert [one.id for one in request.notifications] == [notification["id"]]
    listed = [one.id async for one in client.notifications.list(recipient_id="user-42")]
    assert notification["id"] in listed


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_curl_itself(up) -> None:
    done = subprocess.run(
        [
            *("curl", "-sS", "-X", "POST", f"{up.url}/v1/notifications"),
            *("-H", f"Authorization: Bearer {up.api_key}", "-H", "Content-Type: application/json"),
            *("-d", FIRST_CALL, "-w", "%{http_code}"),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.endswith("202")


async def test_the_same_key_sends_once(client: Client) -> None:
    message = Message(to={"email": "twin@example.com"}, content={"subject": "Only once", "text": "Once."})
    first = await client.notifications.send(message, idempotency_key="journey-twin")
    second = await client.notifications.send(message, idempotency_key="journey-twin")
    assert first == second


async def test_bad_input_names_the_field_and_stores_nothing(client: Client) -> None:
    before = [one.id async for one in client.notifications.list(page_size=100)]
    bad = Message(to={"email": "not an address"}, content={"subject": "Hello", "text": "Hello"})
    with pytest.raises(ApiError) as refusal:
        await client.notifications.send(bad)
    assert refusal.value.status == 422
    assert refusal.value.problem.errors[0].pointer == "/to/email"
    assert "not an address" not in str(refusal.value)
    fresh = [one.id async for one in client.notifications.list(page_size=100) if one.id not in before]
    assert not [one for one in fresh if "not an address" in one]
