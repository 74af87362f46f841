"""Who is asking, for which tenant, and what they may do. Made by authentication only."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import UUID

from waypost.kernel.errors import Forbidden
from waypost.kernel.vocabulary import TenantMode

PLATFORM: Final = "_platform"
"""The pseudo-tenant that owns platform keys, platform audit rows and stored answers of platform calls."""


class Permission(StrEnum):
    """The closed list of scopes that a key may carry."""

    NOTIFICATIONS_SEND = "notifications:send"
    NOTIFICATIONS_READ = "notifications:read"
    RECIPIENTS_READ = "recipients:read"
    RECIPIENTS_WRITE = "recipients:write"
    RECIPIENTS_EXPORT = "recipients:export"
    """Files with addresses in the clear, which are masked everywhere else."""
    RECIPIENTS_TOKEN = "recipients:token"  # noqa: S105 - a name, no secret
    TEMPLATES_READ = "templates:read"
    TEMPLATES_WRITE = "templates:write"
    TEMPLATES_APPROVE = "templates:approve"
    TOPICS_READ = "topics:read"
    TOPICS_WRITE = "topics:write"
    SUPPRESSIONS_READ = "suppressions:read"
    SUPPRESSIONS_WRITE = "suppressions:write"
    SENDERS_READ = "senders:read"
    SENDERS_WRITE = "senders:write"
    SETTINGS_READ = "settings:read"
    SETTINGS_WRITE = "settings:write"
    EVENTS_SEND = "events:send"
    TRIGGERS_READ = "triggers:read"
    TRIGGERS_WRITE = "triggers:write"
    INBOX_READ = "inbox:read"
    INBOX_WRITE = "inbox:write"
    INBOX_POST = "inbox:post"
    DOMAINS_READ = "domains:read"
    DOMAINS_MANAGE = "domains:manage"
    WEBHOOKS_READ = "webhooks:read"
    WEBHOOKS_MANAGE = "webhooks:manage"
    MAILBOX_READ = "mailbox:read"
    OPERATIONS_READ = "operations:read"
    """The queue, pauses, dead letters, alerts."""
    OPERATIONS_WRITE = "operations:write"
    AUDIT_READ = "audit:read"
    KEYS_MANAGE = "keys:manage"
    TENANTS_MANAGE = "tenants:manage"
    TENANTS_ACT = "tenants:act"


PLATFORM_ONLY: Final = frozenset({Permission.TENANTS_MANAGE, Permission.TENANTS_ACT})


@dataclass(frozen=True, kw_only=True, slots=True)
class Withheld:
    """Permissions that the key carries but that do not hold now, and why (the tenant is suspended, say)."""

    permissions: frozenset[Permission]
    code: str
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    tenant_id: str
    mode: TenantMode
    key_id: UUID
    key_tenant: str
    """The tenant the key belongs to: `_platform` when a platform key acts for `tenant_id`."""
    permissions: frozenset[Permission]
    request_id: str
    withheld: Withheld | None = None

    @property
    def held(self) -> frozenset[Permission]:
        """All that the key carries: what it may grant to another key."""
        return self.permissions | self.withheld.permissions if self.withheld else self.permissions

    @property
    def is_platform(self) -> bool:
        return self.tenant_id == PLATFORM

    def demand(self, permission: Permission) -> None:
        if permission in self.permissions:
            return
        if self.withheld and permission in self.withheld.permissions:
            raise Forbidden(self.withheld.message, code=self.withheld.code)
        raise Forbidden(f"This key lacks the scope {permission.value}.", code="missing_scope")
