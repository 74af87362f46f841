"""A child loads a large library only when some content needs it, and can reach nothing more for having it."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from waypost.adapters.render.pool import RenderPool
from waypost.adapters.render.resources import locale_resource, read_resource, zone_resource
from waypost.templates.model import Content, Format, LocaleSource, Profile
from waypost.templates.ports import RenderedParts, RenderJob

Make = Callable[..., RenderJob]


def children() -> list[psutil.Process]:
    return [process for process in psutil.Process().children() if _renders(process)]


def _renders(process: psutil.Process) -> bool:
    # Another test's child that has ended and is not buried yet has no command line.
    with suppress(psutil.ZombieProcess, psutil.NoSuchProcess):
        return "waypost.adapters.render.child" in process.cmdline()
    return False


def spoken(source: str, profile: Profile = Profile.JINJA, locale: str = "de-AT", **context: object) -> RenderJob:
    return RenderJob(
        tenant_id="acme",
        version_id=uuid4(),
        content=Content(subject="s", text=source, profile=profile),
        context=context,  # type: ignore[arg-type]
        locale=locale,
        timezone="Europe/Vienna",
    )


async def test_a_plain_child_is_replaced_once_by_one_that_can_speak(pool: RenderPool, job: Make) -> None:
    await pool.render([job("<p>x</p>")])
    (plain,) = children()
    jobs = [
        job("<p>{{ n }}</p>", n=1),
        spoken("{{ n|money('EUR') }}", n=5),
        spoken("{{ n | money: 'EUR' }}", Profile.LIQUID, n=6),
    ]
    first, second, third = await pool.render(jobs)
    assert isinstance(first, RenderedParts)
    assert isinstance(second, RenderedParts)
    assert isinstance(third, RenderedParts)
    assert [first.html, second.text, third.text] == ["<p>1</p>", "€\xa05,00", "€\xa06,00"]
    (equipped,) = children()
    assert equipped.pid != plain.pid
    await pool.render(jobs)
    assert [child.pid for child in children()] == [equipped.pid]


async def test_languages_and_zones_come_through_the_pipe(pool: RenderPool) -> None:
    """A child can open no file; what it needs to know about a language is handed to it."""
    locales = ["de-AT", "ja", "ar-EG", "zh-TW", "pt-BR", "xx", "hi", "sr-Latn", "en-AU", "fa"]
    jobs = [spoken("{{ d|datetime('full') }}", locale=locale, d="2026-11-15T23:30:00Z") for locale in locales]
    answers = await pool.render(jobs)
    texts = [answer.text for answer in answers if isinstance(answer, RenderedParts)]
    assert len(set(texts)) == len(locales)
    assert "Montag, 16. November 2026" in texts[0]
    assert "Monday, November 16, 2026" in texts[5]


async def test_a_hundred_languages_in_one_batch_fit(pool: RenderPool) -> None:
    locales = "af am ar az be bg bn bs ca cs cy da de el en es et eu fa fi fil fr ga gl gu he hi hr hu hy id is it ja ka kk km kn ko ky lo lt lv mk ml mn mr ms my nb ne nl or pa pl ps pt ro ru sd si sk sl so sq sr sv sw ta te th tk tr uk ur uz vi yue zh zu".split()  # fmt: skip # noqa: E501, SIM905
    jobs = [
        spoken("{{ d|date('full') }} {{ 3|plural('a', 'b') }}", locale=locale, d="2026-11-15") for locale in locales
    ]
    answers = await pool.render(jobs)
    assert all(isinstance(answer, RenderedParts) for answer in answers)
    assert sum(child.memory_info().rss for child in children()) < 150 * 1024 * 1024


@pytest.mark.parametrize(
    "name",
    [
        "locale:../../../etc/passwd", "zone:../../../../../etc/passwd", "zone:/etc/passwd", "locale:de.dat", "locale:",
        "zone:", "file:/etc/passwd", "equipment:x", "zone:Europe", "zone:a/b/c/d", "locale:de\0",
        "zone:Europe/Vienna\n",
    ],
)  # fmt: skip
def test_no_other_file_has_a_name(name: str) -> None:
    assert read_resource(name) is None


def test_what_has_a_name_is_found() -> None:
    assert (read_resource(zone_resource("Europe/Vienna")) or b"").startswith(b"TZif")
    assert read_resource(locale_resource("de_AT"))


async def test_the_press_leaves_after_a_while_and_is_as_walled_in(pool: RenderPool) -> None:
    report = await pool.compile("acme", LocaleSource(subject="s", body="*hi*", format=Format.MARKDOWN))
    assert report.content is not None
    (press,) = children()
    child = Path(f"/proc/{press.pid}")
    limits = {line[:26].strip(): line[26:47].strip() for line in (child / "limits").read_text().splitlines()}
    opened = {int(entry.name) for entry in (child / "fd").iterdir()}
    assert opened >= set(range(int(limits["Max open files"])))
    assert limits["Max processes"] == "0"
    assert int(limits["Max address space"]) <= 512 * 1024 * 1024
    assert press.memory_info().rss < 90 * 1024 * 1024


@pytest.fixture
async def canary() -> AsyncIterator[tuple[int, list[bytes]]]:
    calls: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        calls.append(await reader.read(100))
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], calls


async def test_nothing_that_is_compiled_reaches_out(
    canary: tuple[int, list[bytes]], pool: RenderPool, tmp_path: Path
) -> None:
    port, calls = canary
    trap = tmp_path / "trap.css"
    trap.write_text("p { color: hush }")
    os.utime(trap, (1, 2))
    before = trap.stat().st_atime_ns
    urls = [f"http://127.0.0.1:{port}/x.css", f"//127.0.0.1:{port}/x.css", trap.as_uri(), str(trap), "/dev/zero"]
    for url in urls:
        sources = {
            Format.HTML: f'<link rel="stylesheet" href="{url}"><style>@import "{url}"; p {{color: url({url})}}</style>'
            f'<p>x</p><img src="{url}"><base href="{url}">',
            Format.MJML: f'<mjml><mj-head><mj-font name="f" href="{url}" /><mj-style>@import "{url}";</mj-style>'
            f'</mj-head><mj-body><mj-section background-url="{url}"><mj-column><mj-image src="{url}" />'
            "</mj-column></mj-section>"
            "</mj-body></mjml>",
            Format.MARKDOWN: f'![x]({url}) [x]({url})\n\n<link rel="stylesheet" href="{url}">\n\n'
            f'<style>@import "{url}"</style>',
        }
        for form, body in sources.items():
            report = await pool.compile("acme", LocaleSource(subject="s", body=body, format=form))
            assert report.content is not None, report.errors
            assert "hush" not in (report.content.html or "")
        include = f'<mjml><mj-body><mj-include path="{url}" /></mj-body></mjml>'
        report = await pool.compile("acme", LocaleSource(subject="s", body=include, format=Format.MJML))
        assert [error.code for error in report.errors] == ["invalid_mjml"]
    assert calls == []
    assert trap.stat().st_atime_ns == before
