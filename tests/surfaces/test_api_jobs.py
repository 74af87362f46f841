"""Jobs over several steps: taken up where they were left, stopped in the middle, not upset by anything in a file."""

import random
from typing import Any

import pytest

from waypost.imports import steps
from waypost.jobs.run import JobRunner
from waypost.kernel.ids import mint

ROWS = 30
FILE = "id,email\n" + "".join(f"u{n},u{n}@example.com\n" for n in range(ROWS))


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "ROWS_PER_STEP", 10)


async def start(acme: Any, text: str | bytes = FILE) -> str:
    raw = text if isinstance(text, bytes) else text.encode()
    answer = await acme("POST", "/v1/imports", raw, headers={"Content-Type": "text/csv"})
    assert answer.status_code == 202, answer.text
    return answer.json()["id"]


def another(runner: JobRunner, app: Any) -> JobRunner:
    """A second worker on the same database."""
    twin = object.__new__(JobRunner)
    twin.__dict__.update(runner.__dict__, _worker_id=mint(app.clock))
    return twin


async def one_step(runner: JobRunner) -> Any:
    """Takes the job, does one step of it, and goes no further: as a worker that was killed then."""
    [(tenant, job_id)] = await runner._board.due(1)
    async with runner._work.begin(tenant) as tx:
        job = await runner._store.take(tx, job_id, runner._worker_id, 60.0)
    assert await runner._step(tenant, job)
    return job


async def test_another_worker_goes_on_after_the_last_step(
    acme: Any, app: Any, admin: Any, job_runner: JobRunner
) -> None:
    job_id = await start(acme)
    dead = await one_step(job_runner)
    seen = await acme.ok("GET", f"/v1/jobs/{job_id}")
    assert (seen["state"], seen["result"]["rows"]) == ("running", 10)
    other = another(job_runner, app)
    assert await other.work_off() == 0, "its lease has not run out"
    await admin.execute("update waypost.jobs set lease_until = now() - interval '1 second'")
    assert await other.work_off() == 1
    done = await acme.ok("GET", f"/v1/jobs/{job_id}")
    assert (done["state"], done["result"]["rows"], done["result"]["created"]) == ("finished", ROWS, ROWS)
    assert await admin.fetchval("select count(*) from waypost.recipients") == ROWS
    # The one that was believed dead wakes up and finds that it has nothing to do any more.
    assert not await job_runner._step("acme", dead)
    assert await admin.fetchval("select count(*) from waypost.recipients") == ROWS


async def test_a_step_that_outlasts_its_lease_is_neither_disturbed_nor_waited_for(
    acme: Any, app: Any, admin: Any, job_runner: JobRunner
) -> None:
    job_id = await start(acme)
    await one_step(job_runner)
    await admin.execute("update waypost.jobs set lease_until = now() - interval '1 second'")
    other = another(job_runner, app)
    async with admin.transaction():
        # As the transaction of a step does.
        await admin.execute("select from waypost.jobs for no key update")
        assert await other.work_off() == 0
    assert await other.work_off() == 1
    assert (await acme.ok("GET", f"/v1/jobs/{job_id}"))["state"] == "finished"


async def test_a_step_that_breaks_leaves_nothing_and_is_tried_again(
    acme: Any, admin: Any, job_runner: JobRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = await start(acme)
    [kind] = [one for one in job_runner._kinds.values() if isinstance(one, steps.ImportSteps)]
    told = kind._report
    broken = 2

    async def breaks(*args: Any) -> None:
        nonlocal broken
        if broken:
            broken -= 1
            raise RuntimeError("u1@example.com")
        await told(*args)

    monkeypatch.setattr(kind, "_report", breaks)
    monkeypatch.setattr(steps, "ROWS_PER_STEP", 2)
    text = FILE + "bad,no address\n"
    other = await start(acme, text)
    for _ in range(20):
        await job_runner.work_off()
    for name, rejected in ((job_id, 0), (other, 1)):
        done = await acme.ok("GET", f"/v1/jobs/{name}")
        assert (done["state"], done["result"]["rejected"]) == ("finished", rejected)
    assert broken == 0
    assert await admin.fetchval("select count(*) from waypost.recipients") == ROWS


async def test_one_that_always_breaks_fails_in_the_end(
    acme: Any, admin: Any, job_runner: JobRunner, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    job_id = await start(acme)

    async def breaks(*_args: Any) -> None:
        raise RuntimeError("u1@example.com")

    for kind in job_runner._kinds.values():
        monkeypatch.setattr(kind, "step", breaks)
    for _ in range(5):
        await job_runner.turn()
    failed = await acme.ok("GET", f"/v1/jobs/{job_id}")
    assert (failed["state"], await job_runner.turn()) == ("failed", False)
    assert "u1@example.com" not in failed["error"] + "".join(capsys.readouterr())
    assert await admin.fetchval("select count(*) from waypost.job_files where file = 'upload'") == 0


async def test_a_running_job_stops_before_its_next_step(acme: Any, admin: Any, job_runner: JobRunner) -> None:
    job_id = await start(acme)
    job = await one_step(job_runner)
    assert (await acme.ok("POST", f"/v1/jobs/{job_id}/cancel"))["state"] == "running"
    assert not await job_runner._step("acme", job)
    stopped = await acme.ok("GET", f"/v1/jobs/{job_id}")
    assert (stopped["state"], stopped["result"]["rows"]) == ("cancelled", 10)
    assert (await acme.refused("GET", "/v1/recipients/u29"))[0] == 404
    assert (await acme.ok("GET", "/v1/recipients/u9"))["id"] == "u9"
    assert await admin.fetchval("select count(*) from waypost.job_files where file = 'upload'") == 0


async def test_garbage_is_reported_and_the_good_rows_between_it_are_kept(
    acme: Any, job_runner: JobRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "ROWS_PER_STEP", 2_000)
    noise = random.Random(7)
    junk = noise.randbytes(400_000)
    endless = b"x" * 700_000
    raw = b"id,email\nfirst,a@example.com\n" + junk + b"\n" + endless + b'\nlast,b@example.com\nopen,"'
    job_id = await start(acme, raw)
    await job_runner.work_off()
    done = await acme.ok("GET", f"/v1/jobs/{job_id}")
    assert done["state"] == "finished", done
    assert done["result"]["rows"] == done["result"]["created"] + done["result"]["rejected"]
    assert done["result"]["rejected"] > 100
    for name in ("first", "last"):
        assert (await acme.ok("GET", f"/v1/recipients/{name}"))["id"] == name
    report = (await acme("GET", done["links"]["report"])).text
    assert report.count("record_too_long") == 1
    assert len(report.splitlines()) == done["result"]["faults_in_report"] + 1


async def test_nobody_sees_or_stops_another_tenant_s_job(acme: Any, globex: Any) -> None:
    job_id = await start(acme)
    for method, path in (("GET", ""), ("POST", "/cancel")):
        assert (await globex.refused(method, f"/v1/jobs/{job_id}{path}"))[0] == 404
    assert (await globex.refused("GET", f"/v1/imports/{job_id}/report"))[0] == 404
    assert (await globex.ok("GET", "/v1/jobs"))["items"] == []
    assert [job["id"] for job in (await acme.ok("GET", "/v1/jobs?kind=import"))["items"]] == [job_id]
    assert (await acme.ok("GET", "/v1/jobs?kind=export"))["items"] == []
