"""A render process sees nothing but what it is given, and can reach nothing."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from waypost.adapters.render.pool import RenderPool
from waypost.templates.model import Content, JsonObject
from waypost.templates.ports import RenderedParts, RenderFailure, RenderJob

Make = Callable[..., RenderJob]


def child_of_this_process() -> int:
    (child,) = (
        process.pid
        for process in psutil.process_iter(["ppid", "cmdline"])
        if process.info["ppid"] == os.getpid() and "waypost.adapters.render.child" in (process.info["cmdline"] or ())
    )
    return child


async def test_no_secret_file_or_right_is_inherited(
    pool: RenderPool, job: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WAYPOST_MASTER_KEY", "a-secret")
    with (tmp_path / "open").open("w"):
        await pool.render([job("x")])
        child = Path(f"/proc/{child_of_this_process()}")
        environment = (child / "environ").read_bytes()
        names = {entry.split(b"=")[0] for entry in environment.split(b"\0") if entry}
        assert {name for name in names if not name.startswith(b"MALLOC_")} <= {b"PYTHONPATH", b"LC_ALL", b"LC_CTYPE"}
        opened = {int(entry.name): str(entry.readlink()) for entry in (child / "fd").iterdir()}
        own = {"/dev/null", f"{child}/statm"}
        assert all(t in own or t.startswith("socket:") or "(deleted)" in t for t in opened.values()), opened
        limits = {line[:26].strip(): line[26:47].strip() for line in (child / "limits").read_text().splitlines()}
    assert opened.keys() >= set(range(int(limits["Max open files"]))), "a free descriptor could be a file or a socket"
    assert limits["Max core file size"] == "0"
    assert limits["Max file size"] == "0"
    assert limits["Max processes"] == "0"
    assert int(limits["Max address space"]) <= 512 * 1024 * 1024


async def test_a_child_is_small(pool: RenderPool, job: Make) -> None:
    await pool.render([job("<p>{{ x }}</p>", x=1)])
    assert psutil.Process(child_of_this_process()).memory_info().rss < 40 * 1024 * 1024


async def test_a_child_leaves_when_its_parent_dies() -> None:
    script = (
        "import asyncio, os, uuid\n"
        "from waypost.adapters.render.pool import RenderPool\n"
        "from waypost.kernel.clock import SystemClock\n"
        "from waypost.templates.model import Content\n"
        "async def main():\n"
        "    pool = RenderPool(clock=SystemClock())\n"
        "    await pool.check('t', Content(subject='s', text='t'))\n"
        "    print(pool._main._idle[0].pid, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    path = os.pathsep.join(sys.path)
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}
    )
    output, _ = await parent.communicate()
    gone, _ = psutil.wait_procs([psutil.Process(int(output))] if psutil.pid_exists(int(output)) else [], timeout=60)
    assert gone or not psutil.pid_exists(int(output))


@pytest.fixture
async def canary() -> object:
    """A server on loopback that counts who calls."""
    calls: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        calls.append(await reader.read(100))
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], calls


async def test_no_reference_is_followed(canary: tuple[int, list[bytes]], pool: RenderPool, tmp_path: Path) -> None:
    port, calls = canary
    trap = tmp_path / "trap.json"
    trap.write_text('{"const": "the content of a local file"}')
    before = trap.stat().st_atime_ns
    for target in (f"http://127.0.0.1:{port}/schema", trap.as_uri(), "trap.json", "//127.0.0.1/x"):
        for schema in ({"$ref": target}, {"properties": {"a": {"$ref": target}}}, {"$schema": target}):
            faults = await pool.check_schema(schema)  # type: ignore[arg-type]
            assert faults
            assert "local file" not in str(faults)
            # Even where such a schema got into the store some other way.
            assert await _fails_or_finds_fault(pool, schema)  # type: ignore[arg-type]
    assert calls == []
    assert trap.stat().st_atime_ns == before


async def _fails_or_finds_fault(pool: RenderPool, schema: JsonObject) -> bool:
    return len(await pool.validate(schema, {"a": "x"})) > 0


@pytest.mark.parametrize("name", ["html", "subject", "acme", "/etc/passwd", "../secret", "layout.html"])
@pytest.mark.parametrize("word", ["include", "extends", "import"])
async def test_no_template_reaches_another(name: str, word: str, pool: RenderPool, job: Make) -> None:
    await pool.render([job("<p>private of acme</p>", subject="private", tenant="acme")])
    tail = " as x" if word == "import" else ""
    content = f"{{% {word} '{name}'{tail} %}}"
    assert (await pool.check("rival", Content(subject="s", html=content))).errors
    # Hidden from the scan that gives the good message; nothing is found all the same.
    hidden = "{% set a = '%}{#' %}" + content.replace("'", '"') + "{# #}"
    for source in (content, hidden.replace(f'"{name}"', "where")):
        (answer,) = await pool.render([job(source, tenant="rival", where=name)])
        assert isinstance(answer, RenderFailure) or "private" not in f"{answer.html}{answer.text}"


async def test_equal_ids_of_two_tenants_are_two_contents(pool: RenderPool, job: Make) -> None:
    version = uuid4()
    answers = await pool.render([job("A", tenant="a", version=version), job("B", tenant="b", version=version)])
    assert [a.html for a in answers if isinstance(a, RenderedParts)] == ["A", "B"]


async def test_the_context_and_the_engine_are_not_shown(pool: RenderPool, job: Make) -> None:
    for source in ("{{ debug() }}", "{{ namespace() }}", "{{ [1]|pprint }}", "{{ x.__class__ }}", "{{ self }}"):
        (answer,) = await pool.render([job(source, x="jane@example.com")])
        assert isinstance(answer, RenderFailure), source
