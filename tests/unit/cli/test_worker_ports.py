"""Several workers on one machine: how many, and on which port each tells its metrics."""

import os

import pytest

from waypost.cli.supervisor.workers import number_of, worker_settings
from waypost.kernel.errors import Misconfigured
from waypost.settings import Settings, load


def test_ports_follow_the_chosen_one_and_never_take_a_neighbours() -> None:
    chosen = Settings(processes="3", worker_metrics_port=9000)
    assert [one.worker_port for one in worker_settings(chosen, 9000)] == [9000, 9001, 9002]
    usual = Settings(processes="3", port=8800)
    assert [one.worker_port for one in worker_settings(usual, None)] == [8802, 0, 0]
    claimed = Settings(processes="2", port=8800, worker_metrics_port=8802)
    assert [one.worker_port for one in worker_settings(claimed, None)] == [8802, 0]
    assert len(list(worker_settings(Settings(), None))) == 1


def test_auto_is_one_for_each_core_this_process_may_use() -> None:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert number_of(load({"WAYPOST_PROCESSES": "auto"})) == cores


@pytest.mark.parametrize("given", ["0", "-1", "257", "many", "1.5"])
def test_a_number_that_makes_no_sense_is_refused(given: str) -> None:
    with pytest.raises(Misconfigured, match="must be `auto` or a whole number"):
        load({"WAYPOST_PROCESSES": given})
