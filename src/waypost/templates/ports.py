"""What templates need from the outside. Rendering is untrusted work: behind `Renderer` stands another process."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

import msgspec

from waypost.kernel.errors import FieldError
from waypost.templates.model import (
    Content,
    Fragment,
    JsonObject,
    LocaleSource,
    Profile,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ContentReport:
    """What a check found: `errors` point into what was given (`/subject`, `/html`, `/text`, `/json`; of a source also
    `/preheader`, `/body`, `/layout`)."""

    errors: tuple[FieldError, ...]
    mentioned: frozenset[str]
    """What the content reads, so that only this is frozen into a notification (`templates.context`): top-level names
    (`first_name`), and of the recipient and the tenant each member (`recipient.timezone`, `tenant.name`) or, where the
    template decides while it runs, all of it (`recipient`). A filter that speaks the recipient's language reads
    `recipient.locale` and `recipient.timezone`."""
    content: Content | None = None
    """What `compile` made, where there are no errors."""
    warnings: tuple[FieldError, ...] = ()
    """What an author should know and may ignore."""


class MailHead(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
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
    """What mostly is the same in all messages of a kind."""
    has_images: bool = False
    """Images follow that the HTML shows: a message with images or files ends open, for its tail to be joined on
    (`channels.mime_parts`)."""
    has_files: bool = False
    unsubscribe: str | None = None
    """Where its reader can stop messages like it."""


MARK: Final = "waypost_mark"
"""What names a message to its pixel and to its links, in its context."""


class Instrument(msgspec.Struct, frozen=True, array_like=True):
    """How the links of a version are tracked: the same for all its messages."""

    opens: str
    """What the address of a message's pixel begins with; empty where opens are not noticed."""
    clicks: str
    """The same for links."""
    version: bytes
    key: bytes
    """Signs links of this version, and nothing else (`tracking.link_token`)."""
    spared: tuple[str, ...]
    """Beginnings of addresses that are never tracked: our own."""

    def __repr__(self) -> str:
        return "Instrument(…)"


class RenderJob(msgspec.Struct, frozen=True):
    tenant_id: str
    version_id: UUID
    """Names the content for the renderer's cache: equal ids mean equal content."""
    content: Content
    context: JsonObject
    """Plain data only."""
    locale: str | None = None
    """The recipient's: dates, numbers and money are written in it. Unknown ones fall back, they never fail."""
    timezone: str | None = None
    head: MailHead | None = None
    """Set when a whole message is wanted (`compose`)."""
    instrument: Instrument | None = None
    """Set where a message is tracked; one and the same object for a version's messages."""


class RenderedParts(msgspec.Struct, frozen=True, kw_only=True, array_like=True, tag=1, gc=False):
    subject: str
    html: str | None
    text: str
    json: str | None = None
    preheader: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RenderFailure:
    """This job cannot be rendered. `message` is safe to show: it holds no variable's value."""

    code: str
    """`render_failed` | `missing_variable` | `template_syntax` | `template_refused` | `render_timeout` |
    `render_too_large` | `header_refused`"""
    message: str
    pointer: str = ""
    """The part of the content that failed (`/subject`, `/html`, `/text`, `/json`), where it is known."""


class Renderer(Protocol):
    async def check(self, tenant_id: str, content: Content, *, is_compiled: bool = False) -> ContentReport:
        """What `compile` has made may be larger than what an author may write."""
        ...

    async def compile(
        self,
        tenant_id: str,
        source: LocaleSource,
        *,
        profile: Profile = Profile.JINJA,
        layout: str | None = None,
        fragments: Mapping[str, Fragment] | None = None,
    ) -> ContentReport:
        """Makes a content of a source, once, before it is stored. `fragments` are all the layouts and partials that it
        may use, by name (`templates.fragments` tells which those are); there is no other way to reach one."""
        ...

    async def validate(self, schema: JsonObject, variables: Mapping[str, object]) -> Sequence[FieldError]:
        """Errors of the variables against their JSON Schema, pointers relative to the variables. Empty when fine."""
        ...

    async def validate_many(
        self, schema: JsonObject, many: Sequence[Mapping[str, object]]
    ) -> Sequence[Sequence[FieldError]]:
        """The same for the variables of many messages, in order."""
        ...

    async def check_schema(self, schema: JsonObject) -> Sequence[FieldError]: ...

    async def render(self, jobs: Sequence[RenderJob]) -> Sequence[RenderedParts | RenderFailure]:
        """One answer per job, in order. A job that kills its process costs only itself."""
        ...

    async def try_out(self, jobs: Sequence[RenderJob]) -> Sequence[RenderFailure | None]:
        """Why `render` would fail, for each job; None where it would not."""
        ...

    async def compose(self, jobs: Sequence[RenderJob]) -> Sequence[bytes | RenderFailure]:
        """The finished RFC 5322 message of each job: CRLF, also at its end, and no line begins with a dot. That is
        looked at outside of the process that made it."""
        ...

    async def close(self) -> None: ...
