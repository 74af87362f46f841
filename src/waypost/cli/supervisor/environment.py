"""What each child may know: its own role's way into the database, never the administrator's."""

import dataclasses
import os
from collections.abc import Mapping

from waypost.bootstrap.database import Database
from waypost.settings import Settings


def of_api(settings: Settings, database: Database) -> dict[str, str]:
    return _environment(settings, database_api_url=settings.database_api_url or database.api_url)


def of_worker(settings: Settings, database: Database) -> dict[str, str]:
    return _environment(settings, database_worker_url=settings.database_worker_url or database.worker_url)


def of_greeting(settings: Settings) -> dict[str, str]:
    return _environment(settings)


def _environment(settings: Settings, **known: object) -> dict[str, str]:
    # Nobody who tries it out wants a line for every request between the panel and the prompt.
    quiet = {"log_level": settings.log_level or "warning"}
    bare = {**quiet, "database_url": None, "database_api_url": None, "database_worker_url": None, **known}
    chosen = dataclasses.replace(settings, **bare)  # pyright: ignore[reportArgumentType] — names are from the table
    return {**_foreign(os.environ), **chosen.environment()}


def _foreign(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith("WAYPOST_")}
