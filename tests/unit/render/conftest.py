"""A render pool per test, and jobs to put through it."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from uuid import UUID, uuid4

import pytest

from waypost.adapters.render.limits import RenderLimits
from waypost.adapters.render.pool import RenderPool
from waypost.adapters.render.press import press
from waypost.adapters.render.rendition import Rendition
from waypost.adapters.render.speech import Speech
from waypost.adapters.render.wire import CompileAsk, Parts
from waypost.kernel.clock import VirtualClock
from waypost.templates.model import Content, Direction, Format, Fragment, JsonObject, LocaleSource, Profile
from waypost.templates.ports import MailHead, RenderedParts, RenderJob

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


@dataclass(frozen=True)
class Compiled:
    """What became of a source, in this process."""

    content: Content | None
    faults: tuple[tuple[str, str], ...]
    messages: str

    def render(self, locale: str | None = None, timezone: str | None = None, **context: object) -> RenderedParts:
        assert self.content is not None, self.messages
        return Rendition(Parts.of(self.content), RenderLimits()).render(context, locale, timezone)  # type: ignore[arg-type]

    def html(self, **context: object) -> str:
        html = self.render(**context).html
        assert html is not None
        return html


@pytest.fixture(scope="session")
def compiled() -> Callable[..., Compiled]:
    def make(
        body: str,
        written_as: str = "html",
        *,
        profile: str = "jinja",
        layout: str | None = None,
        fragments: dict[str, Fragment] | None = None,
        direction: str = "ltr",
        **source: object,
    ) -> Compiled:
        ask = CompileAsk(
            LocaleSource(  # type: ignore[arg-type]
                body=body, format=Format(written_as), direction=Direction(direction), **{"subject": "s", **source}
            ),
            Profile(profile),
            layout,
            fragments or {},
        )
        proof = press(ask, Speech())
        faults = tuple((fault.pointer, fault.code) for fault in proof.faults)
        return Compiled(proof.content, faults, " ".join(fault.message for fault in proof.faults))

    return make


@pytest.fixture(scope="session")
def fragment() -> Callable[..., Fragment]:
    def make(body: str, written_as: str = "html", profile: str = "jinja", layout: str | None = None) -> Fragment:
        return Fragment(body=body, format=Format(written_as), profile=Profile(profile), layout=layout)

    return make
