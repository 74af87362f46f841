"""A short run of `make chaos`, so that it never rots; and proof that its account finds what is wrong."""

from collections import Counter
from uuid import uuid4

import pytest
from benchmarks.chaos.__main__ import run
from benchmarks.chaos.account import Account


@pytest.mark.timeout(240)
def test_ten_seconds_of_chaos_break_no_promise() -> None:
    assert run(seconds=10, seed=11, workers=2)


def _account(**changes: object) -> Account:
    fine = {"accepted": 10, "states": Counter(dispatched=10), "lost": 0, "doubt_by_worker": Counter()}
    return Account(**{**fine, "renamed": 0, "news": 0, **changes})  # type: ignore[arg-type]


def test_the_account_finds_every_broken_promise() -> None:
    worker = uuid4()
    assert _account().broken([worker], 4) == []
    for wrong in (
        {"lost": 1},
        {"doubled": Counter(marketing=1)},
        {"doubled": Counter(transactional=2), "in_doubt": Counter(transactional=1)},
        {"doubt_by_worker": Counter({worker: 5})},
        {"renamed": 1},
        {"news": 1},
    ):
        assert len(_account(**wrong).broken([worker], 4)) == 1, wrong
    doubtful = {"doubled": Counter(transactional=2), "in_doubt": Counter(transactional=2)}
    assert _account(**doubtful).broken([worker], 4) == []
