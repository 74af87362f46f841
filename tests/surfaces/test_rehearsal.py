"""Whole rehearsals: the real worker on a scratch database, a fake Internet, and a clock that moves by itself."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from typer.testing import CliRunner

from waypost.adapters.postgres.work import connection_of
from waypost.bootstrap.rehearsal import TENANT, Rehearsal
from waypost.campaigns.expand import FIRST
from waypost.cli.main import app
from waypost.kernel.shared_payload import is_shared
from waypost.testing import Rehearse, rehearsal

__all__ = ["rehearsal"]


@pytest.fixture(autouse=True)
def own_logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A command sets up the log of its whole process; here that process is everybody's."""
    before, root, configure = structlog.get_config(), logging.getLogger(), structlog.configure
    handlers, level = list(root.handlers), root.level
    levels = {name: logging.getLogger(name).level for name in ("asyncpg", "asyncio")}

    def configure_for_now(**settings: Any) -> None:
        configure(**{**settings, "cache_logger_on_first_use": False})

    monkeypatch.setattr(structlog, "configure", configure_for_now)
    yield
    configure(**before)
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, its in levels.items():
        logging.getLogger(name).setLevel(its)


async def test_greylisted_people_are_all_reached(rehearsal: Rehearse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eleven in a hundred are put off for sixty seconds of a clock that nobody has to wait for. All get one and the
    same broadcast: behind the first few, their messages hold it by reference."""
    shared, run = list[int](), Rehearsal.run

    async def run_counted(stage: Rehearsal) -> None:
        async with stage.app.work.begin(TENANT) as tx:
            rows = await connection_of(tx).fetch("select payload from notifications")
        shared.append(sum(is_shared(row["payload"]) for row in rows))
        await run(stage)

    monkeypatch.setattr(Rehearsal, "run", run_counted)
    report = await rehearsal(profile="greylist", people=200, seed=7)
    assert shared == [200 - FIRST]
    assert report.ended == {"dispatched": 200}
    [provider] = report.providers
    assert provider.taken == 200
    assert 10 <= report.deferrals == report.retries == provider.deferred <= 80
    assert report.attempts == 200 + report.retries
    assert report.finished_after_seconds >= 60
    assert report.suppressed == {}


_PROFILE = """
[[providers]]
name = "strict"
domains = ["strict.example"]
blocked = 1.0

[[providers]]
name = "gone"
domains = ["gone.example"]
unknown = 1.0

[[providers]]
name = "cross"
domains = ["cross.example"]
complaints = 1.0
storm_every = 86400
storm_seconds = 60

[[providers]]
name = "sends-back"
domains = ["*"]
returned = 1.0
"""


def test_a_file_of_addresses_is_rehearsed_and_the_report_tells_whom_it_would_cost(tmp_path: Path) -> None:
    profile, addresses = tmp_path / "mine.toml", tmp_path / "people.csv"
    profile.write_text(_PROFILE)
    people = [f"p{place}@{domain}" for domain in ("strict", "gone", "cross", "other") for place in range(5)]
    lines = ["name,email", *(f"x,{one}.example".replace("@strict.", "@strict.") for one in people), "y,not an address"]
    addresses.write_text("\n".join([*lines, f"again,{people[0]}.example"]))
    ran = CliRunner().invoke(app, ["rehearse", "--csv", str(addresses), "--profile", str(profile), "--json"])
    assert ran.exit_code == 0, ran.output
    report = json.loads(ran.stdout)
    assert report["recipients"] == 20
    assert report["unread"] == 1
    assert report["ended"] == {"dispatched": 10, "failed": 10}
    assert report["reasons"] == {"address_unknown": 5, "policy": 5}
    # Refused by policy is about us: nobody is suppressed for it.
    assert report["suppressed"] == {"complaint": 5, "hard_bounce": 10}
    by_name = {one["provider"]: one for one in report["providers"]}
    assert by_name["cross"]["deferred"] >= 1
    assert by_name["cross"]["complaints"] == by_name["sends-back"]["undeliverable"] == 5
    assert report["settled_after_seconds"] >= 3600


def test_a_profile_or_an_audience_that_makes_no_sense_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (["--profile", "nonsense"], ["--csv", "none.csv"], ["--csv", "a", "--tag", "b"]):
        assert CliRunner().invoke(app, ["rehearse", *words]).exit_code != 0
