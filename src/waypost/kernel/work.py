"""The unit of work: one transaction of the system of record, bound to one tenant.

Stores take the transaction as their first argument; only the adapter that made it knows what is inside.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol


class Transaction:
    """An open transaction. `tenant_id` is what row level security lets it see."""

    __slots__ = ("_after_commit", "tenant_id")

    def __init__(self, tenant_id: str) -> None:
        self.tenant_id = tenant_id
        self._after_commit: list[Callable[[], None]] = []

    def after_commit(self, callback: Callable[[], None]) -> None:
        """Called once the commit is certain; never after a rollback or an unknown outcome."""
        self._after_commit.append(callback)

    def announce(self) -> None:
        """For whoever has committed it."""
        for callback in self._after_commit:
            callback()


class Work(Protocol):
    def begin(self, tenant_id: str) -> AbstractAsyncContextManager[Transaction]:
        """Commits when the block ends, rolls back when it raises."""
        ...


class HastyWork(Protocol):
    def begin(
        self, tenant_id: str, *, waits: bool, goes_on: Callable[[], bool] | None = None
    ) -> AbstractAsyncContextManager[Transaction]:
        """The same; one that does not wait is rolled back where somebody else holds a lock that it needs. Where
        `goes_on` says at its end that the tenant's next follows within milliseconds, that one begins with its end."""
        ...
