"""What submission needs from the outside. A foreign mail is untrusted: behind `MailReader` stands another process."""

from typing import Protocol

from waypost.submission.model import ReadMail, UnreadMail


class MailReader(Protocol):
    async def read_mail(self, tenant_id: str, content: bytes) -> ReadMail | UnreadMail: ...
