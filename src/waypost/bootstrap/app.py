"""What the surfaces work with: use cases, joined to their stores."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from waypost.kernel.clock import Clock
from waypost.kernel.work import Work
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.tenants.access import Access
    from waypost.tenants.accounts import Tenants
    from waypost.tenants.audit import Audit
    from waypost.tenants.idempotency import Idempotency
    from waypost.tenants.keys import ApiKeys


@dataclass(frozen=True, kw_only=True)
class App:
    settings: Settings
    clock: Clock
    work: Work
    access: "Access"
    audit: "Audit"
    idempotency: "Idempotency"
    tenants: "Tenants"
    keys: "ApiKeys"
