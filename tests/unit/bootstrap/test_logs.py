"""One line per event, and nobody's address or key in it."""

import json
import subprocess
import sys

import pytest

from waypost.bootstrap.logs import mask

SECRETS = ["jane.doe+x@example.com", "wp_test_abcdefgh12345678", "hunter2", "c2VjcmV0LXRva2Vu"]
SCRIPT = """
import logging, structlog
from waypost.bootstrap import logs
from waypost.settings import load
logs.configure(load({"WAYPOST_LOG_FORMAT": "%s"}), process="api")
log = structlog.stdlib.get_logger("waypost.test")
log.info("to jane.doe+x@example.com", action="a", key="wp_test_abcdefgh12345678", url="smtp://u:hunter2@h", n=3)
logging.getLogger("foreign").warning("Authorization: Bearer c2VjcmV0LXRva2Vu by %%s", "jane.doe+x@example.com")
try:
    raise ValueError("bad jane.doe+x@example.com")
except ValueError:
    log.exception("broken", action="b")
log.debug("not written")
log.warning("odd", text="half \\ud800", number=2**70, path=__import__("pathlib").PurePath("x"))
"""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("mail to jane@example.com now", "mail to ***@*** now"),
        ("wp_live_0123456789abcdef!", "wp_live_***!"),
        ("wp_platform_0123456789abcdef", "wp_platform_***"),
        ("postgresql://waypost_api:s3cret@/postgres?host=/x", "postgresql://waypost_api:***@/postgres?host=/x"),
        ("Bearer abcdefghijk", "Bearer ***"),
        ("nothing to hide: ntf_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q", "nothing to hide: ntf_01KF0M7Q8Z6Y5X4W3V2T1S0R9Q"),
    ],
)
def test_what_must_not_be_seen_is_masked(text: str, shown: str) -> None:
    assert mask(text) == shown


@pytest.mark.parametrize("form", ["json", "pretty"])
def test_every_line_is_masked_whoever_wrote_it(form: str) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT % form], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout == ""
    assert not [secret for secret in SECRETS if secret in done.stderr]
    assert "not written" not in done.stderr
    if form == "json":
        first, second, third, odd = (json.loads(line) for line in done.stderr.splitlines())
        assert (first["event"], first["level"], first["process"], first["n"]) == ("to ***@***", "info", "api", 3)
        assert second["logger"] == "foreign"
        assert "ValueError" in third["exception"]
        assert (odd["level"], odd["text"], odd["number"]) == ("warning", "half \ud800", 2**70)


@pytest.mark.parametrize("form", ["json", "pretty"])
def test_a_log_that_nobody_reads_stops_nobody(form: str) -> None:
    script = f"import os, sys\nos.close(2)\nos.open('/dev/full', os.O_WRONLY)\n{SCRIPT % form}\nprint('still here')"
    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, timeout=30)
    assert done.stdout == "still here\n"
