"""docs/performance.md and the README's table, made from the last run that was kept."""

from pathlib import Path

import msgspec

from benchmarks.results import Entry, Report
from benchmarks.table import measured, number, spread, verdict

_LAST_RUN = Path(__file__).with_name("last_run.json")

_OPENING = """\
# Performance

Figures mean something only beside a reference that ran in the same minutes on the same machine. Rounds of both take
turns, and a ratio is Waypost's figure over the reference's: the middle of its rounds, lowest and highest in
brackets. Only what a person waits for has a goal of its own instead. `make bench` runs them all on your machine and
writes JSON; `make bench ARGS="email"` runs one, `make bench ARGS=--quick` only shows that they run, and
`make bench ARGS=--keep` puts its figures on this page.
"""

_HOW = """
## How each is measured

- **Email end to end**: everything is accepted beforehand and scheduled for one moment. From then until the last
  settlement is committed, one worker process claims, asks the gate, opens what is sealed, personalises, sends over
  SMTP and settles: one attempt row and one outbox row for each message, journal, metrics and log on. The database runs
  with its delivered settings, durable commits included. The reference sends the same number of messages of the same
  size over as many connections to the same mail server, without queue, ledger or personal content, right before and
  right after each round of ours. A bare harness, with which the design was once measured on a machine like this, did
  the same with the same rows and nothing else; where the distance to it goes is listed step by step above.
- **Submit**: calls begin by the clock, whatever the server does, and a call's time counts from when it was due. Each
  has an idempotency key and carries its content; each fifth person is new.
- **Bulk**: 10,000 calls in one request to a real API process, until its answer; the reference copies all rows that it
  leaves, four for each call with a key, indexes included, with no logic.
- **Import, expansion**: from the first byte or step to the end of the job, sealing included (of a batch, of what its
  messages share: [decision 27](decisions/0027-a-batch-s-messages-hold-their-inputs-by-reference.md)); the reference
  writes the same rows by COPY, or by `INSERT … SELECT`.
- **Claim, timers**: two databases that differ only in how much waits, asked in turn.
- **Gate**: every rule asked about one message to one person, on one core, without reading anything.
- **Relay**: unread news told to a consumer on this machine, against bare reads of the same rows.
- **Opens and clicks**: each is in the database before its answer; the reference is the same server's constant answer.
- **Inbox**: pages and counts as a person's browser asks for them, against a bare indexed SELECT of one page.
- **Render, compose**: batches of 200 through the render process, against the bare engine in the same process, for whole
  messages joined by the standard library. The subject does more than print a value, so the process must be asked; of
  the same content with a plain subject, messages are made without it.
- **Sealed payload**: a person's key unwrapped, the payload opened and read, against the ciphers alone.
- **`waypost up`**: in an empty directory, until the greeting has seen the first message in the mailbox; then, a quiet
  minute later, the proportional memory of all processes but the database's.

CPU per message is from the kernel's own accounts of each process. On a busy machine all figures get worse, ratios less.
"""


def speed_table() -> str:
    """For the README: what has a goal, in one line each."""
    report = _last_run()
    machine = report.machine
    return "".join(
        [
            "| what | measured | beside | ratio | goal | |\n| --- | --- | --- | --- | --- | --- |\n",
            *(_short_line(entry) for entry in report.entries if entry.goal),
            f"\nMeasured on {report.at[:10]} on {machine.cores} cores of {machine.processor}, with database, mail ",
            f"server and load on the same machine; load average {machine.busy:g} when it began.{_warning(report)}\n",
        ]
    )


def performance_page() -> str:
    report = _last_run()
    machine = report.machine
    parts = [
        _OPENING,
        f"\nThe run of {report.at[:10]} at commit `{report.commit}`, on {machine.cores} × {machine.processor} with "
        f"{machine.memory_gb:g} GB, {machine.kernel}, Python {machine.python}, PostgreSQL {machine.postgresql}; load "
        f"average {machine.busy:g} when it began.{_warning(report)}\n\n",
        "| what | measured | reference | ratio | goal | |\n| --- | --- | --- | --- | --- | --- |\n",
        *(_line(entry) for entry in report.entries),
    ]
    for title, steps in report.steps.items():
        parts.append(f"\n## {title[0].upper()}{title[1:]}\n\n| | µs |\n| --- | --- |\n")
        parts.extend(f"| {step.name} | {step.microseconds:.0f} |\n" for step in steps)
    return "".join([*parts, _HOW, "\nThis page is made from the last kept run by `make docs`.\n"])


def _last_run() -> Report:
    return msgspec.json.decode(_LAST_RUN.read_bytes(), type=Report)


def _short_line(entry: Entry) -> str:
    ours = f"{number(entry.ours.middle)} {entry.unit}"
    ratio = f"{entry.ratio.middle:.2f}" if entry.ratio else ""
    return f"| {' | '.join((entry.what, ours, entry.reference or '', ratio, entry.goal, verdict(entry)))} |\n"


def _warning(report: Report) -> str:
    if report.machine.busy <= report.machine.cores / 2:
        return ""
    return " **The machine was busy with other work**: times and speeds are far from what it can do, ratios waver."


def _line(entry: Entry) -> str:
    what = "; ".join([entry.what, *entry.notes])
    theirs = f"{measured(entry.theirs, entry.unit)}: {entry.reference}" if entry.theirs else ""
    ratio = spread(entry.ratio) if entry.ratio else ""
    cells = (what, measured(entry.ours, entry.unit), theirs, ratio, entry.goal, verdict(entry))
    return f"| {' | '.join(cells)} |\n"
