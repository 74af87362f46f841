"""The client tries again where that is safe, always with the same key, and carries the problem document."""

from collections.abc import Callable

import httpx
import msgspec
import pytest

from waypost.client import ApiError, Client, Message, NoAnswerError

ACCEPTED = {
    "request_id": "req_1",
    "notifications": [{"id": "ntf_1", "recipient_id": "user-42", "channel": "email", "status": "queued"}],
}
MESSAGE = Message(to="user-42", content={"subject": "Hello", "text": "Hello"})


class CountingClock:
    """Remembers how long it was asked to sleep, and does not."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def now(self):
        raise AssertionError("the client does not ask for the time")

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def client_of(answer: Callable[[httpx.Request], httpx.Response], clock: CountingClock, **options: object) -> Client:
    return Client("http://waypost.test", "wp_test_key", transport=httpx.MockTransport(answer), clock=clock, **options)  # type: ignore[arg-type]


def problem(status: int, code: str, **more: object) -> httpx.Response:
    document = {"status": status, "code": code, "title": "No", "detail": "It cannot be.", **more}
    return httpx.Response(status, content=msgspec.json.encode(document))


@pytest.mark.parametrize(
    "refusal",
    [
        lambda: problem(503, "unavailable"),
        lambda: problem(429, "rate_limited"),
        lambda: problem(409, "in_progress"),
        lambda: httpx.Response(502, content=b"<html>"),
        lambda: (_ for _ in ()).throw(httpx.ConnectError("refused")),
        lambda: (_ for _ in ()).throw(httpx.ReadTimeout("slow")),
    ],
)
async def test_a_post_is_repeated_with_its_first_key(refusal: Callable[[], httpx.Response]) -> None:
    keys: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["Idempotency-Key"])
        return refusal() if len(keys) < 3 else httpx.Response(202, json=ACCEPTED)

    clock = CountingClock()
    async with client_of(answer, clock) as client:
        accepted = await client.notifications.send(MESSAGE)
    assert accepted.notifications[0].status == "queued"
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert len(keys[0]) >= 20
    assert len(clock.slept) == 2


async def test_two_posts_have_two_keys() -> None:
    keys: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["Idempotency-Key"])
        return httpx.Response(202, json=ACCEPTED)

    async with client_of(answer, CountingClock()) as client:
        await client.notifications.send(MESSAGE)
        await client.notifications.send(MESSAGE)
        await client.notifications.send(MESSAGE, idempotency_key="mine")
    assert len(set(keys)) == 3
    assert keys[2] == "mine"


async def test_retry_after_is_obeyed() -> None:
    answers = [
        httpx.Response(429, headers={"Retry-After": "7"}, content=b"{}"),
        httpx.Response(503, headers={"Retry-After": "9999"}, content=b"{}"),
        httpx.Response(202, json=ACCEPTED),
    ]
    clock = CountingClock()
    async with client_of(lambda _: answers.pop(0), clock) as client:
        await client.notifications.send(MESSAGE)
    assert clock.slept == [7.0, 60.0]


async def test_it_gives_up_after_its_tries() -> None:
    clock = CountingClock()
    async with client_of(lambda _: problem(503, "unavailable"), clock, tries=3) as client:
        with pytest.raises(ApiError, match="It cannot be") as refusal:
            await client.notifications.send(MESSAGE)
    assert refusal.value.status == 503
    assert refusal.value.exit_code == 75
    assert len(clock.slept) == 2


async def test_silence_is_its_own_error() -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    async with client_of(answer, CountingClock()) as client:
        with pytest.raises(NoAnswerError, match=r"No answer from http://waypost\.test: nothing listens there\."):
            await client.notifications.get("ntf_1")


@pytest.mark.parametrize(("status", "exit_code"), [(422, 65), (400, 65), (401, 77), (403, 77), (404, 66), (418, 1)])
async def test_a_refusal_carries_the_problem_and_is_not_repeated(status: int, exit_code: int) -> None:
    calls = 0

    def answer(_: httpx.Request) -> httpx.Response:
        nonlocal calls
        calls += 1
        fields = [{"pointer": "/to/email", "code": "invalid_address", "message": "Not an address."}]
        return problem(status, "invalid_address", request_id="rid_1", errors=fields)

    async with client_of(answer, CountingClock()) as client:
        with pytest.raises(ApiError, match=r"/to/email: Not an address\.") as refusal:
            await client.notifications.send(MESSAGE)
    assert calls == 1
    assert refusal.value.problem.request_id == "rid_1"
    assert refusal.value.problem.errors[0].pointer == "/to/email"
    assert refusal.value.exit_code == exit_code


async def test_pages_are_walked_to_the_end_and_only_as_far_as_they_are_read() -> None:
    asked: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        cursor = request.url.params.get("cursor")
        asked.append(cursor)
        number = int(cursor or 0)
        mails = [
            {"id": f"m{number}{i}", "to": "***", "subject": "s", "received_at": "2026-01-15T12:00:00Z"}
            for i in range(2)
        ]
        return httpx.Response(200, json={"items": mails, "next": str(number + 1) if number < 2 else None})

    async with client_of(answer, CountingClock()) as client:
        assert [mail.id async for mail in client.mailbox.list()] == ["m00", "m01", "m10", "m11", "m20", "m21"]
        assert asked == [None, "1", "2"]
        asked.clear()
        async for mail in client.mailbox.list(page_size=2):
            assert mail.id == "m00"
            break
        assert asked == [None]


async def test_ids_cannot_leave_their_segment_of_the_path() -> None:
    paths: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.raw_path)
        return problem(404, "not_found")

    async with client_of(answer, CountingClock()) as client:
        for hostile in ("../tenants", "a/b", "a?b=c", "a#b", "ü"):
            with pytest.raises(ApiError):
                await client.recipients.get(hostile)
    assert [path.count(b"/") for path in paths] == [3] * 5
    assert not any(b"?" in path or b"#" in path for path in paths)


async def test_a_platform_key_names_its_tenant() -> None:
    seen: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("Waypost-Tenant"))
        return httpx.Response(200, json={"items": [], "next": None})

    async with client_of(answer, CountingClock(), tenant="acme") as client:
        assert [one async for one in client.mailbox.list()] == []
    async with client_of(answer, CountingClock()) as client:
        assert [one async for one in client.mailbox.list()] == []
    assert seen == ["acme", None]


async def test_short_lists_are_walked_to_their_end() -> None:
    pause = {"scope": "channel", "subject": "sms", "reason": "", "by_platform": False, "is_settling": False}
    pause |= {"created_at": "2026-01-15T12:00:00Z", "created_by": "key_1"}
    asked: list[dict[str, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(dict(request.url.params))
        first = "cursor" not in request.url.params
        names = ("pau_3", "pau_2") if first else ("pau_1",)
        items = [{**pause, "id": name} for name in names]
        return httpx.Response(200, json={"items": items, "next": "further" if first else None})

    found = await client_of(answer, CountingClock()).pauses.list(tenant="acme")
    assert [one.id for one in found] == ["pau_3", "pau_2", "pau_1"]
    assert asked == [
        {"tenant": "acme", "limit": "100"},
        {"tenant": "acme", "limit": "100", "cursor": "further"},
    ]
