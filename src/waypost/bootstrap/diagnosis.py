"""What `waypost doctor` may look at, without knowing the technology."""

from dataclasses import dataclass
from typing import Final

from waypost.adapters.postgres.diagnosis import DatabaseHealth, examine
from waypost.adapters.vault.masterkey import open_master_key
from waypost.bootstrap.database import dba_url
from waypost.kernel.clock import SystemClock
from waypost.settings import Settings

__all__ = ["DatabaseHealth", "check_master_key", "examine_database"]

OLDEST_SERVER: Final = 16


@dataclass(frozen=True, kw_only=True)
class Examined:
    health: DatabaseHealth
    skew: float
    """How many seconds the host's clock is ahead of the database's."""


def check_master_key(settings: Settings) -> None:
    """Raises `Misconfigured` where the key is missing, open to others, or damaged."""
    open_master_key(settings.master_key_path, create=False)


async def examine_database(settings: Settings, socket_directory: str | None) -> Examined:
    """`socket_directory` is where a running `waypost up` says that its embedded server listens."""
    master = open_master_key(settings.master_key_path, create=False)
    health = await examine(dba_url(settings, master, socket_directory))
    return Examined(health=health, skew=(SystemClock().now() - health.now).total_seconds())
