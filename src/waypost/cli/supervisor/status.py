"""`up.json`: what a running `waypost up` consists of, for `waypost doctor`. It holds no secret."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from waypost.bootstrap.database import Database
from waypost.cli.supervisor.children import Child
from waypost.settings import Settings

NAME = "up.json"


class StatusFile:
    def __init__(self, settings: Settings, database: Database, children: Sequence[Child]) -> None:
        self._path = settings.data_dir / NAME
        self._settings = settings
        self._database = database
        self._children = children

    def write(self) -> None:
        status = {
            "supervisor": os.getpid(),
            **{child.name.lower(): child.pid for child in self._children},
            "url": self._settings.api_url,
            "metrics_port": self._settings.api_metrics_port,
            "worker_metrics_port": self._settings.worker_port,
            "catchall_port": self._settings.catchall_port,
            "smtp_in_port": self._settings.smtp_in_port,
            "database_host": self._database.socket_directory,
        }
        fresh = self._path.with_name(f".{NAME}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(status, file)
        fresh.replace(self._path)

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)


def read(data_dir: Path) -> dict[str, object]:
    """What runs in this data directory; empty where nothing does."""
    try:
        return json.loads((data_dir / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
