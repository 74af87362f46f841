"""The files of messages about to go out, encoded once and shared by every message that carries the same ones."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from waypost.channels.mime_parts import tail_of
from waypost.kernel.attachments import FileRef
from waypost.kernel.blobs import Blobs
from waypost.kernel.tenancy import PLATFORM
from waypost.kernel.vault import Keyring
from waypost.kernel.work import Transaction, Work

MOST_HELD: Final = 48 * 1024 * 1024
"""Of files for one batch of messages. What needs more waits for a later one: a worker's memory is bounded."""
_MOST_KEPT: Final = 24 * 1024 * 1024
"""Of files kept between batches."""
_ENCODED: Final = 1.4


@dataclass(frozen=True, slots=True)
class Luggage:
    """All that one message carries."""

    tenant_id: str
    of_template: tuple[FileRef, ...]
    of_call: tuple[FileRef, ...]
    has_html: bool

    @property
    def files(self) -> tuple[FileRef, ...]:
        return (*self.of_template, *self.of_call)

    @property
    def has_images(self) -> bool:
        return self.has_html and any(file.content_id is not None for file in self.files)

    @property
    def has_others(self) -> bool:
        return any(file.content_id is None or not self.has_html for file in self.files)

    @property
    def size(self) -> int:
        return int(sum(file.size for file in self.files) * _ENCODED) + 1000


class Tails:
    def __init__(self, *, work: Work, blobs: Blobs, keyring: Keyring) -> None:
        self._work = work
        self._blobs = blobs
        self._keyring = keyring
        self._kept: OrderedDict[Luggage, bytes] = OrderedDict()

    async def make(self, wanted: Sequence[Luggage]) -> Mapping[Luggage, bytes | None]:
        """The tail of each; None where a file is gone. What does not fit beside the others is left out."""
        made: dict[Luggage, bytes | None] = {}
        missing: dict[str, list[Luggage]] = {}
        room = MOST_HELD
        for luggage in dict.fromkeys(wanted):
            kept = self._kept.get(luggage)
            if (made or missing) and luggage.size > room:
                continue
            room -= luggage.size
            if kept is None:
                missing.setdefault(luggage.tenant_id, []).append(luggage)
            else:
                made[luggage] = kept
                self._kept.move_to_end(luggage)
        for tenant_id, pieces in missing.items():
            async with self._work.begin(tenant_id) as tx:
                for luggage in pieces:
                    made[luggage] = await self._load(tx, luggage)
        self._keep({luggage: tail for luggage, tail in made.items() if tail is not None})
        return made

    async def _load(self, tx: Transaction, luggage: Luggage) -> bytes | None:
        key = await self._keyring.of(tx)
        found = dict(await self._blobs.open(tx, tx.tenant_id, key, [file.digest for file in luggage.files]))
        absent = [file.digest for file in luggage.of_template if file.digest not in found]
        if absent:
            found |= await self._blobs.open(tx, PLATFORM, await self._keyring.of_platform(tx), absent)
        try:
            return tail_of([(file, found[file.digest]) for file in luggage.files], has_html=luggage.has_html)
        except KeyError:
            return None

    def _keep(self, made: Mapping[Luggage, bytes]) -> None:
        self._kept.update(made)
        total = sum(len(tail) for tail in self._kept.values())
        while total > _MOST_KEPT and self._kept:
            total -= len(self._kept.popitem(last=False)[1])
