"""`make chaos`: a bounded random matrix of faults over a Waypost under load, and a table of what became of it all.

python -m benchmarks.chaos [--seconds 120 | --sends 50000] [--seed N] [--workers 2]
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from itertools import count
from pathlib import Path

from benchmarks.chaos.account import Account, Sent, take_account
from benchmarks.chaos.caller import Caller
from benchmarks.chaos.faults import SKEWS, Faults
from benchmarks.chaos.stage import CONNECTIONS, NotInTimeError, Stage, eventually, open_stage

_CATEGORIES = ("transactional", "marketing")
_MOST_WAITING = 1_500
_DRAIN_SECONDS = 120.0


class Load:
    """Submits without a pause, as long as not too much waits; repeats what was not answered under the same key."""

    def __init__(self, stage: Stage, callers: dict[str, Caller], chance: random.Random) -> None:
        self._stage = stage
        self._callers = callers
        self._chance = chance
        self._numbers = count(1)
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.failure: BaseException | None = None
        self.sent: dict[str, Sent] = {}

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        self._enough.set()
        self._thread.join()
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            while not self._enough.is_set():
                category = self._chance.choice(_CATEGORIES)
                people = [f"p{next(self._numbers)}@chaos.example" for _ in range(self._chance.randint(1, 200))]
                accepted = self._callers[category].send(people, category)
                self.sent |= {to: Sent(name, category) for to, name in accepted.items()}
                while len(self.sent) - self._taken > _MOST_WAITING and not self._enough.wait(0.05):
                    pass
        except BaseException as failure:
            self.failure = failure

    @property
    def _taken(self) -> int:
        return self._stage.sink.number_taken


def run(seconds: float, seed: int, workers: int, sends: int | None = None) -> bool:
    """Until so many seconds have passed or, where a number is given, so many messages have been accepted."""
    chance = random.Random(seed)
    with open_stage() as stage:
        callers = {category: stage.tenant(category) for category in _CATEGORIES}
        for number in range(workers):
            stage.start_worker(batch_size=chance.choice([20, 50, 100]), skew=SKEWS[number % len(SKEWS)])
        faults, done = Faults(stage, chance), Counter[str]()
        load = Load(stage, callers, chance)
        begun = time.monotonic()
        load.start()
        while load.failure is None and (
            time.monotonic() < begun + seconds if sends is None else len(load.sent) < sends
        ):
            time.sleep(chance.uniform(0.2, 1.5))
            fault = faults.one()
            done[fault] += 1
            _say(f"{time.monotonic() - begun:6.1f} s  {fault}")
        stage.sink.behave_well()
        load.finish()
        _say(f"{time.monotonic() - begun:6.1f} s  no more faults: everything must end")
        _drain(stage, list(callers.values()))
        account = take_account(stage, load.sent, list(callers.values()))
        broken = account.broken(faults.killed, CONNECTIONS)
        broken += _strangers(stage)
        _show(account, done, faults, seed)
        for promise in broken:
            sys.stdout.write(f"BROKEN: {promise}\n")
        if broken:
            _show_unfinished(stage, callers)
        for caller in callers.values():
            caller.close()
        stage.stop_workers()
    return not broken


def _drain(stage: Stage, callers: list[Caller]) -> None:
    tenants = [caller.tenant_id for caller in callers]

    def all_ended() -> bool:
        stage.hasten(tenants)
        time.sleep(0.5)
        return not any(caller.unfinished() for caller in callers)

    try:
        eventually(all_ended, "an end for all", _DRAIN_SECONDS)
    except NotInTimeError as late:
        _say(str(late))


def _strangers(stage: Stage) -> list[str]:
    rows = stage.query("select name, rows from waypost.default_partition_rows() where rows > 0")
    return [f"{row['rows']} rows in the default partition {row['name']}" for row in rows]


def _show(account: Account, done: Counter[str], faults: Faults, seed: int) -> None:
    worst = max((account.doubt_by_worker[one] for one in faults.killed), default=0)
    lines = [
        ("accepted", account.accepted),
        *((f"ended {state}", many) for state, many in sorted(account.states.items())),
        ("lost", account.lost),
        *((f"doubled {category}", account.doubled[category]) for category in _CATEGORIES),
        *((f"in doubt {category}", account.in_doubt[category]) for category in _CATEGORIES),
        ("workers killed", len(faults.killed)),
        (f"in doubt after the worst kill (at most {CONNECTIONS})", worst),
        ("seed", seed),
    ]
    width = max(len(name) for name, _ in [*lines, *done.items()])
    text = [f"{name:<{width}}  {value:>8}" for name, value in sorted(done.items())]
    text += ["-" * (width + 10), *(f"{name:<{width}}  {value:>8}" for name, value in lines)]
    sys.stdout.write("\n".join(text) + "\n")


def _show_unfinished(stage: Stage, callers: dict[str, Caller]) -> None:
    for caller in callers.values():
        for name in caller.unfinished()[:3]:
            sys.stdout.write(f"{name}: {caller.ask('GET', f'/v1/notifications/{name}/timeline')}\n")
    kept = Path(tempfile.gettempdir()) / "waypost-chaos-worker.log"
    kept.write_text(stage.log("worker"))
    sys.stdout.write(f"The workers' log: {kept}\n")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    options = argparse.ArgumentParser(prog="chaos", description=__doc__)
    options.add_argument("--seconds", type=float, default=120)
    options.add_argument("--sends", type=int, help="go on until so many are accepted, however long it takes")
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options.add_argument("--workers", type=int, default=2)
    chosen = options.parse_args()
    sys.exit(0 if run(chosen.seconds, chosen.seed, chosen.workers, chosen.sends) else 1)


if __name__ == "__main__":
    main()
