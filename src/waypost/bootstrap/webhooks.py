"""Webhooks, joined for the API."""

from datetime import timedelta

from waypost.adapters.postgres.webhook_deliveries import PgDeliveries
from waypost.adapters.postgres.webhook_endpoints import PgEndpoints
from waypost.bootstrap.outbound import guard_of, urls_of
from waypost.kernel.clock import Clock
from waypost.kernel.vault import Keyring
from waypost.outbox.deliveries import Deliveries
from waypost.outbox.desk import Webhooks
from waypost.outbox.endpoints import Endpoints
from waypost.settings import Settings
from waypost.tenants.audit import Audit


def webhooks_of(settings: Settings, *, keyring: Keyring, audit: Audit, clock: Clock) -> Webhooks:
    endpoints, deliveries = PgEndpoints(), PgDeliveries()
    return Webhooks(
        endpoints=Endpoints(
            store=endpoints,
            deliveries=deliveries,
            urls=urls_of(settings, guard_of(settings)),
            keyring=keyring,
            audit=audit,
            clock=clock,
        ),
        deliveries=Deliveries(
            store=deliveries,
            endpoints=endpoints,
            audit=audit,
            clock=clock,
            kept=timedelta(days=settings.replay_days),
        ),
    )
