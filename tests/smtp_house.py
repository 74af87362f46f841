"""A house for the SMTP server that remembers what it was given: no database, no render process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from prometheus_client import CollectorRegistry

from waypost.adapters.render.mail_parse import read_mail
from waypost.bootstrap import App
from waypost.kernel.clock import Clock, SystemClock
from waypost.kernel.errors import Refused, Unauthenticated
from waypost.kernel.ids import mint
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.vocabulary import TenantMode
from waypost.notifications.model import Accepted, SubmitCommand
from waypost.smtp.certificate import Certificate
from waypost.smtp.limits import Limits
from waypost.smtp.metrics import SmtpMetrics
from waypost.smtp.server import SmtpServer
from waypost.submission.model import SubmittedMail, UnreadMail
from waypost.submission.rules import command_of

KEY = "wp_test_right"
PATIENCE = 60.0


@dataclass(kw_only=True)
class House:
    """Has the part of `bootstrap.App` that the SMTP server uses."""

    clock: Clock = field(default_factory=SystemClock)
    taken: list[SubmitCommand] = field(default_factory=list[SubmitCommand])
    failure: Exception | None = None

    @property
    def access(self) -> "House":
        return self

    async def authenticate(self, secret: str | None, tenant_header: str | None, request_id: str) -> Scope:
        if secret != KEY:
            raise Unauthenticated("The API key is missing, unknown, expired or revoked.")
        return Scope(
            tenant_id="acme",
            mode=TenantMode.SANDBOX,
            key_id=UUID(int=1),
            key_tenant="acme",
            permissions=frozenset({Permission.NOTIFICATIONS_SEND}),
            request_id=request_id,
        )

    async def submission(self, scope: Scope, mail: SubmittedMail) -> Accepted:
        await asyncio.sleep(0)
        if self.failure is not None:
            raise self.failure
        read = read_mail(mail.content)
        if isinstance(read, UnreadMail):
            raise Refused(read.message, code=read.code)
        self.taken.append(command_of(read, mail.recipients))
        return Accepted(request_id=mint(self.clock), notifications=())

    @property
    def subjects(self) -> list[str]:
        return [str(one.variables["mail_subject"]) for one in self.taken]


@asynccontextmanager
async def opened(
    house: House, *, secure: bool = False, certificate: Certificate | None = None, **limits: Any
) -> AsyncIterator[tuple[SmtpServer, int]]:
    """A server before the house, and its port."""
    server = SmtpServer(
        cast(App, house),
        name="mx.waypost.example",
        limits=Limits(**limits),
        metrics=SmtpMetrics(CollectorRegistry()),
        certificate=certificate,
    )
    try:
        yield server, await server.start("127.0.0.1", 0, secure=secure)
    finally:
        await server.close(0)
