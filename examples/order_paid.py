"""A shop's backend: publish a template once, then tell a customer that an order is paid, and wait for the end of it.

Start a server with `make up`, take its address and key into the shell (`set -a; . .waypost/dev.env; set +a`), then run
`.venv/bin/python examples/order_paid.py`.
"""

import asyncio
import os

from waypost.client import ApiError, Client, Message

KEY = "shop-order-paid"
LIVE = {"scheduled", "queued", "dispatching"}


async def publish_template(waypost: Client) -> None:
    try:
        await waypost.templates.create(KEY, name="Order paid", category="transactional")
    except ApiError as refusal:
        if refusal.status != 409:
            raise
        return
    version = await waypost.templates.add_version(
        KEY,
        {
            "en": {
                "subject": "Order {{ order }} is paid",
                "body": "<p>Thanks, {{ first_name }}.</p>"
                "<ul>{% for item in items %}<li>{{ item }}</li>{% endfor %}</ul>",
            },
        },
        variables_schema={
            "type": "object",
            "required": ["order", "items"],
            "properties": {
                "order": {"type": "integer"},
                "items": {"type": "array", "items": {"type": "string"}},
            },
        },
    )
    await waypost.templates.publish(KEY, version.semver)


async def tell_customer(waypost: Client, order: int) -> str:
    accepted = await waypost.notifications.send(
        Message(
            to={"id": "customer-9", "email": "grace@example.com", "attributes": {"first_name": "Grace"}},
            template=KEY,
            variables={"order": order, "items": ["Compiler", "Nanosecond of wire"]},
            metadata={"order": order},
        ),
        idempotency_key=f"order-{order}-paid",
    )
    return accepted.notifications[0].id


async def main() -> None:
    async with Client(os.environ["WAYPOST_URL"], os.environ["WAYPOST_API_KEY"]) as waypost:
        await publish_template(waypost)
        notification_id = await tell_customer(waypost, order=1001)
        while (await waypost.notifications.get(notification_id)).status in LIVE:
            await asyncio.sleep(0.1)
        for step in await waypost.notifications.timeline(notification_id):
            print(step.at.isoformat(timespec="milliseconds"), step.event, step.reason or "")


if __name__ == "__main__":
    asyncio.run(main())
