"""`waypost relay` as a process: starts on a ready database, tells a real broker, and ends when it is told to."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import redis.asyncio as redis


async def eventually(look: Any, seconds: float = 60) -> Any:
    async with asyncio.timeout(seconds):
        while not (found := await look()):  # noqa: ASYNC110 — another process works meanwhile
            await asyncio.sleep(0.1)
    return found


async def test_a_relay_alone_tells_a_broker(
    acme: Any, database: Any, admin: Any, redis_server: str, tmp_path: Path
) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
    environment = {
        **clean,
        "WAYPOST_DATA_DIR": str(tmp_path),
        "WAYPOST_DATABASE_WORKER_URL": database.worker,
        "WAYPOST_PUBLISH": f"{redis_server}?stream=told",
        "WAYPOST_WORKER_METRICS_PORT": "0",
    }
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "waypost.workers.relay", env=environment)
    client = redis.from_url(redis_server)
    try:
        await eventually(lambda: admin.fetchval("select count(*) from publishers"))
        made = await acme.ok("POST", "/v1/suppressions", {"address": "noreply@example.com"})
        entries = await eventually(lambda: client.xrange("told"))
        event = json.loads(entries[0][1][b"event"])
        assert (event["type"], event["subject"], event["tenantid"]) == ("suppression.added", made["id"], "acme")
        assert event["data"]["reason"] == "manual"
        assert "noreply" not in json.dumps(event)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 60) == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        await client.aclose()
