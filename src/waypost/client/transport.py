"""One request, tried again where that is safe.

Every POST carries an Idempotency-Key and keeps it over all tries, so an answer lost on the way never doubles an effect.
"""

import random
import secrets
from collections.abc import AsyncIterator, Mapping
from typing import Final, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from waypost.client.errors import ApiError, NoAnswerError, problem_of
from waypost.kernel.clock import Clock, SystemClock

T = TypeVar("T")
Query = Mapping[str, str | int | None]

_PATIENCE_SECONDS: Final = 10.0
_FIRST_WAIT: Final = 0.1
_LONGEST_WAIT: Final = 5.0
_LARGEST_PAGE: Final = 100
# 409 is worth another try only while a twin of this very request is still at work.
_LATER: Final = frozenset({429, 502, 503, 504})


class Transport:
    def __init__(
        self,
        url: str,
        key: str,
        *,
        tenant: str | None = None,
        tries: int = 5,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Clock | None = None,
    ) -> None:
        headers = {"Authorization": f"Bearer {key}", "Accept": "application/json"}
        if tenant is not None:
            headers["Waypost-Tenant"] = tenant
        self._http = httpx.AsyncClient(
            base_url=url, headers=headers, timeout=_PATIENCE_SECONDS, trust_env=False, transport=transport
        )
        self._url = url
        self._tries = tries
        self._clock = clock or SystemClock()

    async def close(self) -> None:
        await self._http.aclose()

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)

    async def ask(
        self,
        method: str,
        path: str,
        answer: type[T],
        *,
        body: object = None,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> T:
        raw = await self.raw(method, path, body=body, query=query, headers=headers, idempotency_key=idempotency_key)
        if answer is type(None):
            return msgspec.convert(None, answer)
        return msgspec.json.decode(raw, type=answer)

    async def raw(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
        tries: int | None = None,
        content: tuple[bytes, str] | None = None,
        patience: float = _PATIENCE_SECONDS,
    ) -> bytes:
        """`content` is a body that is not JSON, and its media type; `patience` the silence that is borne."""
        sent = dict(headers or {})
        if method == "POST":
            sent["Idempotency-Key"] = idempotency_key or secrets.token_urlsafe(18)
        raw, media_type = content or (None if body is None else msgspec.json.encode(body), "application/json")
        if raw is not None:
            sent["Content-Type"] = media_type
        params = {name: str(value) for name, value in (query or {}).items() if value is not None}
        tries = tries or self._tries
        for attempt in range(1, tries + 1):
            last = attempt == tries
            try:
                response = await self._http.request(
                    method, path, content=raw, headers=sent, params=params, timeout=patience
                )
            except httpx.TransportError as error:
                if last:
                    raise NoAnswerError(f"No answer from {self._url}: {_why(error)}.") from None
                await self._clock.sleep(_wait(attempt))
                continue
            if response.is_success:
                return response.content
            failure = ApiError(problem_of(response.status_code, response.content))
            again = response.status_code in _LATER or failure.code == "in_progress"
            if last or not again:
                raise failure
            await self._clock.sleep(_asked_wait(response) or _wait(attempt))
        raise AssertionError("unreachable: the last try returns or raises")

    async def pages(
        self, path: str, answer: type[T], *, query: Query | None = None, limit: int | None = None
    ) -> AsyncIterator[T]:
        """Walks all pages of a list, in its order, asking for the next only when it is wanted."""
        cursor: str | None = None
        while True:
            page = await self.ask("GET", path, _Page, query={**(query or {}), "cursor": cursor, "limit": limit})
            for item in page.items:
                yield msgspec.json.decode(item, type=answer)
            cursor = page.next
            if cursor is None:
                return

    async def whole(self, path: str, answer: type[T], *, query: Query | None = None) -> tuple[T, ...]:
        """All of a list that is short, in as few pages as can be."""
        return tuple([one async for one in self.pages(path, answer, query=query, limit=_LARGEST_PAGE)])


class _Page(msgspec.Struct, frozen=True):
    items: list[msgspec.Raw]
    next: str | None = None


def segment(value: str) -> str:
    """A value as one segment of a path, whatever it holds."""
    return quote(value, safe="")


def _wait(attempt: int) -> float:
    return min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (attempt - 1)) * random.uniform(0.5, 1.0)  # noqa: S311 — jitter


def _asked_wait(response: httpx.Response) -> float | None:
    asked = response.headers.get("Retry-After", "")
    return min(float(asked), 60.0) if asked.isdigit() else None


def _why(error: httpx.TransportError) -> str:
    if isinstance(error, httpx.ConnectError):
        return "nothing listens there"
    if isinstance(error, httpx.TimeoutException):
        return "it took too long"
    return "the connection broke"
