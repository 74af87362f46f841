"""An answer on its way out."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final

from litestar.response.streaming import ASGIStreamingResponse
from litestar.types import Receive, Send
from litestar.types import Scope as AsgiScope

from waypost.api.problem import ProblemAnswer
from waypost.api.request_record import RequestRecord

_ALWAYS: Final = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_ALWAYS_LINES: Final = [(name.encode(), value.encode()) for name, value in _ALWAYS.items()]
_WITHOUT_BODY: Final = frozenset({204, 304})


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    status: int
    body: bytes
    media_type: str
    headers: Mapping[str, str]
    parts: AsyncIterator[bytes] | None = None
    """A file that is read while it goes out, in place of the body."""

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if self.parts is not None:
            streamed = ASGIStreamingResponse(
                iterator=self.parts,
                status_code=self.status,
                media_type=self.media_type,
                headers={**_ALWAYS, **self.headers},
            )
            await streamed(scope, receive, send)
            return
        lines = [*_ALWAYS_LINES] if not self.headers else _lines_of({**_ALWAYS, **self.headers})
        if self.status not in _WITHOUT_BODY:
            lines.append((b"content-type", self._content_type()))
            lines.append((b"content-length", str(len(self.body)).encode()))
        await send({"type": "http.response.start", "status": self.status, "headers": lines})
        await send({"type": "http.response.body", "body": self.body, "more_body": False})

    def _content_type(self) -> bytes:
        charset = "; charset=utf-8" if self.media_type.startswith("text/") else ""
        return f"{self.media_type}{charset}".encode()


def problem_answer(problem: ProblemAnswer, record: RequestRecord) -> Answer:
    record.code = problem.code
    headers = dict(problem.headers)
    media_type = headers.pop("content-type")
    return Answer(status=problem.status, body=problem.body, media_type=media_type, headers=headers)


def _lines_of(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
