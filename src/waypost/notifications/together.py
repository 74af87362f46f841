"""Calls of one tenant that arrive while another is being stored go together next: one transaction, one commit.

A transaction costs many times what a small call adds to it. A call that nobody is ahead of goes at once and alone; so
does each of a group that could not be stored, which then has changed nothing. As long as calls keep coming, groups set
off some milliseconds apart, so that a few are in each. Nobody waits long behind others that take long themselves: after
a moment those behind go as well, the fewer the more are under way already.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias, TypeVar

from waypost.kernel.clock import Clock
from waypost.kernel.errors import Refused
from waypost.kernel.tenancy import Scope
from waypost.kernel.work import HastyWork, Transaction
from waypost.notifications.model import Accepted, SubmitCommand
from waypost.notifications.ports import SubmitCall
from waypost.notifications.runs import runs
from waypost.tenants.idempotency import Idempotency, KeyedCall, is_key
from waypost.tenants.model import StoredAnswer

_MOST_TOGETHER: Final = 32
_MOST_RECIPIENTS: Final = 10
_PACE_SECONDS: Final = 0.005
"""Between one group and the next, where somebody waits: time enough for more to come, too little for anyone to mind."""
_PATIENCE_SECONDS: Final = 0.015
"""Behind one that is under way. Behind each further one it is twice as long: where the database stands still, calls
must not take all of its connections."""
_TRIES: Final = range(2)
"""Together; the second is without those whose keys the first found used."""
_MOST_KEYS: Final = 10_000


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Asked:
    """One call, and how its answer will read, which is kept with its key."""

    scope: Scope
    command: SubmitCommand
    route: str
    call: KeyedCall | None
    form: Callable[[Accepted], StoredAnswer]


class _Alone(Enum):
    ALONE = "go alone"


class _KeysUsed(Exception):
    """Somebody had used them before: nothing of the group is kept."""

    def __init__(self, keys: Set[str]) -> None:
        super().__init__()
        self.keys = keys


Told: TypeAlias = StoredAnswer | Refused | _Alone
Answer = TypeVar("Answer")


@dataclass(eq=False, slots=True)
class _Waiting:
    asked: Asked
    told: "asyncio.Future[StoredAnswer | _Alone]"


@dataclass(eq=False, slots=True)
class _Line:
    """One tenant's calls. `turn` counts those who went; those behind wait for whoever has the last number."""

    turn: int = 1
    under_way: int = 1
    waiting: list[_Waiting] = field(default_factory=list[_Waiting])
    patience: asyncio.Task[None] | None = None


class Together:
    def __init__(self, *, work: HastyWork, submit: SubmitCall, idempotency: Idempotency, clock: Clock) -> None:
        self._work = work
        self._submit = submit
        self._idempotency = idempotency
        self._clock = clock
        self._lines: dict[str, _Line] = {}
        self._groups: set[asyncio.Task[None]] = set()
        self._keys: OrderedDict[tuple[str, str], None] = OrderedDict()
        """Those that came lately: whoever comes again with one is looked at alone, and delays no group."""

    async def __call__(
        self, tenant_id: str, alone: Callable[[], Awaitable[Answer]], ask: Callable[[], Asked]
    ) -> Answer | StoredAnswer:
        """What `alone` answers, which has a transaction of its own; or what the transaction of a group did."""
        line = self._lines.get(tenant_id)
        if line is None:
            line = self._lines[tenant_id] = _Line()
            try:
                return await alone()
            finally:
                line.under_way -= 1
                self._end(tenant_id, line, 1)
        asked = ask()
        if not _is_small(asked.command):
            return await alone()
        told = await self._wait(tenant_id, line, asked)
        return told if isinstance(told, StoredAnswer) else await alone()

    async def _wait(self, tenant_id: str, line: _Line, asked: Asked) -> StoredAnswer | _Alone:
        one = _Waiting(asked, asyncio.get_running_loop().create_future())
        line.waiting.append(one)
        if line.patience is None:
            line.patience = asyncio.create_task(self._lose_patience(tenant_id, line, line.turn))
        return await one.told

    async def _lose_patience(self, tenant_id: str, line: _Line, turn: int) -> None:
        await self._clock.sleep(_PATIENCE_SECONDS * 2 ** max(line.under_way - 1, 0))
        line.patience = None
        self._end(tenant_id, line, turn)

    def _end(self, tenant_id: str, line: _Line, turn: int) -> None:
        """Whoever had this turn is done, or is not waited for any longer."""
        if line.turn != turn:
            return
        line.turn += 1
        if line.patience is not None:
            line.patience.cancel()
            line.patience = None
        group = [one for one in line.waiting[:_MOST_TOGETHER] if not one.told.done()]
        del line.waiting[:_MOST_TOGETHER]
        if not group:
            del self._lines[tenant_id]
            for left in line.waiting:
                _tell(left, _Alone.ALONE)
            return
        task = asyncio.create_task(self._go(tenant_id, line, line.turn, group))
        self._groups.add(task)
        task.add_done_callback(self._groups.discard)

    async def _go(self, tenant_id: str, line: _Line, turn: int, group: Sequence[_Waiting]) -> None:
        told: Sequence[Told | Exception]
        set_off = self._clock.monotonic()
        line.under_way += 1
        try:
            told = await self._store(tenant_id, [one.asked for one in group], lambda: bool(line.waiting))
        except Exception as unknown:
            told = [unknown] * len(group)
        line.under_way -= 1
        for one, answer in zip(group, told, strict=True):
            _tell(one, answer)
        early = set_off + _PACE_SECONDS - self._clock.monotonic()
        if early > 0 and 0 < len(line.waiting) < _MOST_TOGETHER:
            await self._clock.sleep(early)
        self._end(tenant_id, line, turn)

    async def _store(
        self, tenant_id: str, group: Sequence[Asked], goes_on: Callable[[], bool] | None = None
    ) -> Sequence[Told]:
        """Raises only where the commit's outcome is unknown: then nobody may try again by themselves."""
        going = [asked for asked in group if asked.call is None or self._is_new(tenant_id, asked.call.key)]
        for _ in _TRIES if going else ():
            told: Mapping[Asked, Told] | None = None
            try:
                async with self._work.begin(tenant_id, waits=False, goes_on=goes_on) as tx:
                    told = await self._take_in(tx, going)
            except _KeysUsed as found:
                going = [asked for asked in going if asked.call is None or asked.call.key not in found.keys]
                continue
            except Exception:
                if told is not None:
                    raise
                break
            return [told.get(asked, _Alone.ALONE) for asked in group]
        return [_Alone.ALONE] * len(group)

    async def _take_in(self, tx: Transaction, going: Sequence[Asked]) -> Mapping[Asked, Told]:
        told: dict[Asked, StoredAnswer | Refused] = {}
        for run in runs(going):
            answers = await self._submit.each(tx, [(asked.scope, asked.command) for asked in run])
            for asked, answer in zip(run, answers, strict=True):
                told[asked] = answer if isinstance(answer, Refused) else asked.form(answer)
        kept: list[tuple[KeyedCall, StoredAnswer]] = []
        refused: list[Asked] = []
        for asked, answer in told.items():
            if isinstance(answer, Refused):
                refused.append(asked)
            elif asked.call is not None:
                kept.append((asked.call, answer))
        if used := await self._idempotency.keep_new(tx, going[0].route, kept):
            raise _KeysUsed(used)
        # What would be refused today may have been accepted when it came first.
        used = await self._idempotency.used_among(tx, [asked.call.key for asked in refused if asked.call is not None])
        return {asked: answer for asked, answer in told.items() if asked.call is None or asked.call.key not in used}

    def _is_new(self, tenant_id: str, key: str) -> bool:
        """A key that came lately, or with a twin in this very group, or that is none, must be looked at alone."""
        place = (tenant_id, key)
        if place in self._keys or not is_key(key):
            return False
        self._keys[place] = None
        if len(self._keys) > _MOST_KEYS:
            self._keys.popitem(last=False)
        return True


def _is_small(command: SubmitCommand) -> bool:
    return len(command.to) <= _MOST_RECIPIENTS and command.to_list is None and not command.attachments


def _tell(one: _Waiting, answer: Told | Exception) -> None:
    if one.told.done():
        return
    if isinstance(answer, Exception):
        one.told.set_exception(answer)
    else:
        one.told.set_result(answer)
