"""A mail with everything in it: words in two forms, an image inside, a file beside, and a name in any script."""

import asyncio
import email
import email.policy
from email.message import EmailMessage

from waypost.client import Attachment, Client, Message

SUBJECT = "Ihre Rechnung 📎"
PDF = b"%PDF-1.7\n" + bytes(range(256)) * 500
LOGO = b"\x89PNG\r\n\x1a\n" + b"logo" * 10


async def arrived(client: Client, subject: str) -> EmailMessage:
    async with asyncio.timeout(60):
        while True:
            async for mail in client.mailbox.list(page_size=20):
                if mail.subject == subject:
                    raw = await client.mailbox.raw(mail.id)
                    read = email.message_from_bytes(raw, policy=email.policy.default)
                    assert isinstance(read, EmailMessage)
                    return read
            await asyncio.sleep(0.05)


async def test_a_mail_with_everything_in_it(client: Client) -> None:
    accepted = await client.notifications.send(
        Message(
            to={"id": "with-files", "email": "jürgen@example.com"},
            content={"subject": SUBJECT, "html": '<p>Hallo <img src="cid:logo"></p>', "text": "Hallo"},
            attachments=[
                Attachment(filename="Rechnung № 7.pdf", content=PDF),
                Attachment(filename="logo.png", content=LOGO, content_id="logo", disposition="inline"),
            ],
        )
    )
    message = await arrived(client, SUBJECT)
    assert message.get_content_type() == "multipart/mixed"
    [words, file] = message.iter_parts()
    assert [part.get_content_type() for part in words.iter_parts()] == ["text/plain", "multipart/related"]
    [html, image] = list(words.iter_parts())[1].iter_parts()
    assert "cid:logo" in html.get_content()
    assert (image["content-id"], image.get_content()) == ("<logo>", LOGO)
    assert (file.get_filename(), file.get_content()) == ("Rechnung № 7.pdf", PDF)
    assert file.get_content_disposition() == "attachment"
    assert message["auto-submitted"] == "auto-generated"
    assert message["list-unsubscribe"] is None
    assert message["feedback-id"] is None
    shown = await client.notifications.content(accepted.notifications[0].id)
    assert [(one.filename, one.size) for one in shown.attachments] == [("Rechnung № 7.pdf", len(PDF)), ("logo.png", 48)]
