"""Opens and clicks, joined to their store: what makes tracked links, and what stands behind them."""

from functools import cache

from prometheus_client import CollectorRegistry

from waypost.adapters.postgres.tracking import PgTracking
from waypost.bootstrap.meters import counter
from waypost.kernel.clock import Clock
from waypost.kernel.vault import Keyring
from waypost.kernel.work import Transaction, Work
from waypost.notifications.instruments import Instruments
from waypost.settings import Settings
from waypost.tenants.ports import TenantStore
from waypost.tracking.read import TrackingLog
from waypost.tracking.record import Recorder
from waypost.tracking.visits import Visits


class PublicHost:
    """Implements `tracking.ports.TrackingHost`: everybody reaches us under our own address."""

    def __init__(self, public_url: str) -> None:
        self._base = public_url

    async def base_of(self, tx: Transaction) -> str:
        del tx
        return self._base


class TrackingMetrics:
    """Implements `tracking.ports.TrackingTelemetry`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._seen = cache(counter(registry, "waypost_tracking_total").labels)

    def seen(self, kind: str, result: str) -> None:
        self._seen(kind, result).inc()


def instruments_of(settings: Settings, clock: Clock) -> Instruments:
    base = settings.api_url.rstrip("/")
    return Instruments(host=PublicHost(base), public_url=base, clock=clock)


def tracking_log(keyring: Keyring) -> TrackingLog:
    return TrackingLog(store=PgTracking(), keyring=keyring)


def join_visits(
    *, work: Work, tenants: TenantStore, keyring: Keyring, registry: CollectorRegistry, clock: Clock
) -> tuple[Visits, Recorder]:
    telemetry = TrackingMetrics(registry)
    recorder = Recorder(work=work, store=PgTracking(), telemetry=telemetry, clock=clock)
    visits = Visits(work=work, tenants=tenants, keyring=keyring, recorder=recorder, telemetry=telemetry, clock=clock)
    return visits, recorder
