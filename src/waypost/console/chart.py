"""Charts as numbers: where each bar stands in a box of fixed height. A template draws them, a stylesheet colours them.

The box is stretched to the page's width, so x counts bars and y runs from 0 (top) to 100; words stand beside it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

HEIGHT: Final = 100.0
_WIDTH_OF_BAR: Final = 0.78
_NICE: Final = (1, 2, 3, 4, 5, 6, 8, 10)


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    label: str
    tone: str
    values: Sequence[float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    x: float
    y: float
    width: float
    height: float
    tone: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """All that stands over one mark of time."""

    x: int
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    id: str
    title: str
    says: str
    """The chart in a sentence, for those who do not see it."""
    width: int
    columns: Sequence[Column]
    area: str
    """A path, for charts that are one; else empty."""
    line: str
    scale: Sequence[str]
    """From top to bottom, at equal distances."""
    marks: Sequence[str]
    """From left to right, at equal distances."""
    series: Sequence[Series]
    rows: Sequence[tuple[str, Sequence[str]]]
    """The same as a table: the mark and the value of each series."""
    is_empty: bool


def nice_top(highest: float) -> float:
    """The next round number."""
    if highest <= 0:
        return 1
    unit = 10 ** math.floor(math.log10(highest))
    return next(nice * unit for nice in _NICE if nice * unit >= highest - 1e-9)


def draw(
    *,
    id_: str,
    title: str,
    says: str,
    starts: Sequence[str],
    marks: Sequence[str],
    series: Sequence[Series],
    show: Callable[[float], str],
    kind: str = "stack",
) -> Chart:
    """`stack` piles the series up, `overlay` stands them before each other, `area` draws the first as a mountain."""
    sums = [sum(column) if kind == "stack" else max(column) for column in zip(*(s.values for s in series), strict=True)]
    top = nice_top(max(sums, default=0))
    columns = [
        Column(
            x=place,
            title=f"{start}: " + ", ".join(f"{s.label.lower()} {show(s.values[place])}" for s in series),
            blocks=() if kind == "area" else _blocks(place, series, top, piled=kind == "stack"),
        )
        for place, start in enumerate(starts)
    ]
    line = _line(series[0].values, top) if kind == "area" else ""
    return Chart(
        id=id_,
        title=title,
        says=says,
        width=len(starts),
        columns=columns,
        area=f"M0 {HEIGHT:g} L{line[1:]} L{len(starts)} {HEIGHT:g} Z" if line else "",
        line=line,
        # Half a message is nothing to write beside a line.
        scale=[show(top), show(top / 2), show(0)] if kind == "overlay" or top % 2 == 0 else [show(top), show(0)],
        marks=marks,
        series=series,
        rows=[(start, [show(s.values[place]) for s in series]) for place, start in enumerate(starts) if sums[place]],
        is_empty=not any(sums),
    )


def _blocks(place: int, series: Sequence[Series], top: float, *, piled: bool) -> list[Block]:
    blocks: list[Block] = []
    floor = HEIGHT
    for one in series:
        height = HEIGHT * one.values[place] / top
        if height <= 0:
            continue
        # What is there is seen, however small.
        height = max(height, 1.5)
        blocks.append(
            Block(
                x=round(place + (1 - _WIDTH_OF_BAR) / 2, 3),
                y=round(max(floor - height, 0.0), 2),
                width=_WIDTH_OF_BAR,
                height=round(height, 2),
                tone=one.tone,
            )
        )
        floor = floor - height if piled else HEIGHT
    return blocks


def _line(values: Sequence[float], top: float) -> str:
    heights = [round(HEIGHT - HEIGHT * value / top, 2) for value in values]
    points = [f"{place + 0.5:g} {height:g}" for place, height in enumerate(heights)]
    return f"M0 {heights[0]:g} L" + " L".join([*points, f"{len(values)} {heights[-1]:g}"])
