"""Bookings, and the template that reminds of them: what tests of events tell."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

NOW = datetime.now(UTC).replace(microsecond=0)


def event(number: int = 1, kind: str = "booking.created", **data: Any) -> dict[str, Any]:
    return {"id": f"evt-{number}", "type": kind, "occurred_at": NOW.isoformat(), "data": data}


def guest(number: int = 1) -> dict[str, str]:
    return {"id": f"user-{number}", "email": f"user-{number}@example.com"}


@pytest.fixture
async def reminder(acme: Any) -> str:
    return await publish(acme, "reminder")


async def publish(caller: Any, key: str, text: str = "About {{ booking_id }}", channel: str = "email") -> str:
    words = (
        {"subject": "A word", "body": text, "format": "text"}
        if channel == "email"
        else {"body": text, "format": "text"}
    )
    await caller.ok("POST", "/v1/templates", {"key": key, "channel": channel, "category": "operational", "name": key})
    drafted = await caller.ok("POST", f"/v1/templates/{key}/{channel}/versions", {"locales": {"en": words}})
    await caller.ok("POST", f"/v1/templates/{key}/{channel}/versions/{drafted['semver']}/publish")
    return key


async def trigger(caller: Any, **fields: Any) -> dict[str, Any]:
    usual = {"event_type": "booking.created", "template": "reminder", "recipient": "$.data.guest"}
    return await caller.ok("POST", "/v1/triggers", usual | fields)


def in_days(days: float) -> str:
    return (NOW + timedelta(days=days)).isoformat()
