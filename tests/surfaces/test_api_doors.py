"""A path to the letter needs no router: whichever way a request comes in, it is answered alike."""

from typing import Any

import pytest

_OWN = {"waypost-request-id", "content-length"}


def _shown(answer: Any) -> tuple[int, dict[str, str]]:
    return answer.status_code, {name: value for name, value in answer.headers.items() if name not in _OWN}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/topics", None),
        ("GET", "/v1/topics?limit=0", None),
        ("POST", "/v1/topics", {"key": "news", "category": "nonsense"}),
        ("POST", "/v1/notifications", {"to": "nobody"}),
        ("DELETE", "/v1/notifications", None),
        ("GET", "/v1/me/preferences", None),
    ],
)
async def test_by_the_router_and_past_it(acme: Any, method: str, path: str, body: object) -> None:
    name, mark, query = path.partition("?")
    straight, routed = await acme(method, path, body), await acme(method, f"{name}/{mark}{query}", body)
    assert _shown(straight) == _shown(routed)
    assert {key: value for key, value in straight.json().items() if key != "request_id"} == {
        key: value for key, value in routed.json().items() if key != "request_id"
    }


async def test_a_host_that_is_none_is_refused_on_every_path(acme: Any) -> None:
    answers = [await acme("GET", path, headers={"Host": "a b"}) for path in ("/v1/topics", "/v1/recipients/someone")]
    assert [answer.status_code for answer in answers] == [400, 400]
