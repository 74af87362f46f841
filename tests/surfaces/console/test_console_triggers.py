"""Triggers and timers in the console: made, read in plain words, turned off, dropped; in Chromium and over axe."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from waypost.console.trigger_words import deeds
from waypost.kernel.tenancy import Permission
from waypost.triggers.model import DigestSpec, ThrottleSpec, TriggerSpec


async def publish_reminder(api: Any) -> None:
    await api.ok("POST", "/v1/templates", {"key": "reminder", "channel": "email", "category": "reminder"})
    words = {"subject": "Soon", "body": "See you soon.", "format": "text"}
    await api.ok("POST", "/v1/templates/reminder/email/versions", {"semver": "1.0.0", "locales": {"en": words}})
    await api.ok("POST", "/v1/templates/reminder/email/versions/1.0.0/publish")


async def plan(api: Any) -> None:
    """A booking of Jane's that starts in ten days."""
    await api.ok("PUT", "/v1/recipients/jane-7", {"email": "jane@example.com"})
    data = {"guest": "jane-7", "start": (datetime.now(UTC) + timedelta(days=10)).isoformat(), "booking": "b-7"}
    event = {"id": "e-1", "type": "booking.created", "occurred_at": datetime.now(UTC).isoformat(), "data": data}
    await api.ok("POST", "/v1/events", event)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_trigger_s_life_in_the_browser(sign_in: Any, site: Any, violations: Any, scheme: str) -> None:
    await publish_reminder(site.api)
    page = await sign_in(scheme=scheme, width=1280 if scheme == "light" else 360)
    await page.goto(f"{site.url}/triggers")
    await page.get_by_text("Nothing is started by events").wait_for()
    assert await violations(page) == []
    await page.goto(f"{site.url}/triggers/new")
    await page.get_by_label("Event type").fill("booking.created")
    await page.get_by_label("Template").fill("missing")
    await page.get_by_label("Recipient").fill("$.data.guest")
    await page.get_by_label("Anchor").fill("$.data.start")
    await page.get_by_label("Offset").fill("-2d")
    await page.get_by_label("Subject key").fill("$.data.booking")
    await page.get_by_role("button", name="Make the trigger").click()
    await page.get_by_text("There is no published template").wait_for()
    assert await violations(page) == []
    await page.get_by_label("Template").fill("reminder")
    await page.get_by_role("button", name="Make the trigger").click()
    await page.get_by_text("Sends reminder by email to $.data.guest, 2d before $.data.start.").wait_for()
    await page.get_by_text("It has planned nothing").wait_for()
    await plan(site.api)
    await page.reload()
    await page.get_by_text("jane-7" if scheme == "light" else "b-7").first.wait_for()
    assert await violations(page) == []
    await page.goto(f"{site.url}/triggers/timers?subject_key=b-7")
    assert await violations(page) == []
    await page.get_by_text("Drop", exact=True).click()
    await page.get_by_role("button", name="Drop it").click()
    await page.get_by_text("someone dropped it").wait_for()
    await page.goto(f"{site.url}/triggers")
    await page.get_by_role("link", name="booking.created").click()
    await page.get_by_text("Disable", exact=True).click()
    await page.get_by_role("button", name="Disable it").click()
    await page.get_by_role("button", name="Enable it").click()
    await page.get_by_text("Remove", exact=True).click()
    await page.get_by_role("button", name="Remove it").click()
    await page.get_by_text("Nothing is started by events").wait_for()


async def test_a_reader_of_triggers_is_offered_no_change(sign_in: Any, site: Any, acme: Any) -> None:
    made = await acme.ok("POST", "/v1/triggers", {"event_type": "booking.cancelled", "cancels": "$.data.booking"})
    reader = await acme.with_scopes("acme", Permission.TRIGGERS_READ)
    page = await sign_in(reader.key)
    await page.goto(f"{site.url}/triggers")
    await page.get_by_text("Drops the timers of $.data.booking.").wait_for()
    assert await page.get_by_role("link", name="New trigger").count() == 0
    await page.goto(f"{site.url}/triggers/{made['id']}")
    assert await page.get_by_text("Disable", exact=True).count() == 0
    answer = await page.goto(f"{site.url}/triggers/new")
    assert answer.status == 403


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (TriggerSpec(event_type="a", template="t", recipient="primary"), "Sends t by email to the event's recipient."),
        (
            TriggerSpec(event_type="a", template="t", recipient="tag:vip", channels=("inapp", "sms"), routing="first"),
            "Sends t by inapp or sms to everyone with the tag vip.",
        ),
        (
            TriggerSpec(
                event_type="a", template="t", recipient="tenant_admins", channels=("inapp", "email"),
                routing="until_seen", after="10m", offset="1h",
            ),
            "Sends t by inapp, then email until it is seen to your admins, 1h after it happened.",
        ),
        (
            TriggerSpec(event_type="a", template="t", recipient="$.data.x", anchor="$.data.day", at="09:00"),
            "Sends t by email to $.data.x, on the day of $.data.day, at 09:00.",
        ),
    ],
)  # fmt: skip
def test_what_a_trigger_does_is_said_in_plain_words(spec: TriggerSpec, said: str) -> None:
    assert deeds(spec) == [said]


def test_everything_a_trigger_does_is_said() -> None:
    spec = TriggerSpec(
        event_type="a",
        template="t",
        recipient="primary",
        digest=DigestSpec(window="10m", key="$.data.post"),
        throttle=ThrottleSpec(max=1, per="1h"),
        reschedules="$.data.b",
    )
    assert deeds(spec)[1:] == [
        "Collects for 10m per person and $.data.post, and sends one message.",
        "At most 1 in 1h per person.",
        "Moves the timers of $.data.b.",
    ]
