"""A render pool per test, and jobs to put through it."""

from collections.abc import AsyncIterator, Callable
from uuid import UUID, uuid4

import pytest

from waypost.adapters.render.pool import RenderPool
from waypost.kernel.clock import VirtualClock
from waypost.templates.model import Content, JsonObject
from waypost.templates.ports import MailHead, RenderJob

HEAD = MailHead(
    message_id="ntf@waypost.example",
    sender="Waypost <hello@waypost.example>",
    to="jane@example.com",
    date="Thu, 15 Jan 2026 12:00:00 +0000",
)


@pytest.fixture
async def pool(clock: VirtualClock) -> AsyncIterator[RenderPool]:
    pool = RenderPool(clock=clock)
    yield pool
    await pool.close()


@pytest.fixture
def job() -> Callable[..., RenderJob]:
    def make(
        html: str | None = None,
        *,
        subject: str = "Hello",
        text: str | None = None,
        tenant: str = "acme",
        version: UUID | None = None,
        **context: object,
    ) -> RenderJob:
        data: JsonObject = {**context}  # type: ignore[dict-item]
        return RenderJob(
            tenant_id=tenant,
            version_id=version or uuid4(),
            content=Content(subject=subject, html=html, text=text),
            context=data,
            head=HEAD,
        )

    return make
