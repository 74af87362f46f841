"""A folder of templates against the API: pulling and pushing changes nothing, what differs becomes drafts."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from waypost.api.app import create_app
from waypost.cli.template_folder import Entry, entry_of, read_folder, write_entry
from waypost.cli.template_sync import differences, look, push
from waypost.cli.template_sync import pull as pull_one
from waypost.client import Client
from waypost.kernel.errors import Refused

ODD = "<p>Grüße,\r\n\t“{{ name }}” \\ \x7f</p>\n\n"


@pytest.fixture
async def client(acme: Any) -> AsyncIterator[Client]:
    transport = httpx.ASGITransport(create_app(acme.app), raise_app_exceptions=False)
    async with Client("http://waypost", acme.key, transport=transport) as made:
        yield made


async def publish(client: Client) -> None:
    await client.templates.create("welcome", category="transactional", name='Say "hello" \\ to you')
    await client.templates.add_version(
        "welcome",
        {
            "en": {"subject": 'Hi "{{ name }}"', "body": ODD, "text": "Hi\n", "preheader": "So\\ good"},
            "ar": {"subject": "مرحبا", "body": "# {{ name }}", "format": "markdown"},
            "de-AT": {"subject": "Servus", "body": "Servus", "format": "text"},
        },
        fallback_chain=["de-AT", "en"],
        variables_schema={"type": "object", "properties": {"name": {"type": "string"}}},
        samples={"ada": {"name": "Ada"}},
    )
    await client.templates.publish("welcome", "1.0.0")


async def pull(client: Client, folder: Path) -> bool:
    there = await look(client, "welcome", "email")
    assert there is not None
    assert there.active is not None
    return write_entry(folder, entry_of(there.template, there.active))


async def push_all(client: Client, folder: Path, **options: Any) -> list[tuple[str, str | None]]:
    given = {"owner": "tenant", "publish": False, "force": False} | options
    steps = [await push(client, entry, **given) for entry in read_folder(folder)]
    return [(step.action, step.version) for step in steps]


async def test_pulling_and_pushing_changes_nothing(client: Client, tmp_path: Path) -> None:
    await publish(client)
    assert await pull(client, tmp_path)
    names = sorted(path.name for path in (tmp_path / "welcome" / "email").iterdir())
    assert names == [
        "ar.md",
        "de-AT.txt",
        "en.html",
        "en.text.txt",
        "samples.json",
        "schema.json",
        "template.toml",
    ]
    assert (tmp_path / "welcome/email/en.html").read_bytes() == ODD.encode()
    assert not await pull(client, tmp_path), "a second pull touches nothing"
    [entry] = read_folder(tmp_path)
    assert differences(entry, await look(client, "welcome", "email")) == ""
    assert await push_all(client, tmp_path) == [("unchanged", "1.0.0")]
    assert await push_all(client, tmp_path, publish=True) == [("unchanged", "1.0.0")]
    assert len([one async for one in client.templates.versions("welcome")]) == 1


async def test_what_differs_becomes_a_draft_and_then_what_is_sent(client: Client, tmp_path: Path) -> None:
    await publish(client)
    await pull(client, tmp_path)
    place = tmp_path / "welcome" / "email"
    (place / "de-AT.txt").write_text("Grüß Gott")
    (place / "ar.md").unlink()
    toml = (place / "template.toml").read_text()
    (place / "template.toml").write_text(toml[: toml.index("[locales.ar]")] + toml[toml.index("[locales.de-AT]") :])
    [entry] = read_folder(tmp_path)
    patch = differences(entry, await look(client, "welcome", "email"))
    assert "-Servus\n+Grüß Gott\n" in patch
    assert "-مرحبا" in patch
    assert await push_all(client, tmp_path) == [("drafted", "1.1.0")]
    assert await push_all(client, tmp_path) == [("unchanged", "1.1.0")], "the draft says the same"
    assert await push_all(client, tmp_path, publish=True) == [("published", "1.1.0")]
    assert [one.state async for one in client.templates.versions("welcome")] == ["active", "archived"]
    assert await pull(client, tmp_path)


async def test_a_newer_draft_is_told_when_pulling_and_never_a_dead_end(client: Client, tmp_path: Path) -> None:
    await publish(client)
    await client.templates.create("empty", category="transactional")
    await client.templates.add_version("welcome", {"en": {"subject": "Next", "body": "Next words"}})

    async def pull_all(*, drafts: bool = False) -> dict[str, tuple[str, str | None, str | None]]:
        found = [one async for one in client.templates.list(owner="tenant")]
        steps = [await pull_one(client, tmp_path, each, owner="tenant", drafts=drafts) for each in found]
        return {step.key: (step.action, step.version, step.message) for step in steps}

    first = await pull_all()
    assert first["empty"] == ("unchanged", None, "has no versions")
    assert first["welcome"] == ("pulled", "1.0.0", "1.1.0 is a newer draft: --drafts pulls it")
    assert (await pull_all())["welcome"][0] == "unchanged", "a second pull touches nothing"
    [entry] = read_folder(tmp_path)
    assert differences(entry, await look(client, "welcome", "email")) == "", "as pushing it would change nothing"
    assert await push_all(client, tmp_path) == [("unchanged", "1.0.0")]
    (tmp_path / "welcome/email/en.html").write_text("Mine")
    [entry] = read_folder(tmp_path)
    assert "-Next" not in differences(entry, await look(client, "welcome", "email")), "told against where it began"
    step = await push(client, entry, owner="tenant", publish=False, force=False)
    assert (step.action, "pull --drafts first" in (step.message or "")) == ("conflict", True)
    assert (await pull_all(drafts=True))["welcome"] == ("pulled", "1.1.0", None)
    (tmp_path / "welcome/email/en.html").write_text("Mine")
    assert await push_all(client, tmp_path) == [("drafted", "1.2.0")]


async def test_a_conflict_is_told_and_nothing_is_overwritten(client: Client, tmp_path: Path) -> None:
    await publish(client)
    await pull(client, tmp_path)
    await client.templates.add_version("welcome", {"en": {"subject": "Theirs", "body": "x"}})
    body = tmp_path / "welcome/email/de-AT.txt"
    body.write_text("Mine")
    assert await push_all(client, tmp_path) == [("conflict", "1.1.0")]
    assert len([one async for one in client.templates.versions("welcome")]) == 2
    assert await push_all(client, tmp_path, force=True) == [("drafted", "1.2.0")]


async def test_a_new_folder_makes_templates_and_bad_ones_are_refused(client: Client, tmp_path: Path) -> None:
    written = {
        "profile": "jinja",
        "layout": None,
        "fallback_chain": [],
        "locales": {"en": {"subject": "s", "body": "b", "format": "html", "preheader": None, "text": None,
                           "direction": "ltr"}},
        "variables_schema": None,
        "samples": {},
    }  # fmt: skip
    entry = Entry(key="fresh", channel="email", category="transactional", name="Fresh", written=written)
    write_entry(tmp_path, entry)
    assert await push_all(client, tmp_path, publish=True) == [("published", "1.0.0")]
    broken = {**written, "locales": {"en": {**written["locales"]["en"], "body": "{% if %}"}}}
    write_entry(tmp_path, replace(entry, version="1.0.0", written=broken))
    assert await push_all(client, tmp_path) == [("refused", None)]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"template.toml": "category = "}, "no TOML"),
        ({"template.toml": 'name = "x"', "en.html": "b"}, "needs 'category'"),
        ({"template.toml": 'category = "system"\n[locales.de]\nsubject = "s"', "en.html": "b"}, "names de"),
        ({"template.toml": 'category = "system"', "en.html": "b", "en.md": "b"}, "two bodies"),
        ({"template.toml": 'category = "system"', "en.html": "b", "schema.json": "{"}, "no JSON"),
    ],
)
def test_a_broken_folder_is_told_by_its_file(tmp_path: Path, files: dict[str, str], words: str) -> None:
    place = tmp_path / "k" / "email"
    place.mkdir(parents=True)
    for name, text in files.items():
        (place / name).write_text(text)
    with pytest.raises(Refused, match=words):
        list(read_folder(tmp_path))


def test_a_name_from_the_server_never_leaves_the_folder(tmp_path: Path) -> None:
    for key, channel in (("../up", "email"), ("a/b", "email"), ("ok", "../x"), ("", "email")):
        with pytest.raises(Refused):
            write_entry(tmp_path / "inner", Entry(key=key, channel=channel, category="system", name="n"))
    assert list(tmp_path.iterdir()) == []
