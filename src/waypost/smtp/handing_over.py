"""A mail that came whole is handed to the use case, and what becomes of it is the reply."""

import asyncio
import logging
from typing import Final

import structlog

from waypost.kernel import ids
from waypost.kernel.errors import WaypostError
from waypost.smtp.host import Host
from waypost.smtp.replies import LATER, reply_to
from waypost.submission.model import SubmittedMail

_log: Final = structlog.stdlib.get_logger("waypost.smtp")


async def hand_over(host: Host, secret: str, mail: SubmittedMail) -> str:
    """The reply, given only when the mail is stored for good, or is known not to be."""
    app = host.app
    request_id, begun = new_request_id(host), app.clock.monotonic()
    tenant: str | None = None
    code = "accepted"
    try:
        async with asyncio.timeout(host.limits.handling_seconds):
            scope = await app.access.authenticate(secret, None, request_id)
            tenant = scope.tenant_id
            accepted = await app.submission(scope, mail)
        reply = f"250 2.0.0 Accepted as {ids.show('req', accepted.request_id)}"
    except WaypostError as refusal:
        code, reply = refusal.code, reply_to(refusal)
    except TimeoutError:
        code, reply = "deadline_exceeded", LATER
    except Exception as unexpected:
        code, reply = "internal_error", LATER
        _log.error("mail failed", action="smtp_mail_failed", kind=type(unexpected).__name__, request_id=request_id)
    seconds = app.clock.monotonic() - begun
    host.metrics.mails.labels(code).inc()
    host.metrics.seconds.observe(seconds)
    _log.log(
        logging.INFO,
        "mail answered",
        action="smtp_mail",
        code=code,
        status=int(reply[:3]),
        tenant=tenant,
        request_id=request_id,
        duration_ms=round(seconds * 1000, 1),
    )
    return reply


def new_request_id(host: Host) -> str:
    return ids.show("rid", ids.mint(host.app.clock))
