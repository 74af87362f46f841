"""The closed words of the product. Numbers are what hot tables store, so they never change meaning."""

from enum import IntEnum, StrEnum
from typing import Final


class Channel(IntEnum):
    EMAIL = 1
    SMS = 2
    WHATSAPP = 3
    PUSH = 4
    INAPP = 5
    VOICE = 6
    CHAT = 7

    word: str

    def __init__(self, _number: int) -> None:
        # Kept: every address of every call is hashed under it.
        self.word = self._name_.lower()


class Category(IntEnum):
    """The legal class of a message. A template's category wins over a caller's."""

    TRANSACTIONAL = 1
    OPERATIONAL = 2
    SECURITY = 3
    REMINDER = 4
    MARKETING = 5
    SYSTEM = 6

    @property
    def word(self) -> str:
        return self._name_.lower()


class Priority(IntEnum):
    URGENT = 0
    NORMAL = 1
    LOW = 2

    @property
    def word(self) -> str:
        return self._name_.lower()


class Retention(IntEnum):
    """How long a record is kept. Partitions are cut by it, so a month of one class is dropped whole."""

    STANDARD = 1
    MARKETING = 2


class TenantMode(StrEnum):
    SANDBOX = "sandbox"
    LIVE = "live"


_RETENTIONS: Final = dict.fromkeys(Category, Retention.STANDARD) | {Category.MARKETING: Retention.MARKETING}


def retention_of(category: Category) -> Retention:
    return _RETENTIONS[category]


CHANNELS: Final = {channel.word: channel for channel in Channel}
CATEGORIES: Final = {category.word: category for category in Category}
PRIORITIES: Final = {priority.word: priority for priority in Priority}
