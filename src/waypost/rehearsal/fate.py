"""What happens to whom: drawn from the seed and the address alone, in whatever order people are written to."""

from dataclasses import dataclass
from hashlib import blake2b

from waypost.rehearsal.model import Provider


@dataclass(frozen=True, kw_only=True, slots=True)
class Fate:
    unknown: bool
    blocked: bool
    full: bool
    greylisted: bool
    returned: bool
    complains: bool


def fate_of(seed: int, provider: Provider, address: str) -> Fate:
    """The first three exclude each other, and so do the last two."""
    nature, greylist, aftermath = (_draw(seed, address, word) for word in ("nature", "greylist", "aftermath"))
    unknown = nature < provider.unknown
    blocked = not unknown and nature < provider.unknown + provider.blocked
    full = not unknown and not blocked and nature < provider.unknown + provider.blocked + provider.full
    returned = aftermath < provider.returned
    return Fate(
        unknown=unknown,
        blocked=blocked,
        full=full,
        greylisted=greylist < provider.greylisted,
        returned=returned,
        complains=not returned and aftermath < provider.returned + provider.complaints,
    )


def _draw(seed: int, address: str, word: str) -> float:
    """From 0 up to, not including, 1."""
    digest = blake2b(f"{seed}\n{word}\n{address.lower()}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64
