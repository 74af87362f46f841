"""Every error as `application/problem+json`: one shape, stable codes, nothing of what went wrong inside."""

from typing import Final

import msgspec

from waypost.api.http_errors import MethodNotAllowed
from waypost.kernel.errors import RateLimited, Refused, Unavailable, WaypostError

MEDIA_TYPE: Final = "application/problem+json"
BUSY_RETRY_SECONDS: Final = 1


class FieldProblem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing to mend: where it is (a JSON pointer into the body, or the parameter's name after a slash) and how."""

    pointer: str
    code: str
    message: str


class Problem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What went wrong. `code` is stable; `detail` is for people and may change."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    request_id: str
    errors: tuple[FieldProblem, ...] = ()


class ProblemAnswer(msgspec.Struct, frozen=True, kw_only=True):
    status: int
    code: str
    headers: list[tuple[str, str]]
    body: bytes


_INTERNAL: Final = WaypostError("Something broke on our side. The request id finds it in the log.")


def answer_of(error: WaypostError, request_id: str) -> ProblemAnswer:
    if error.status >= 500 and not isinstance(error, Unavailable):
        error = _INTERNAL
    fields = error.errors if isinstance(error, Refused) else ()
    problem = Problem(
        type=f"/problems/{error.code}",
        title=error.title,
        status=error.status,
        code=error.code,
        detail=error.detail,
        request_id=request_id,
        errors=tuple(FieldProblem(pointer=f.pointer, code=f.code, message=f.message) for f in fields),
    )
    return ProblemAnswer(
        status=error.status, code=error.code, headers=_headers_of(error), body=msgspec.json.encode(problem)
    )


def internal_answer(request_id: str) -> ProblemAnswer:
    """The answer to an exception nobody expected: it says nothing about the exception."""
    return answer_of(_INTERNAL, request_id)


def _headers_of(error: WaypostError) -> list[tuple[str, str]]:
    headers = [("content-type", MEDIA_TYPE), ("cache-control", "no-store")]
    if isinstance(error, RateLimited):
        headers.append(("retry-after", str(error.retry_after)))
    elif isinstance(error, Unavailable):
        headers.append(("retry-after", str(BUSY_RETRY_SECONDS)))
    elif isinstance(error, MethodNotAllowed):
        headers.append(("allow", error.allowed))
    elif error.status == 401:
        headers.append(("www-authenticate", "Bearer"))
    return headers
