"""Opens and clicks, joined to their store: what makes tracked links, and what stands behind them."""

from functools import cache
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry

from waypost.adapters.postgres.domains import PgDomains
from waypost.adapters.postgres.tracking import PgTracking
from waypost.bootstrap.meters import counter
from waypost.domains.model import Purpose
from waypost.domains.ports import StandingStore
from waypost.kernel.clock import Clock
from waypost.kernel.errors import NotFound
from waypost.kernel.vault import Keyring
from waypost.kernel.work import Transaction, Work
from waypost.notifications.instruments import Instruments
from waypost.settings import Settings
from waypost.tenants.ports import TenantStore
from waypost.tracking.read import TrackingLog
from waypost.tracking.record import Recorder
from waypost.tracking.visits import Visits


class TrackingHosts:
    """Implements `tracking.ports.TrackingHost`: a tenant's own tracking domain, else our own address. The scheme is
    ours: whoever keeps TLS in front of us keeps it for their names too."""

    def __init__(self, public_url: str, domains: StandingStore) -> None:
        self._base = public_url
        self._scheme = urlsplit(public_url).scheme
        self._domains = domains

    async def base_of(self, tx: Transaction) -> str:
        try:
            names = (await self._domains.standing(tx)).names(Purpose.TRACKING)
        except NotFound:
            return self._base
        return f"{self._scheme}://{min(names)}" if names else self._base


class TrackingMetrics:
    """Implements `tracking.ports.TrackingTelemetry`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._seen = cache(counter(registry, "waypost_tracking_total").labels)

    def seen(self, kind: str, result: str, times: int = 1) -> None:
        self._seen(kind, result).inc(times)


def instruments_of(settings: Settings, clock: Clock) -> Instruments:
    base = settings.api_url.rstrip("/")
    return Instruments(host=TrackingHosts(base, PgDomains()), public_url=base, clock=clock)


def tracking_log(keyring: Keyring) -> TrackingLog:
    return TrackingLog(store=PgTracking(), keyring=keyring)


def join_visits(
    *, work: Work, tenants: TenantStore, keyring: Keyring, registry: CollectorRegistry, clock: Clock
) -> tuple[Visits, Recorder]:
    telemetry = TrackingMetrics(registry)
    recorder = Recorder(work=work, store=PgTracking(), telemetry=telemetry, clock=clock)
    visits = Visits(work=work, tenants=tenants, keyring=keyring, recorder=recorder, telemetry=telemetry, clock=clock)
    return visits, recorder
