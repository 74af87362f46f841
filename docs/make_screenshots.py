"""Takes the pictures in docs/images: `python docs/make_screenshots.py`. They show the console as it is, over a server
of their own that sends a shop's mail; only the past hour before the start is made up, with a fixed seed."""

import asyncio
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import asyncpg
from consent_pictures import take_consent
from inbox_pictures import take_inbox
from playwright.async_api import Browser, Page, async_playwright

from waypost.adapters.vault.masterkey import open_master_key
from waypost.bootstrap.database import dba_url
from waypost.cli import dev_env
from waypost.client import Client, Event, Message
from waypost.kernel.ids import id_at
from waypost.settings import Settings

IMAGES: Final = Path(__file__).parent / "images"
_WAYPOST: Final = str(Path(sys.executable).with_name("waypost"))
_PEOPLE: Final = [
    ("ada-lovelace", "ada@example.com", "Ada"),
    ("grace-h", "grace@example.org", "Grace"),
    ("katherine", "katherine@example.net", "Katherine"),
    ("user-2041", "linus@example.com", "Linus"),
    ("user-2042", "margaret@example.com", "Margaret"),
    ("user-2043", "radia@example.org", "Radia"),
    ("user-2044", "barbara@example.com", "Barbara"),
    ("user-2045", "edsger@example.nl", "Edsger"),
]
_RECEIPT: Final = """\
<div style="font-family:Georgia,serif;max-width:460px;margin:24px auto;color:#222">
<p style="letter-spacing:.12em;font-size:12px;color:#8a6d3b">NORTHWIND TEA</p>
<h1 style="font-weight:normal;font-size:26px;margin:0 0 12px">Thank you, {{ first_name }}.</h1>
<p>Your order <b>{{ order }}</b> is packed and leaves the warehouse this afternoon.</p>
<table style="width:100%;border-collapse:collapse;margin:18px 0">
<tr><td style="padding:8px 0;border-bottom:1px solid #eee">Assam, 250 g</td><td align="right">€ 14.50</td></tr>
<tr><td style="padding:8px 0;border-bottom:1px solid #eee">Gyokuro, 50 g</td><td align="right">€ 19.00</td></tr>
<tr><td style="padding:8px 0"><b>Together</b></td><td align="right"><b>€ 33.50</b></td></tr></table>
<p><a href="https://example.com/orders" style="background:#2f5d50;color:#fff;padding:10px 18px;text-decoration:none">
Follow the parcel</a></p></div>"""


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="wps-") as folder:
        data_dir = Path(folder) / "data"
        process = subprocess.Popen(  # noqa: S603 - our own program
            [_WAYPOST, "up", "--port", "0", "--data-dir", str(data_dir)],
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        try:
            if not any("Ctrl-C stops everything" in line for line in process.stdout or ()):
                raise SystemExit("waypost up did not come up.")
            asyncio.run(fill_and_take(dev_env.read(data_dir), data_dir))
        finally:
            process.terminate()
            process.wait(60)


async def fill_and_take(environment: Mapping[str, str], data_dir: Path) -> None:
    url, key = environment["WAYPOST_URL"], environment["WAYPOST_API_KEY"]
    await take_pictures(url, key, await fill(url, key, data_dir))


async def fill(url: str, key: str, data_dir: Path) -> str:
    """A shop's mail, sent for real, and an hour of history. Answers the message to show."""
    async with Client(url, key) as client:
        for name, title, category, subject, html in (
            ("order-packed", "Order packed", "transactional", "Your order {{ order }} is on its way", _RECEIPT),
            (
                "spring-tasting",
                "Spring tasting",
                "marketing",
                "A cup on us, {{ first_name }}",
                '<p>Come and taste. <a href="{{ unsubscribe_url }}">No more of these</a></p>',
            ),
            ("sign-in-code", "Sign-in code", "security", "Your code", "<p>Your code is 314159.</p>"),
        ):
            await client.templates.create(name, name=title, category=category)
            locales = {"en": {"subject": subject, "body": html}}
            sample = {"example": {"first_name": "Ada", "order": "A-1042", "code": "482 913"}}
            made = await client.templates.add_version(name, locales, samples=sample)
            await client.templates.publish(name, made.semver)
        await client.suppressions.add(channel="email", address="edsger@example.nl", reason="complaint")
        chance = random.Random(7)  # noqa: S311 - for variety, not for secrets
        last = ""
        for number in range(26):
            who, address, first_name = _PEOPLE[number % len(_PEOPLE)]
            sent = await client.notifications.send(
                Message(
                    to={
                        "id": who,
                        "email": address,
                        "locale": "en-GB",
                        "attributes": {"first_name": first_name, "plan": "gold"},
                    },
                    template=chance.choice(["order-packed", "spring-tasting", "sign-in-code", "order-packed"]),
                    variables={"order": f"NT-{4100 + number}"},
                )
            )
            last = sent.notifications[0].id
        later = datetime.now(UTC) + timedelta(hours=3)
        await client.notifications.send(Message(to="grace-h", template="spring-tasting", send_at=later))
        shown = await client.notifications.send(
            Message(
                to="ada-lovelace",
                template="order-packed",
                variables={"order": "NT-4126"},
                metadata={"order_id": 4126, "warehouse": "north"},
            )
        )
        last = shown.notifications[0].id
        for _ in range(600):
            if (await client.notifications.get(last)).status == "dispatched":
                break
            await asyncio.sleep(0.05)
    await make_history(data_dir)
    return last


async def make_history(data_dir: Path) -> None:
    settings = Settings(data_dir=data_dir)
    master = open_master_key(settings.master_key_path, create=False)
    status = json.loads((data_dir / "up.json").read_text())
    connection = await asyncpg.connect(
        dba_url(settings, master, status["database_host"]), server_settings={"search_path": "waypost"}
    )
    chance = random.Random(11)  # noqa: S311 - for variety, not for secrets
    now = datetime.now(UTC)
    model = await connection.fetchrow(
        "select * from notifications where status < 7 and category = 1 order by id desc limit 1"
    )
    for minute in range(2, 60):
        wave = 9 + 7 * ((minute // 6) % 3) + (34 if 21 <= minute <= 24 else 0)
        for _ in range(chance.randint(wave // 2, wave)):
            at = now - timedelta(minutes=minute, seconds=chance.uniform(0, 50))
            await add_past(connection, model, at, chance, crowded=21 <= minute <= 24)
    await connection.execute("analyze")
    await connection.close()


async def add_past(
    connection: asyncpg.Connection, model: asyncpg.Record, at: datetime, chance: random.Random, *, crowded: bool
) -> None:
    made = id_at(at, chance.randbytes(10))
    fate = chance.random()
    status, reason = (8, "suppressed") if fate < 0.05 else (7, "address_unknown") if fate < 0.08 else (2, None)
    row = dict(model) | {"id": made, "status": status, "reason": reason, "send_at": at}
    names = ", ".join(row)
    places = ", ".join(f"${number + 1}" for number in range(len(row)))
    await connection.execute(f"insert into notifications ({names}) values ({places})", *row.values())  # noqa: S608
    if status != 8:
        wait = chance.uniform(0.01, 0.06) * (30 if crowded else 1)
        await connection.execute(
            "insert into attempts (tenant_id, notification_id, retention, n, worker_id, started_at, latency_ms, "
            "outcome, code, reason) values ($1, $2, $3, 1, $2, $4, $5, $6, $7, $8)",
            model["tenant_id"],
            made,
            model["retention"],
            at + timedelta(seconds=wait),
            chance.randint(4, 40),
            3 if status == 7 else 1,
            550 if status == 7 else 250,
            reason,
        )


async def take_pictures(url: str, key: str, message: str) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            page = await signed_in(browser, url, key, scheme, 1280, 860)
            await picture(page, f"{url}/", f"overview-{scheme}")
            await picture(page, f"{url}/messages", f"messages-{scheme}")
            await picture(page, f"{url}/messages/{message}", f"message-{scheme}", full=True)
            await page.context.close()
        page = await signed_in(browser, url, key, "light", 1280, 860)
        await picture(page, f"{url}/recipients/ada-lovelace", "recipient")
        await picture(page, f"{url}/templates/order-packed/email", "template")
        await picture(page, f"{url}/templates/order-packed/email/edit", "template-edit")
        await take_triggers(page, url, key)
        await take_consent(browser, page, url, key, IMAGES)
        await page.context.close()
        page = await signed_in(browser, url, key, "dark", 390, 844)
        await picture(page, f"{url}/messages", "messages-phone")
        await take_inbox(browser, url, key, IMAGES)
        page = await signed_in(browser, url, key, "light", 1280, 860)
        await picture(page, f"{url}/inboxes/main", "console-inbox", full=True)
        await browser.close()


async def take_triggers(page: Page, url: str, key: str) -> None:
    """Bookings of tastings, and the reminders that move with them."""
    now = datetime.now(UTC)
    async with Client(url, key) as client:
        make = client.triggers.create
        await make(
            event_type="booking.created",
            template="order-packed",
            recipient="$.data.guest",
            anchor="$.data.start",
            offset="-2d",
            subject_key="$.data.booking_id",
        )
        await make(event_type="booking.changed", reschedules="$.data.booking_id")
        await make(event_type="booking.cancelled", cancels="$.data.booking_id")
        for number, (who, _, _) in enumerate(_PEOPLE[:5]):
            start = (now + timedelta(days=4 + 3 * number)).isoformat()
            data = {"guest": who, "start": start, "booking_id": f"tasting-{210 + number}", "order": "NT"}
            await client.events.send(Event(id=f"b-{number}", type="booking.created", occurred_at=now, data=data))
        moved = {"booking_id": "tasting-212", "start": (now + timedelta(days=30)).isoformat()}
        await client.events.send(Event(id="m-1", type="booking.changed", occurred_at=now, data=moved))
        gone = {"booking_id": "tasting-211"}
        await client.events.send(Event(id="c-1", type="booking.cancelled", occurred_at=now, data=gone))
    await picture(page, f"{url}/triggers", "triggers")
    await picture(page, f"{url}/triggers/timers", "timers")


async def signed_in(browser: Browser, url: str, key: str, scheme: str, width: int, height: int) -> Page:
    context = await browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if scheme == "dark" else "light"
    )
    page = await context.new_page()
    await page.goto(f"{url}/sign-in")
    if width > 1000:
        await page.screenshot(path=IMAGES / f"sign-in-{scheme}.png")
    await page.get_by_label("API key").fill(key)
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url(f"{url}/")
    return page


async def picture(page: Page, address: str, name: str, *, full: bool = False) -> None:
    await page.goto(address)
    await page.wait_for_load_state("networkidle")
    await page.screenshot(path=IMAGES / f"{name}.png", full_page=full)


if __name__ == "__main__":
    began = time.monotonic()
    main()
    sys.stdout.write(
        f"Taken in {time.monotonic() - began:.0f} s: {', '.join(sorted(p.name for p in IMAGES.glob('*.png')))}\n"
    )
