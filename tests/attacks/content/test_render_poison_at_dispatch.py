"""11. Content that was harmless when it was accepted and kills when it is sent: it fails alone."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg

from waypost.kernel import ids

MESSAGES = 500
BOMBS = {
    "render_timeout": "{% set s = range(60000)|list %}{% for i in s %}{{ s|sort|first }}{% endfor %}",
    "render_failed": "{{ ('x' * 100000)|replace('x', 'y' * 100000) }}",
}


async def test_one_fails_and_the_others_go(fortress: Any) -> None:
    caller = fortress.tenant("poison")
    versions = {}
    for reason, bomb in BOMBS.items():
        key = reason.replace("_", "-")
        caller.ok("POST", "/v1/templates", {"key": key, "category": "transactional"})
        words = {"locales": {"en": {"subject": "s", "body": bomb}}}
        versions[reason] = caller.ok("POST", f"/v1/templates/{key}/email/versions", words)["id"]
        caller.ok("POST", f"/v1/templates/{key}/email/versions/1.0.0/publish")
    people = [{"id": f"dose-{n}", "email": f"dose-{n}@hush.example"} for n in range(MESSAGES)]
    body = {
        "to": people,
        "content": {"subject": "s", "html": "<p>fine</p>"},
        "send_at": (datetime.now(UTC) + timedelta(seconds=3)).isoformat(),
    }
    made = [one["id"] for one in caller.ok("POST", "/v1/notifications", body)["notifications"]]
    poisoned = {reason: made[100 + 150 * index] for index, reason in enumerate(BOMBS)}
    # The gate at submit renders everything once, so a bomb gets this far only by a renderer that changed its mind.
    connection = await asyncpg.connect(fortress.administrator, server_settings={"search_path": "waypost"})
    for reason, notification in poisoned.items():
        changed = await connection.execute(
            "update notifications set version_id = $2, locale = 'en' where id = $1",
            uuid_of(notification),
            uuid_of(versions[reason]),
        )
        assert changed == "UPDATE 1"
    await connection.close()

    with fortress.unshaken():
        states = fortress.eventually(lambda: ended(caller))
    assert {one for one in made if states[one]["status"] == "failed"} == set(poisoned.values())
    for reason, notification in poisoned.items():
        # On a busy machine even running out of memory takes longer than it may.
        assert states[notification]["reason"] in {reason, "render_timeout"}
        assert states[notification]["attempts"] <= 1
    others = [states[one] for one in made if one not in poisoned.values()]
    assert {(one["status"], one["attempts"]) for one in others} == {("dispatched", 1)}
    arrived = [mail.people[0] for mail in list(fortress.sink.mail) if b"dose-" in mail.people[0]]
    assert len(arrived) == len(set(arrived)) == MESSAGES - len(BOMBS)


def ended(caller: Any) -> dict[str, Any] | None:
    told = {one["id"]: one for one in caller.all("/v1/notifications")}
    return told if {one["status"] for one in told.values()} <= {"dispatched", "failed"} else None


def uuid_of(shown: str) -> UUID | None:
    return ids.read(shown.partition("_")[0], shown)
