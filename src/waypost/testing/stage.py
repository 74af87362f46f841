"""The fixture `rehearsal`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

import pytest

from waypost.bootstrap.rehearsal import chosen_profile, open_rehearsal
from waypost.rehearsal.model import Letter, Person, Profile, Report
from waypost.rehearsal.profiles import made_up

_LETTER: Final = Letter(subject="A rehearsal", html="<p>This is only a rehearsal.</p>", text="Only a rehearsal.\n")


class Rehearse(Protocol):
    async def __call__(
        self,
        *,
        profile: str | Path | Profile = "usual",
        people: int | Sequence[str] = 100,
        letter: Letter = _LETTER,
        seed: int = 1,
    ) -> Report:
        """`profile` is one that comes along, or one of yours, or a TOML file; `people` are so many, or these addresses.
        The same seed gives everybody the same fate."""
        ...


@pytest.fixture
def rehearsal() -> Rehearse:
    return _rehearse


async def _rehearse(
    *,
    profile: str | Path | Profile = "usual",
    people: int | Sequence[str] = 100,
    letter: Letter = _LETTER,
    seed: int = 1,
) -> Report:
    chosen = chosen_profile(profile) if isinstance(profile, str | Path) else profile
    everyone = made_up(chosen, people) if isinstance(people, int) else [Person(address=one) for one in people]
    async with open_rehearsal(chosen, seed=seed) as stage:
        await stage.send(everyone, letter)
        await stage.run()
        return await stage.report()
