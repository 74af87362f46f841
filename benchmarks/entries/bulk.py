"""`POST /v1/notifications/bulk` of 10,000 to a real API process, beside a bare COPY of the rows that it leaves."""

import time

import msgspec

from benchmarks.bare_rows import BareRows
from benchmarks.entries.submit import until_ready
from benchmarks.http_load import callers
from benchmarks.installation import Installation, installed, moment_after
from benchmarks.processes import cpu_of_tree
from benchmarks.results import Findings, Spread, Step, compared
from benchmarks.sample import address_of, attributes_of
from benchmarks.sinks import free_port

_CONTENT = {"subject": "Order {{ open_orders }}", "text": "Hello {{ first_name }}, {{ points }} points in {{ city }}."}

# Every table that a bulk adds to.
_TABLES = ("notifications", "queue", "notification_dedupe", "idempotency_keys", "requests")


async def measure(*, quick: bool) -> Findings:
    items, rounds = (200, 1) if quick else (10_000, 9)
    port = free_port()
    ours: list[float] = []
    theirs: list[float] = []
    costs: list[float] = []
    async with installed() as house:
        bare = BareRows(house.admin, _TABLES)
        await bare.make()
        with house.process("waypost.api", port=port, metrics_port=free_port(), live_port=free_port()) as api:
            await until_ready(port)
            await _send(house, port, items, "people")
            for number in range(rounds):
                await house.come_to_rest()
                since = moment_after(0)
                before = cpu_of_tree(api.pid) + house.database_cpu()
                ours.append(items / await _send(house, port, items, f"round-{number}"))
                costs.append((cpu_of_tree(api.pid) + house.database_cpu() - before) / items * 1e6)
                theirs.append(items / await bare.copy(since))
                await bare.empty()
    entry = compared(
        name="bulk",
        what=f"POST /v1/notifications/bulk of {items:,}, to people who are known",
        unit="messages/s",
        ours=ours,
        reference="COPY of all rows it leaves (notification, queue, dedupe, idempotency key) into bare, indexed tables",
        theirs=theirs,
        goal="≥ 0.2",
        at_least=0.2,
    )
    steps = [Step("API, its render process and PostgreSQL", Spread.of(costs).middle)]
    return Findings([entry], {"Bulk, CPU per message": steps})


async def _send(house: Installation, port: int, items: int, name: str) -> float:
    tomorrow = moment_after(86_400).isoformat()
    body = msgspec.json.encode(
        [
            {
                "idempotency_key": f"{name}-{number}",
                "to": {"id": f"bulk-{number}", "email": address_of(number), "attributes": attributes_of(number)},
                "content": _CONTENT,
                "send_at": tomorrow,
            }
            for number in range(items)
        ]
    )
    head = (
        f"POST /v1/notifications/bulk HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {house.key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    async with callers(port, 1) as (caller,):
        begun = time.perf_counter()
        status = await caller.ask(head.encode() + body)
        took = time.perf_counter() - begun
    assert status == 202, status
    return took
