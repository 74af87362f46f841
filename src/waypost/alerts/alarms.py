"""Opening and closing alerts, by whoever finds something wrong, in their own transaction."""

from collections.abc import Mapping
from typing import Final

import structlog

from waypost.alerts.model import AlertKind
from waypost.alerts.ports import AlertStore
from waypost.alerts.rules import harmless
from waypost.kernel.clock import Clock
from waypost.kernel.ids import mint
from waypost.kernel.jsontypes import JsonValue
from waypost.kernel.work import Transaction

_log: Final = structlog.stdlib.get_logger()
_LONGEST_SUBJECT: Final = 253


class Alarms:
    """Implements `alerts.ports.Alarm`. Nobody is called here: a worker tells the targets once this is committed."""

    def __init__(self, *, store: AlertStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def open(
        self, tx: Transaction, kind: AlertKind, subject: str, facts: Mapping[str, JsonValue] | None = None
    ) -> None:
        shown = harmless({"subject": subject, **(facts or {})})
        about = str(shown.pop("subject"))[:_LONGEST_SUBJECT]
        if await self._store.open(tx, mint(self._clock), kind, about, shown, self._clock.now()):
            _log.warning("alert opened", action="alert_opened", kind=kind.value, tenant=tx.tenant_id)

    async def close(self, tx: Transaction, kind: AlertKind, subject: str) -> None:
        about = str(harmless({"subject": subject})["subject"])[:_LONGEST_SUBJECT]
        if await self._store.close(tx, kind, about, self._clock.now()):
            _log.info("alert closed", action="alert_closed", kind=kind.value, tenant=tx.tenant_id)
