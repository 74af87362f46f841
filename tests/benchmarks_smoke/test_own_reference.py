"""Where Postfix's tools are missing, our own sender and sink stand in: they must speak SMTP as others do."""

import smtplib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def sink() -> Iterator[int]:
    code = (
        "import asyncio, benchmarks.plain_sink as sink\n"
        "async def main():\n"
        "    server = await asyncio.get_running_loop().create_server(sink.Taker, '127.0.0.1', 0)\n"
        "    print(server.sockets[0].getsockname()[1], flush=True)\n"
        "    await server.serve_forever()\n"
        "asyncio.run(main())"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield int(process.stdout.readline())
    process.stdout.close()
    process.terminate()
    process.wait()


def test_the_own_sender_fills_the_own_sink(sink: int) -> None:
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.plain_source", str(sink), "200", "6000"], cwd=ROOT, timeout=60
    )
    assert done.returncode == 0
    assert time.perf_counter() - begun < 60


def test_the_own_sink_is_a_mail_server_to_others(sink: int) -> None:
    with smtplib.SMTP("127.0.0.1", sink) as client:
        for size in (10, 100_000):
            assert client.sendmail("a@example.com", ["b@example.com"], b"Subject: x\r\n\r\n" + b"x\r\n" * size) == {}
