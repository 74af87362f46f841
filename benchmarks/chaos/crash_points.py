"""Named places on a worker's road at which its process can be made to die, as if by SIGKILL from outside.

`CHAOS_CRASH=after_claim:3` in the environment of `odd_host`: at the third claim, between the commit and what follows.
"""

import importlib
import inspect
import os
import signal
from collections.abc import Callable
from functools import wraps
from itertools import count
from typing import Any

VARIABLE = "CHAOS_CRASH"
_BEFORE, _AFTER = "before", "after"
_DISPATCH = "waypost.adapters.postgres.dispatch:PgDispatch"
_JOURNAL = "waypost.adapters.journal.writer:Page"
POINTS = {
    "before_claim": (_DISPATCH, "claim", _BEFORE),
    "after_claim": (_DISPATCH, "claim", _AFTER),
    "before_compose": ("waypost.notifications.compose:MailComposer", "compose", _BEFORE),
    "after_compose": ("waypost.notifications.compose:MailComposer", "compose", _AFTER),
    "before_the_wire_is_noted": (_JOURNAL, "going", _BEFORE),
    "after_the_wire_is_noted": (_JOURNAL, "going", _AFTER),
    "before_the_reply_is_noted": (_JOURNAL, "answered", _BEFORE),
    "after_the_reply_is_noted": (_JOURNAL, "answered", _AFTER),
    "before_settle": (_DISPATCH, "settle", _BEFORE),
    "after_settle": (_DISPATCH, "settle", _AFTER),
    "before_the_page_is_closed": (_JOURNAL, "close", _BEFORE),
}


def set_trap() -> None:
    """As the environment says, if it says anything."""
    wanted = os.environ.get(VARIABLE)
    if not wanted:
        return
    name, _, number = wanted.partition(":")
    place, method, when = POINTS[name]
    module, _, owner = place.partition(":")
    victim = getattr(importlib.import_module(module), owner)
    setattr(victim, method, _trapped(getattr(victim, method), when, int(number or 1)))


def _trapped(method: Callable[..., Any], when: str, deadly: int) -> Callable[..., Any]:
    calls = count(1)

    def passes() -> bool:
        return next(calls) != deadly

    if inspect.iscoroutinefunction(method):

        @wraps(method)
        async def in_time(*arguments: Any, **named: Any) -> Any:
            alive = passes()
            if not alive and when == _BEFORE:
                _die()
            answer = await method(*arguments, **named)
            if not alive:
                _die()
            return answer

        return in_time

    @wraps(method)
    def at_once(*arguments: Any, **named: Any) -> Any:
        alive = passes()
        if not alive and when == _BEFORE:
            _die()
        answer = method(*arguments, **named)
        if not alive:
            _die()
        return answer

    return at_once


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
