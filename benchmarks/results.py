"""What a run found: rounds, their ratios and spread, as values that become JSON, a table and a page."""

from statistics import median

import msgspec


class Spread(msgspec.Struct, frozen=True):
    """The middle of several rounds, and how far they lay apart."""

    middle: float
    least: float
    most: float

    @classmethod
    def of(cls, values: list[float]) -> "Spread":
        return cls(median(values), min(values), max(values))


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the table. `ratio` is ours over the reference's, as the goal is meant."""

    name: str
    what: str
    unit: str
    ours: Spread
    reference: str | None = None
    theirs: Spread | None = None
    ratio: Spread | None = None
    goal: str = ""
    met: bool | None = None
    rounds: int = 1
    notes: list[str] = msgspec.field(default_factory=list)


class Step(msgspec.Struct, frozen=True):
    """CPU time of one part of the road."""

    name: str
    microseconds: float


class Machine(msgspec.Struct, frozen=True):
    processor: str
    cores: int
    memory_gb: float
    kernel: str
    python: str
    postgresql: str
    busy: float
    """The load average when the run began: what else the machine was doing."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    at: str
    commit: str
    quick: bool
    machine: Machine
    entries: list[Entry]
    steps: dict[str, list[Step]] = msgspec.field(default_factory=dict)


class Findings(msgspec.Struct, frozen=True):
    """What one benchmark answers."""

    entries: list[Entry]
    steps: dict[str, list[Step]] = msgspec.field(default_factory=dict)


def compared(
    *,
    name: str,
    what: str,
    unit: str,
    ours: list[float],
    reference: str,
    theirs: list[float],
    goal: str = "",
    at_least: float | None = None,
    at_most: float | None = None,
    notes: list[str] | None = None,
) -> Entry:
    """Rounds are compared one by one: all of a round ran within the same seconds."""
    ratio = Spread.of([mine / other for mine, other in zip(ours, theirs, strict=True)])
    met = None
    if at_least is not None:
        met = ratio.middle >= at_least
    elif at_most is not None:
        met = ratio.middle <= at_most
    return Entry(
        name=name,
        what=what,
        unit=unit,
        ours=Spread.of(ours),
        reference=reference,
        theirs=Spread.of(theirs),
        ratio=ratio,
        goal=goal,
        met=met,
        rounds=len(ours),
        notes=notes or [],
    )
