"""What the client raises.

ClientError
├── ApiError       the API said no; carries the problem document
└── NoAnswerError  no answer came, even after trying again
"""

from typing import Final

import msgspec

from waypost.kernel import errors as kernel


class ProblemField(msgspec.Struct, frozen=True, kw_only=True):
    pointer: str
    code: str
    message: str


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """The `application/problem+json` document of a refusal."""

    status: int
    code: str
    title: str = ""
    detail: str = ""
    type: str = "about:blank"
    request_id: str | None = None
    errors: tuple[ProblemField, ...] = ()


_EXIT_CODES: Final[dict[int, int]] = {
    kind.status: kind.exit_code
    for kind in (
        kernel.Refused,
        kernel.MalformedRequest,
        kernel.TooLarge,
        kernel.Unauthenticated,
        kernel.Forbidden,
        kernel.NotFound,
        kernel.Conflict,
        kernel.PreconditionFailed,
        kernel.RateLimited,
        kernel.Unavailable,
    )
}


class ClientError(Exception):
    exit_code: int = 1


class ApiError(ClientError):
    def __init__(self, problem: Problem) -> None:
        fields = "; ".join(f"{one.pointer}: {one.message}" for one in problem.errors)
        said = problem.detail or problem.title or problem.code
        super().__init__(f"{said} ({fields})" if fields and fields != f"{said}" else said)
        self.problem = problem
        self.exit_code = _EXIT_CODES.get(problem.status, 1)

    @property
    def status(self) -> int:
        return self.problem.status

    @property
    def code(self) -> str:
        return self.problem.code


class NoAnswerError(ClientError):
    exit_code: int = kernel.Unavailable.exit_code


def problem_of(status: int, body: bytes) -> Problem:
    """The problem document of an answer; a plain one where something between us and the API answered instead."""
    try:
        return msgspec.json.decode(body, type=Problem)
    except msgspec.DecodeError:
        return Problem(
            status=status, code="unexpected_answer", title=f"The server answered {status} without saying why."
        )
