"""Checks of the database: reach, version, roles, schema, partitions, clock, and whether work is done."""

from collections.abc import Iterator
from typing import Final

from waypost.bootstrap.diagnosis import OLDEST_SERVER, DatabaseHealth, examine_database
from waypost.cli.doctor.findings import Finding, fail, ok, warn
from waypost.kernel.errors import Misconfigured
from waypost.settings import Settings

_SKEW_WARNS: Final = 1.0
_SKEW_FAILS: Final = 30.0
_AGE_WARNS: Final = 60.0
_AGE_FAILS: Final = 600.0
_MONTHS_AHEAD: Final = 2


async def check_database(settings: Settings, socket_directory: str | None) -> list[Finding]:
    try:
        examined = await examine_database(settings, socket_directory)
    except Misconfigured as problem:
        remedy = (
            "Start `waypost up`." if settings.database_url is None else "Check WAYPOST_DATABASE_URL and the server."
        )
        return [fail("database", problem.detail, remedy)]
    health = examined.health
    return [
        _reach(health),
        *_roles(health),
        *_schema(health),
        _clock(examined.skew),
        *([_workers(health), _queue(health)] if health.schema_problem is None else []),
    ]


def _reach(health: DatabaseHealth) -> Finding:
    if int(health.version.split(".")[0].split()[0]) < OLDEST_SERVER:
        return fail("database", f"PostgreSQL {health.version} answers.", f"Upgrade to PostgreSQL {OLDEST_SERVER}.")
    return ok("database", f"PostgreSQL {health.version} answers.")


def _roles(health: DatabaseHealth) -> Iterator[Finding]:
    wrong = [
        name for name, rights in health.roles.items() if rights.superuser or (rights.bypasses and name != "waypost_dba")
    ]
    if wrong:
        yield fail(
            "roles",
            f"{', '.join(wrong)} pass row level security.",
            "; ".join(f"alter role {name} nosuperuser nobypassrls" for name in wrong),
        )
    else:
        yield ok("roles", "Nobody but waypost_dba passes row level security; the owner is no superuser.")
    dba = health.roles.get("waypost_dba")
    if dba is None or not dba.bypasses:
        yield warn(
            "roles",
            "waypost_dba cannot see rows, so backups and exports would be empty.",
            "As a superuser: alter role waypost_dba bypassrls",
        )
    if health.unguarded:
        yield fail("row level security", f"Missing on {', '.join(health.unguarded)}.", "Run `waypost migrate`.")


def _schema(health: DatabaseHealth) -> Iterator[Finding]:
    if health.schema_problem is not None:
        yield fail("schema", health.schema_problem, "Run `waypost migrate`, or install a newer Waypost.")
        return
    yield ok("schema", "Fits this version of Waypost.")
    if health.months_ahead < _MONTHS_AHEAD:
        yield warn("partitions", f"Made {health.months_ahead} months ahead.", "Run a worker: it makes them daily.")
    else:
        yield ok("partitions", f"Made {health.months_ahead} months ahead.")
    if health.strays:
        yield fail(
            "partitions",
            f"Rows lie outside their months, in {', '.join(health.strays)}.",
            "Set the hosts' clocks right, then move the rows; new partitions cannot be made over them.",
        )


def _clock(skew: float) -> Finding:
    said = f"This host and the database are {abs(skew):.3f} s apart."
    if abs(skew) < _SKEW_WARNS:
        return ok("clock", said)
    remedy = "Synchronise the clocks (NTP)."
    return fail("clock", said, remedy) if abs(skew) > _SKEW_FAILS else warn("clock", said, remedy)


def _workers(health: DatabaseHealth) -> Finding:
    if health.workers == 0:
        return fail("worker", "None is alive: nothing is sent.", "Start `waypost up` or `waypost worker`.")
    return ok("worker", "1 is alive." if health.workers == 1 else f"{health.workers} are alive.")


def _queue(health: DatabaseHealth) -> Finding:
    said = f"The oldest work that is due has waited {health.oldest_due:.0f} s."
    if health.oldest_due < _AGE_WARNS:
        return ok("queue", "Nothing waits." if health.oldest_due == 0 else said)
    remedy = "Run more workers, or see with `waypost tail` what holds it up."
    return fail("queue", said, remedy) if health.oldest_due > _AGE_FAILS else warn("queue", said, remedy)
