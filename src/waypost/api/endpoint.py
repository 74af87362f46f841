"""An endpoint, declared: what it needs, what it takes, what it answers, how it can refuse.

Routing, authentication, the OpenAPI document and the tests that walk over all routes read the same declaration.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_args, get_origin
from uuid import UUID

import msgspec

from waypost.api.bulk_body import Items
from waypost.api.shapes import NoBody, NoQuery
from waypost.api.upload_body import Uploaded
from waypost.bootstrap import App
from waypost.inbox.model import Visitor
from waypost.kernel import ids
from waypost.kernel.errors import NotFound, Unauthenticated
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.work import Transaction
from waypost.notifications.model import Accepted, SubmitCommand

Body = TypeVar("Body")
Query = TypeVar("Query")
Method: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Caller: TypeAlias = Literal["key", "recipient", "proof"]
"""Who calls: an application with its key, a recipient with a token, or one whose id is proved by an HMAC."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call(Generic[Body, Query]):
    """One request, checked, inside its transaction."""

    app: App
    scope: Scope
    tx: Transaction
    path: Mapping[str, str]
    body: Body
    query: Query
    expected_version: int | None = None
    """From If-Match, where the endpoint is versioned."""
    idempotency_key: str | None = None
    visitor: Visitor | None = None
    """Who speaks, where an endpoint is for recipients."""
    last_event_id: str | None = None

    @property
    def me(self) -> Visitor:
        if self.visitor is None:
            raise Unauthenticated("This is for recipients.", code="invalid_token")
        return self.visitor

    def id(self, prefix: str, name: str = "id") -> UUID:
        """The id in the path. One that cannot be ours is as unknown as any other."""
        found = ids.read(prefix, self.path[name])
        if found is None:
            raise NotFound("There is no such id.")
        return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Versioned:
    """An answer with an ETag."""

    body: object
    version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Raw:
    """An answer that is not JSON."""

    content: bytes
    media_type: str
    is_download: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Streamed:
    """A file, read part by part while it goes out."""

    parts: AsyncIterator[bytes]
    media_type: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Submits(Generic[Body]):
    """Of an endpoint that submits one call and does nothing else: it may be stored together with others."""

    command: Callable[[Body, str | None], SubmitCommand]
    """Of the body and the idempotency key."""
    show: Callable[[Accepted], object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    method: Method
    path: str
    """With `{name}` for each segment that varies."""
    name: str
    summary: str
    description: str
    permission: Permission | None
    """None: any valid key; the use case decides by what is asked for."""
    run: Callable[[Call[Any, Any]], Awaitable[object]]
    body: type[Any] = NoBody
    query: type[Any] = NoQuery
    answer: type[Any] | None = None
    """None answers without content."""
    media_type: str = "application/json"
    status: int = 200
    caller: Caller = "key"
    versioned: bool = False
    audited: bool = False
    """Leaves a row in the audit log: every administrative change does."""
    submits: Submits[Any] | None = None
    wide: bool = False
    """Its body may be as large as a bulk's."""
    refusals: Mapping[int, Sequence[str]] = field(default_factory=dict[int, Sequence[str]])
    """The codes it can answer with, by status, besides those every endpoint shares."""
    body_example: Mapping[str, object] | None = None
    """Of a bulk: of one item."""
    answer_example: object = None

    @property
    def area(self) -> str:
        return self.path.split("/")[2]

    @property
    def takes_body(self) -> bool:
        return self.body is not NoBody

    @property
    def needs_body(self) -> bool:
        """False too for a POST whose body could only say something else than usual: `POST …/rotate-secret`."""
        if self.method != "POST" or self.is_bulk or self.is_upload:
            return self.takes_body
        return any(each.required for each in msgspec.structs.fields(self.body))

    @property
    def is_bulk(self) -> bool:
        """Takes a JSON array or NDJSON: `Items[shape]`."""
        return get_origin(self.body) is Items

    @property
    def is_upload(self) -> bool:
        """Takes a file: `Uploaded[shape of its options]`."""
        return get_origin(self.body) is Uploaded

    @property
    def body_shape(self) -> type[Any]:
        """Of the body, or of each of its items, or of what is said about a file."""
        return get_args(self.body)[0] if self.is_bulk or self.is_upload else self.body


Use: TypeAlias = Callable[[Call[Body, Query]], Awaitable[object]]


def endpoint(
    method: Method,
    path: str,
    permission: Permission | None,
    *,
    summary: str,
    body: type[Body] = NoBody,
    query: type[Query] = NoQuery,
    answer: type[Any] | None = None,
    media_type: str = "application/json",
    status: int = 200,
    caller: Caller = "key",
    versioned: bool = False,
    audited: bool = False,
    submits: Submits[Body] | None = None,
    wide: bool = False,
    refusals: Mapping[int, Sequence[str]] | None = None,
    body_example: Mapping[str, object] | None = None,
    answer_example: object = None,
) -> Callable[[Use[Body, Query]], Endpoint]:
    """Declares the decorated use as an endpoint. Its docstring becomes the description in OpenAPI."""

    def declare(use: Use[Body, Query]) -> Endpoint:
        return Endpoint(
            method=method,
            path=path,
            name=getattr(use, "__name__", path),
            summary=summary,
            description=" ".join((use.__doc__ or "").split()),
            permission=permission,
            run=use,
            body=body,
            query=query,
            answer=answer,
            media_type=media_type,
            status=status,
            caller=caller,
            versioned=versioned,
            audited=audited,
            submits=submits,
            wide=wide,
            refusals=refusals or {},
            body_example=body_example,
            answer_example=answer_example,
        )

    return declare
