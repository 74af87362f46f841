"""The faults that chaos chooses from. Each leaves the stage able to go on."""

import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from uuid import UUID

import psutil

from benchmarks.chaos.crash_points import POINTS
from benchmarks.chaos.stage import LEASE, NotInTimeError, Running, Stage, eventually

_PATIENCE = 5.0
SKEWS = (-600.0, 600.0)
"""The hosts of any two workers may be twenty minutes apart."""


class Faults:
    def __init__(self, stage: Stage, chance: random.Random) -> None:
        self._stage = stage
        self._chance = chance
        self.killed: list[UUID] = []
        """Workers that were killed, and were never stopped beyond their lease."""
        self.stopped: set[UUID] = set()
        self.all: tuple[tuple[int, Callable[[], None]], ...] = (
            (6, self.kill_a_worker),
            (3, self.let_a_worker_die_at_a_named_point),
            (3, self.kill_the_api),
            (2, self.restart_the_database),
            (2, self.stop_a_worker_beyond_its_lease),
            (2, self.kill_a_render_child),
            (1, self.cut_database_connections),
            (2, self.let_the_mail_server_cut_lines),
            (2, self.let_the_mail_server_say_something_poisonous),
            (1, self.take_the_database_away_for_ten_leases),
            (1, self.let_a_clock_jump),
            (1, self.replace_a_worker_in_order),
        )

    def one(self) -> str:
        weights, choices = zip(*self.all, strict=True)
        [fault] = self._chance.choices(choices, weights)
        fault()
        return fault.__name__.replace("_", " ")

    def kill_a_worker(self) -> None:
        """While the mail server is slow, so that the kill finds something on the wire."""
        worker = self._a_worker()
        if self._chance.random() < 0.6:
            self._stage.sink.behave(hold=True)
            self._pause(0.3)
        self._kill(worker)
        self._stage.sink.behave(hold=False)
        self._pause(0.5)
        self._replace(worker)

    def let_a_worker_die_at_a_named_point(self) -> None:
        point = f"{self._chance.choice(list(POINTS))}:{self._chance.randint(1, 20)}"
        doomed = self._stage.start_worker(crash=point, wait=False)
        with suppress(NotInTimeError):
            eventually(lambda: not doomed.alive, f"a death at {point}", _PATIENCE)
        doomed.id = self._stage.signed_on_as(doomed)
        self._stage.workers.remove(doomed)
        self._kill(doomed)

    def kill_the_api(self) -> None:
        self._stage.api.kill()
        self._pause(0.3)
        self._stage.start_api()

    def restart_the_database(self) -> None:
        how = self._chance.choice([signal.SIGINT, signal.SIGQUIT, signal.SIGKILL])
        hold = self._chance.random() < 0.5
        self._stage.sink.behave(hold=hold)
        self._pause(0.2)
        self._stage.stop_database(how)
        self._stage.sink.behave(hold=False)
        doomed = self._a_worker() if self._chance.random() < 0.3 else None
        if doomed is not None:
            self._kill(doomed)
        self._pause(2 * LEASE)
        self._stage.start_database()
        if doomed is not None:
            self._replace(doomed)

    def stop_a_worker_beyond_its_lease(self) -> None:
        worker = self._a_worker()
        if worker.id is not None:
            self.stopped.add(worker.id)
        self._stage.sink.behave(hold=True)
        self._pause(0.2)
        worker.signal(signal.SIGSTOP)
        self._stage.sink.behave(hold=False)
        time.sleep(self._chance.uniform(0.5, 3.0) * LEASE)
        worker.signal(signal.SIGCONT)

    def kill_a_render_child(self) -> None:
        with suppress(psutil.NoSuchProcess, IndexError):
            children = self._stage.children_of(self._a_worker())
            self._chance.choice(children).kill()

    def cut_database_connections(self) -> None:
        """The bell and the listener among them."""
        self._stage.query(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where application_name like 'waypost%' and random() < 0.7"
        )

    def let_the_mail_server_cut_lines(self) -> None:
        self._stage.sink.behave(drop_before=1.0, drop_after=1.0)
        self._pause(0.5)
        self._stage.sink.behave(drop_before=0.0, drop_after=0.0)

    def let_the_mail_server_say_something_poisonous(self) -> None:
        """One reply in a batch that no database would keep, or that is no reply at all."""
        self._stage.sink.behave(poison=1.0)
        self._pause(2.0)
        self._stage.sink.behave(poison=0.0)

    def take_the_database_away_for_ten_leases(self) -> None:
        """Between the mail server's word and the settlement of what it has said."""
        self._stage.sink.behave(hold=True)
        self._pause(0.3)
        self._stage.stop_database(self._chance.choice([signal.SIGINT, signal.SIGQUIT, signal.SIGKILL]))
        self._stage.sink.behave(hold=False)
        time.sleep(10 * LEASE)
        self._stage.start_database()

    def let_a_clock_jump(self) -> None:
        self._a_worker().signal(self._chance.choice([signal.SIGUSR1, signal.SIGUSR2]))

    def replace_a_worker_in_order(self) -> None:
        worker = self._a_worker()
        worker.stop()
        self._replace(worker)

    def _kill(self, worker: Running) -> None:
        worker.kill()
        if worker.id is not None and worker.id not in self.stopped:
            self.killed.append(worker.id)

    def _a_worker(self) -> Running:
        return self._chance.choice(self._stage.workers)

    def _replace(self, worker: Running) -> None:
        self._stage.workers.remove(worker)
        self._stage.start_worker(skew=self._chance.choice(SKEWS))

    def _pause(self, most: float) -> None:
        time.sleep(self._chance.uniform(0, most))
