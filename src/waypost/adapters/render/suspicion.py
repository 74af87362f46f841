"""Who killed or held up render children lately. A child of their own serves them, so that nobody waits behind them."""

from collections import OrderedDict
from typing import Final, TypeVar
from uuid import UUID

import structlog

from waypost.adapters.render.shelf import VersionKey
from waypost.kernel.clock import Clock

_TENANT_SECONDS: Final = 60.0
_VERSION_SECONDS: Final = 600.0
_MOST_REMEMBERED: Final = 10_000
_PATIENCE: Final = 64


_log = structlog.get_logger(__name__)

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Suspicion:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._versions: OrderedDict[VersionKey, float] = OrderedDict()
        self._tenants: OrderedDict[str, float] = OrderedDict()
        self._deaths_in_a_row: OrderedDict[str, int] = OrderedDict()
        self._proven: OrderedDict[VersionKey, None] = OrderedDict()

    def blame(self, tenant_id: str, version_id: UUID | None, kind: str) -> None:
        """A child died of this content, or of something of the tenant's that is no version yet."""
        _remember(self._deaths_in_a_row, tenant_id, self._deaths_in_a_row.get(tenant_id, 0) + 1)
        self.set_apart(tenant_id, version_id)
        _log.warning(
            "a content stopped its render process",
            action="render.child_lost",
            kind=kind,
            tenant_id=tenant_id,
            version_id=str(version_id) if version_id else None,
        )

    def set_apart(self, tenant_id: str, version_id: UUID | None) -> None:
        """The content is slow, or worse."""
        now = self._clock.monotonic()
        _remember(self._tenants, tenant_id, now)
        if version_id is not None:
            _remember(self._versions, (tenant_id, version_id), now)
            self._proven.pop((tenant_id, version_id), None)

    def acquit(self, tenant_id: str) -> None:
        """Something of the tenant's doubtful work went well."""
        self._deaths_in_a_row.pop(tenant_id, None)

    def trust(self, key: VersionKey) -> None:
        """The version rendered among others: while its tenant is suspected for another one, it stays there."""
        _remember(self._proven, key, None)

    def doubts(self, key: VersionKey) -> bool:
        if self._is_recent(self._versions.get(key), _VERSION_SECONDS):
            return True
        return key not in self._proven and self.doubts_tenant(key[0])

    def doubts_tenant(self, tenant_id: str) -> bool:
        return self._is_recent(self._tenants.get(tenant_id), _TENANT_SECONDS)

    def is_hopeless(self, tenant_id: str) -> bool:
        """Nothing but deaths came of the tenant's doubtful work for a long time."""
        return self._deaths_in_a_row.get(tenant_id, 0) >= _PATIENCE

    def _is_recent(self, moment: float | None, seconds: float) -> bool:
        return moment is not None and self._clock.monotonic() - moment < seconds


def _remember(memory: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> None:
    memory[key] = value
    memory.move_to_end(key)
    if len(memory) > _MOST_REMEMBERED:
        memory.popitem(last=False)
