"""A page, declared: where it is, what it needs, and what it answers with."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias
from uuid import UUID

from waypost.bootstrap import App
from waypost.kernel import ids
from waypost.kernel.errors import NotFound
from waypost.kernel.tenancy import Permission, Scope
from waypost.kernel.work import Transaction
from waypost.tenants.sessions import Session

Fields: TypeAlias = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Visit:
    """Someone who is signed in asks for a page, inside a transaction of their tenant."""

    app: App
    session: Session
    tx: Transaction
    path: Mapping[str, str]
    query: Fields
    form: Fields
    token: str = field(repr=False)

    @property
    def scope(self) -> Scope:
        return self.session.scope

    def id(self, prefix: str) -> UUID:
        found = ids.read(prefix, self.path["id"])
        if found is None:
            raise NotFound("Nothing here has this id.")
        return found

    def asked(self, name: str) -> str | None:
        """A parameter of the query; None where it is empty."""
        return _first(self.query, name)

    def given(self, name: str) -> str:
        """A field of the form; empty where it is missing."""
        return _first(self.form, name) or ""


def _first(fields: Fields, name: str) -> str | None:
    values = fields.get(name, ())
    return values[0].strip() or None if values else None


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """A template and what it shows."""

    template: str
    shows: Mapping[str, object] = field(default_factory=dict[str, object])
    status: int = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Redirect:
    to: str
    """A path of the console."""
    token: str | None = None
    """A new session token to keep."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """Someone else's words, shown on a route of their own under a policy that lets them do nothing."""

    body: bytes
    media_type: str = "text/html; charset=utf-8"


@dataclass(frozen=True, kw_only=True, slots=True)
class Unchanged:
    """What the browser has is current."""


Shown: TypeAlias = View | Redirect | Document | Unchanged


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    method: Literal["GET", "POST"]
    path: str
    name: str
    permission: Permission | None
    """None: everyone who is signed in; the use case decides by what is asked for."""
    run: Callable[[Visit], Awaitable[Shown]]


def page(
    method: Literal["GET", "POST"], path: str, permission: Permission | None
) -> Callable[[Callable[[Visit], Awaitable[Shown]]], Page]:
    def declare(run: Callable[[Visit], Awaitable[Shown]]) -> Page:
        name = f"console_{getattr(run, '__name__', path)}"
        return Page(method=method, path=path, name=name, permission=permission, run=run)

    return declare
