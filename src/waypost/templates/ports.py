"""What templates need from the outside. Rendering is untrusted work: behind `Renderer` stands another process."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from waypost.kernel.errors import FieldError
from waypost.templates.model import Content, JsonObject


@dataclass(frozen=True, kw_only=True, slots=True)
class ContentReport:
    """What a check found: `errors` point into the content (`/subject`, `/html`, `/text`)."""

    errors: tuple[FieldError, ...]
    mentioned: frozenset[str]
    """Top-level names the content reads, so that only those attributes are frozen into a notification."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MailHead:
    """The headers of one message. Values are display text, unencoded; the composer refuses CR, LF and NUL in them."""

    message_id: str
    """Without angle brackets."""
    sender: str
    """`Name <address>` already split is not needed: an address or `Name <address>`."""
    to: str
    date: str
    """RFC 5322 date."""
    reply_to: str | None = None
    cc: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RenderJob:
    tenant_id: str
    version_id: UUID
    """Names the content for the renderer's cache: equal ids mean equal content."""
    content: Content
    context: JsonObject
    """Plain data only."""
    head: MailHead | None = None
    """Set when a whole message is wanted (`compose`)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RenderedParts:
    subject: str
    html: str | None
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RenderFailure:
    """This job cannot be rendered. `message` is safe to show: it holds no variable's value."""

    code: str
    """`render_failed` | `missing_variable` | `template_syntax` | `template_refused` | `render_timeout` |
    `render_too_large` | `header_refused`"""
    message: str
    pointer: str = ""
    """The part of the content that failed (`/subject`, `/html`, `/text`), where it is known."""


class Renderer(Protocol):
    async def check(self, tenant_id: str, content: Content) -> ContentReport: ...

    async def validate(self, schema: JsonObject, variables: Mapping[str, object]) -> Sequence[FieldError]:
        """Errors of the variables against their JSON Schema, pointers relative to the variables. Empty when fine."""
        ...

    async def check_schema(self, schema: JsonObject) -> Sequence[FieldError]: ...

    async def render(self, jobs: Sequence[RenderJob]) -> Sequence[RenderedParts | RenderFailure]:
        """One answer per job, in order. A job that kills its process costs only itself."""
        ...

    async def compose(self, jobs: Sequence[RenderJob]) -> Sequence[bytes | RenderFailure]:
        """The finished RFC 5322 message of each job, CRLF, not dot-stuffed."""
        ...

    async def close(self) -> None: ...
