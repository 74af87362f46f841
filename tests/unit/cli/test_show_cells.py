"""People read words, never the names of our classes."""

import pytest

from waypost.cli.show import Output
from waypost.client.jobs import Progress


def test_what_is_inside_an_answer_is_told_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    answer = {"progress": Progress(done=3, total=None, unit="rows"), "result": {"rows": 3, "dry_run": False, "of": [1]}}
    Output(as_json=False).one(answer, title="Job")
    shown = capsys.readouterr().out
    assert "done: 3, total: –, unit: rows" in shown
    assert "rows: 3, dry_run: no, of: 1" in shown
    assert "Progress(" not in shown
