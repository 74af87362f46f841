"""The table that a run prints."""

from rich.console import Console
from rich.table import Table

from benchmarks.results import Entry, Report, Spread

_WIDE = 180


def print_table(report: Report) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _WIDE
    machine = report.machine
    console.print(
        f"{machine.cores} × {machine.processor}, {machine.memory_gb:g} GB, {machine.kernel}, Python {machine.python}, "
        f"PostgreSQL {machine.postgresql}; load average {machine.busy:g} at the start"
    )
    table = Table("what", "measured", "reference", "ratio", "goal", "")
    for entry in report.entries:
        table.add_row(
            entry.what,
            measured(entry.ours, entry.unit),
            f"{measured(entry.theirs, entry.unit)}\n{entry.reference}" if entry.theirs else "",
            spread(entry.ratio) if entry.ratio else "",
            entry.goal,
            verdict(entry),
        )
    console.print(table)
    for title, steps in report.steps.items():
        console.print(f"{title}: " + ", ".join(f"{step.name} {step.microseconds:.0f} µs" for step in steps))


def measured(value: Spread, unit: str) -> str:
    return f"{number(value.middle)} {unit} ({number(value.least)}–{number(value.most)})"


def spread(ratio: Spread) -> str:
    return f"{ratio.middle:.2f} ({ratio.least:.2f}–{ratio.most:.2f})"


def verdict(entry: Entry) -> str:
    return "" if entry.met is None else "met" if entry.met else "missed"


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
