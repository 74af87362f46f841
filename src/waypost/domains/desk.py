"""The use cases of domains under one name, as surfaces call them."""

from dataclasses import dataclass

from waypost.domains.manage import Domains
from waypost.domains.verify import Verify


@dataclass(frozen=True, kw_only=True, slots=True)
class DomainDesk:
    manage: Domains
    verify: Verify
