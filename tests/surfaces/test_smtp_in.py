"""Mail submitted over SMTP by software that knows nothing else, on the whole App and a real database."""

import asyncio
import smtplib
from collections.abc import AsyncIterator
from email.message import EmailMessage
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from waypost.bootstrap import App
from waypost.kernel.tenancy import PLATFORM, Permission
from waypost.kernel.vocabulary import TenantMode
from waypost.smtp.limits import Limits
from waypost.smtp.metrics import SmtpMetrics
from waypost.smtp.server import SmtpServer
from waypost.tenants.platform import operator_scope

PATIENCE = 60.0


def letter(**heads: str) -> EmailMessage:
    message = EmailMessage()
    given = {"From": "Shop <orders@shop.example>", "To": "jane@example.com", "Subject": "Your order", **heads}
    for name, value in given.items():
        message[name.replace("_", "-")] = value
    message.set_content("It is on its way, {{ first_name }}.\n")
    return message


class Post:
    """Somebody with a mail library."""

    def __init__(self, port: int, key: str) -> None:
        self.port = port
        self.key = key

    async def __call__(self, message: EmailMessage, *people: str, options: tuple[str, ...] = ()) -> str:
        """What was answered to the whole mail."""
        return await asyncio.to_thread(self._send, message, people or ("jane@example.com",), options)

    def _send(self, message: EmailMessage, people: tuple[str, ...], options: tuple[str, ...]) -> str:
        with smtplib.SMTP("127.0.0.1", self.port, timeout=PATIENCE) as client:
            client.login("whoever", self.key)
            client.ehlo_or_helo_if_needed()
            code, said = client.mail("app@shop.example", list(options))
            assert code == 250, said
            for one in people:
                code, said = client.rcpt(one)
                assert code == 250, said
            code, said = client.data(message.as_bytes(policy=message.policy.clone(linesep="\r\n")))
            return f"{code} {said.decode()}"


@pytest.fixture
async def server(app: App) -> AsyncIterator[SmtpServer]:
    metrics = SmtpMetrics(CollectorRegistry())
    server = SmtpServer(app, name="mx.waypost.example", limits=Limits(recipients=5), metrics=metrics)
    yield server
    await server.close(0)


@pytest.fixture
async def post(server: SmtpServer, acme: Any) -> Post:
    return Post(await server.start("127.0.0.1", 0), acme.key)


async def everything(acme: Any) -> list[Any]:
    return (await acme.ok("GET", "/v1/notifications"))["items"]


async def test_a_mail_becomes_a_notification_that_says_what_it_said(post: Post, acme: Any) -> None:
    message = letter(Reply_To="Help <help@shop.example>", X_Shop_Order="7", X_Waypost_Metadata='{"order": 7}')
    message.add_alternative("<p>It is on its <b>way</b>, {{ first_name }}.</p>", subtype="html")
    answer = await post(message)
    assert answer.startswith("250 2.0.0 Accepted as req_")
    request = await acme.ok("GET", f"/v1/requests/{answer.rpartition(' ')[2]}")
    [made] = request["notifications"]
    assert (made["channel"], made["category"], made["priority"]) == ("email", "transactional", "normal")
    detail = await acme.ok("GET", f"/v1/notifications/{made['id']}")
    assert detail["metadata"] == {"order": 7}
    content = await acme.ok("GET", f"/v1/notifications/{made['id']}/content")
    assert content["subject"] == "Your order"
    # Braces of somebody else's are words, not a template.
    assert content["text"].strip() == "It is on its way, {{ first_name }}."
    assert content["html"].strip() == "<p>It is on its <b>way</b>, {{ first_name }}.</p>"
    assert content["from"] == "Shop <orders@shop.example>"
    assert content["headers"]["X-Shop-Order"] == "7"
    assert "X-Waypost-Metadata" not in content["headers"]


async def test_people_repetitions_and_suppressions(post: Post, acme: Any) -> None:
    """Each of the envelope gets one of their own; the same mail again is the same notifications."""
    message = letter(To="Jane <jane@example.com>", Cc="joe@example.com", Message_ID="<one@shop.example>")
    people = ("jane@example.com", "joe@example.com", "boss@example.com", "JANE@example.com")
    request = await acme.ok("GET", f"/v1/requests/{(await post(message, *people)).rpartition(' ')[2]}")
    assert len(request["notifications"]) == 3
    content = await acme.ok("GET", f"/v1/notifications/{request['notifications'][0]['id']}/content")
    assert not {"Cc", "Bcc"} & content["headers"].keys()

    assert (await post(message, *people)).startswith("250")
    assert len(await everything(acme)) == 3
    another = letter(Message_ID="<one@shop.example>", Subject="Something else")
    await post(another)
    await post(letter())
    await post(letter())
    assert len(await everything(acme)) == 6

    await acme.ok("POST", "/v1/suppressions", {"address": "ann@example.com"})
    made = await post(letter(), "ann@example.com")
    [one] = (await acme.ok("GET", f"/v1/requests/{made.rpartition(' ')[2]}"))["notifications"]
    assert one["status"] == "suppressed"


async def test_other_alphabets_and_headers_that_choose(post: Post, acme: Any) -> None:
    await acme.ok("PATCH", "/v1/settings", {"consent_policy": "implied"})
    message = letter(
        Subject="Здравствуйте, Grüße, 🚚",
        From='"Käse, Brot" <orders@shop.example>',
        X_Waypost_Category="Marketing",
        X_Waypost_Priority="low",
        X_Waypost_Tags="spring, sale",
    )
    message.set_content("שלום\n", charset="utf-8")
    assert (await post(message, options=("SMTPUTF8", "BODY=8BITMIME"))).startswith("250")
    [made] = await everything(acme)
    assert (made["category"], made["priority"]) == ("marketing", "low")
    detail = await acme.ok("GET", f"/v1/notifications/{made['id']}")
    assert detail["metadata"] == {"tags": ["spring", "sale"]}
    content = await acme.ok("GET", f"/v1/notifications/{made['id']}/content")
    assert content["subject"] == "Здравствуйте, Grüße, 🚚"
    assert content["text"].strip() == "שלום"
    assert "Käse, Brot" in content["from"]


async def test_files_go_along_and_a_foreign_domain_does_not(server: SmtpServer, acme: Any, app: App) -> None:
    """`From` is judged as in every call: a live tenant's must be its own."""
    port = await server.start("127.0.0.1", 0)
    message = letter()
    message.add_alternative('<p><img src="cid:logo"></p>', subtype="html")
    message.get_payload()[1].add_related(b"\x89PNG", "image", "png", cid="<logo>")  # pyright: ignore
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="Rechnung ä.pdf")
    assert (await Post(port, acme.key)(message)).startswith("250")
    [made] = await everything(acme)
    content = await acme.ok("GET", f"/v1/notifications/{made['id']}/content")
    assert [(one["filename"], one["content_type"]) for one in content["attachments"]] == [
        ("part-1", "image/png"),
        ("Rechnung ä.pdf", "application/pdf"),
    ]

    async with app.work.begin(PLATFORM) as tx:
        await app.tenants.create(tx, operator_scope("rid_test"), tenant_id="live", name="live", mode=TenantMode.LIVE)
    live = await acme.with_scopes("live", Permission.NOTIFICATIONS_SEND)
    answer = await Post(port, live.key)(letter(From="ceo@bank.example"))
    assert answer.startswith("550 5.7.1")
    assert "/from" in answer or "domain" in answer


async def test_what_the_api_would_refuse_is_refused_with_its_words(post: Post, acme: Any) -> None:
    for heads, words in (
        ({"X_Waypost_Category": "spam"}, "One of transactional"),
        ({"X_Waypost_Metadata": "[1]"}, "A JSON object"),
        ({"X_Waypost_Colour": "red"}, "there are only"),
        ({"X_Waypost_Topic": "no-such-topic"}, "topic"),
    ):
        answer = await post(letter(**heads))
        assert answer.startswith("554 5.6.0 ")
        assert words in answer
    assert await everything(acme) == []


async def test_a_key_must_have_the_right_to_send_and_keep_it(server: SmtpServer, acme: Any) -> None:
    reader = await acme.with_scopes("acme", Permission.NOTIFICATIONS_READ)
    port = await server.start("127.0.0.1", 0)
    with pytest.raises(smtplib.SMTPAuthenticationError) as refusal:
        await Post(port, reader.key)(letter())
    assert refusal.value.smtp_code == 535
    assert b"notifications:send" in refusal.value.smtp_error

    made = await acme.ok("POST", "/v1/api-keys", {"name": "app", "scopes": ["notifications:send"]})
    client = await asyncio.to_thread(smtplib.SMTP, "127.0.0.1", port, timeout=PATIENCE)
    await asyncio.to_thread(client.login, "x", made["secret"])
    assert (await acme("DELETE", f"/v1/api-keys/{made['id']}")).is_success
    with pytest.raises(smtplib.SMTPDataError) as revoked:
        await asyncio.to_thread(client.send_message, letter())
    assert revoked.value.smtp_code == 535
    client.close()
