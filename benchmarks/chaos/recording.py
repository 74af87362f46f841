"""The recording mail server, seen from outside its process."""

import base64
import json
import socket
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


class RecordingSink:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.chaos.sink"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdout is not None
        self.port, orders = json.loads(self._process.stdout.readline())
        self._line = socket.create_connection(("127.0.0.1", orders))
        self._orders = self._line.makefile("rw")
        self._turn = threading.Lock()
        self._known: list[tuple[str, str]] = []

    def close(self) -> None:
        self._orders.close()
        self._line.close()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.terminate()
        self._process.wait()
        self._process.stdout.close()

    def behave(self, **manners: object) -> None:
        """See `sink.Manners`; what is not named stays as it is."""
        self._ask({"do": "behave", "manners": manners})

    def script(self, replies: Mapping[str, Mapping[str, bytes | str]]) -> None:
        """By recipient and step: the very bytes of the reply, or the word `endless`."""
        spelled = {
            to: {
                step: reply if isinstance(reply, str) else base64.b64encode(reply).decode()
                for step, reply in steps.items()
            }
            for to, steps in replies.items()
        }
        self.behave(scripts=spelled)

    def behave_well(self) -> None:
        self.behave(greeting=True, hold=False, pause=0.0, drop_before=0.0, drop_after=0.0, poison=0.0, scripts={})

    @property
    def held(self) -> int:
        """Messages taken and kept silent about."""
        return self._ask({"do": "look"})["held"]

    @property
    def lines(self) -> int:
        """Callers on the line."""
        return self._ask({"do": "look"})["lines"]

    @property
    def number_taken(self) -> int:
        return self._ask({"do": "look"})["taken"]

    def taken(self) -> list[tuple[str, str]]:
        """(recipient, Message-ID) of every message taken, in order."""
        self._known += [(to, name) for to, name in self._ask({"do": "tell", "since": len(self._known)})["messages"]]
        return self._known

    def copies(self) -> Counter[str]:
        """How often each recipient was written to."""
        return Counter(to for to, _ in self.taken())

    def names(self) -> dict[str, set[str]]:
        """The Message-IDs that each recipient saw."""
        names: defaultdict[str, set[str]] = defaultdict(set)
        for to, name in self.taken():
            names[to].add(name)
        return names

    def _ask(self, order: Mapping[str, object]) -> dict[str, Any]:
        with self._turn:
            self._orders.write(json.dumps(order) + "\n")
            self._orders.flush()
            return json.loads(self._orders.readline())
