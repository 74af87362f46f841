"""Unfolding a dispatch batch into notifications and queue, beside INSERT … SELECT of the same rows with no logic."""

import time
from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

import httpx

from benchmarks.bare_rows import BareRows
from benchmarks.installation import TENANT, Installation, installed, moment_after
from benchmarks.results import Findings, compared
from waypost.adapters.postgres.batches import PgBatches
from waypost.adapters.postgres.delivery import PgDelivery
from waypost.adapters.postgres.tenants import PgKeyring
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import open_master_key
from waypost.api.app import create_app
from waypost.campaigns.batches import Batches
from waypost.campaigns.expand import Expansion
from waypost.campaigns.model import Audience, BatchMessage

_WORDS = {"locales": {"en": {"subject": "News for {{ first_name }}", "body": "<p>You have {{ points }} points.</p>"}}}


class _Board:
    """What the worker's definer function tells, for one tenant."""

    def __init__(self, house: Installation) -> None:
        self._house = house

    async def due(self, at_most: int) -> Sequence[tuple[str, UUID]]:
        query = "select id from waypost.dispatch_batches where next_step_at <= now() limit $1"
        return [(TENANT, row["id"]) for row in await self._house.admin.fetch(query, at_most)]


async def measure(*, quick: bool) -> Findings:
    people, rounds = (200, 1) if quick else (10_000, 9)
    ours: list[float] = []
    theirs: list[float] = []
    async with installed() as house:
        await house.accept(0, people, send_at=moment_after(86_400))
        await _publish(house)
        bare = BareRows(house.admin, ("notifications", "queue", "notification_dedupe"))
        await bare.make()
        batches, expansion = _joined(house)
        scope = await house.scope()
        for _ in range(rounds):
            await house.come_to_rest()
            since = moment_after(0)
            async with house.app.work.begin(TENANT) as tx:
                made = await batches.create(tx, scope, Audience(), BatchMessage(template="news"))
                await batches.schedule(tx, scope, made.id)
            begun = time.perf_counter()
            await expansion.work_off()
            ours.append(people / (time.perf_counter() - begun))
            theirs.append(people / await bare.insert(since))
            await bare.empty()
    entry = compared(
        name="expand",
        what=f"a dispatch batch to {people:,} recipients into notifications and queue, in one process",
        unit="messages/s",
        ours=ours,
        reference="INSERT … SELECT of the same rows into bare tables with their indexes",
        theirs=theirs,
        goal="≥ 0.5",
        at_least=0.5,
    )
    return Findings([entry])


async def _publish(house: Installation) -> None:
    client = httpx.AsyncClient(
        transport=httpx.ASGITransport(app=cast("Any", create_app(house.app))),
        base_url="http://bench",
        headers={"Authorization": f"Bearer {house.key}"},
    )
    async with client:
        for path, body in (
            ("/v1/templates", {"key": "news", "name": "News", "category": "operational"}),
            ("/v1/templates/news/email/versions", _WORDS),
            ("/v1/templates/news/email/versions/1.0.0/publish", None),
        ):
            (await client.post(path, json=body)).raise_for_status()


def _joined(house: Installation) -> tuple[Batches, Expansion]:
    app = house.app
    keyring = PgKeyring(LocalVault(open_master_key(house.settings.master_key_path, create=False)))
    store = PgBatches(app.clock)
    delivery = PgDelivery(clock=app.clock, ring=lambda: None)
    batches = Batches(store=store, delivery=delivery, keyring=keyring, clock=app.clock)
    expansion = Expansion(
        work=app.work,
        board=_Board(house),
        store=store,
        batches=batches,
        submit=app.notifications.submit,
        fan_out=app.notifications.fan_out,
        keyring=keyring,
        clock=app.clock,
    )
    return batches, expansion
