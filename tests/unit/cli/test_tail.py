"""`waypost tail` tells each notification once and each change of it once."""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime

from waypost.cli.tail import Follower
from waypost.client.answers import Notification

AT = datetime(2026, 1, 15, tzinfo=UTC)


def note(number: int, status: str = "queued") -> Notification:
    return Notification(
        id=f"ntf_{number:03}",
        request_id="req_1",
        recipient_id="user-42",
        channel="email",
        category="transactional",
        priority="normal",
        status=status,
        attempts=0,
        send_at=AT,
        expires_at=AT,
        created_at=AT,
    )


class FakeNotifications:
    def __init__(self) -> None:
        self.all: dict[str, Notification] = {}

    def set(self, *notes: Notification) -> None:
        self.all |= {one.id: one for one in notes}

    async def list(self, *, page_size: int) -> AsyncIterator[Notification]:
        for one in sorted(self.all.values(), key=lambda one: one.id, reverse=True):
            yield one

    async def get(self, notification_id: str) -> Notification:
        return self.all[notification_id]


class FakeClient:
    def __init__(self) -> None:
        self.notifications = FakeNotifications()


class Lines:
    def __init__(self) -> None:
        self.told: list[tuple[object, object]] = []

    def event(self, value: Mapping[str, object]) -> None:
        self.told.append((value["id"], value["status"]))


async def test_it_begins_with_the_last_ones_oldest_first() -> None:
    client, lines = FakeClient(), Lines()
    client.notifications.set(*(note(number, "dispatched") for number in range(5)))
    follower = Follower(lines)  # type: ignore[arg-type]
    await follower.begin(client, 2)  # type: ignore[arg-type]
    assert [one for one, _ in lines.told] == ["ntf_003", "ntf_004"]
    await follower.look(client)  # type: ignore[arg-type]
    assert len(lines.told) == 2


async def test_it_tells_new_ones_and_their_changes_once() -> None:
    client, lines = FakeClient(), Lines()
    follower = Follower(lines)  # type: ignore[arg-type]
    await follower.begin(client, 10)  # type: ignore[arg-type]
    client.notifications.set(note(1), note(2))
    await follower.look(client)  # type: ignore[arg-type]
    await follower.look(client)  # type: ignore[arg-type]
    client.notifications.set(note(1, "dispatched"), note(3))
    await follower.look(client)  # type: ignore[arg-type]
    await follower.look(client)  # type: ignore[arg-type]
    assert lines.told == [
        ("ntf_001", "queued"),
        ("ntf_002", "queued"),
        ("ntf_001", "dispatched"),
        ("ntf_003", "queued"),
    ]


async def test_it_stops_after_its_count() -> None:
    client, lines = FakeClient(), Lines()
    follower = Follower(lines, most=1)  # type: ignore[arg-type]
    client.notifications.set(note(1), note(2))
    await follower.begin(client, 0)  # type: ignore[arg-type]
    assert not follower.done
    client.notifications.set(note(3), note(4))
    await follower.look(client)  # type: ignore[arg-type]
    assert follower.done
    assert lines.told == [("ntf_003", "queued")]
