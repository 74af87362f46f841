"""What is known of a setting besides its value."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

PREFIX: Final = "WAYPOST_"


class Group(StrEnum):
    """In the order in which they are shown."""

    PLACE = "place"
    API = "api"
    DATABASE = "database"
    MAIL = "mail"
    SMTP_IN = "smtp-in"
    CREW = "crew"
    WORKER = "worker"
    RELAY = "relay"
    ALERTS = "alerts"
    LOG = "log"
    CLIENT = "client"


@dataclass(frozen=True, slots=True)
class About:
    """What the table says of a setting besides its name and default."""

    group: Group
    read: Callable[[str], object]
    sentence: str
    otherwise: str = ""
    """What happens without it, where the default alone does not say."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One row of the table."""

    name: str
    default: object
    about: About

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper()

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def shown_default(self) -> str:
        if self.about.otherwise:
            return self.about.otherwise
        return f"{self.default:g}s" if isinstance(self.default, float) else str(self.default)
