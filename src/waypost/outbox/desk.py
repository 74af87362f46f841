"""Webhooks as surfaces reach them."""

from dataclasses import dataclass

from waypost.outbox.deliveries import Deliveries
from waypost.outbox.endpoints import Endpoints


@dataclass(frozen=True, kw_only=True, slots=True)
class Webhooks:
    endpoints: Endpoints
    deliveries: Deliveries
