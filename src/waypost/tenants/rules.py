"""Pure decisions about tenants and keys."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from waypost.kernel.errors import Conflict, FieldError, Forbidden, Refused, refuse
from waypost.kernel.tenancy import PLATFORM, PLATFORM_ONLY, Permission, Scope, Withheld
from waypost.tenants.model import TRANSITIONS, TenantStatus

LONGEST_NAME: Final = 200
MOST_SCOPES: Final = 64
_SLUG: Final = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]\Z")

READING: Final = frozenset(
    {
        Permission.NOTIFICATIONS_READ,
        Permission.RECIPIENTS_READ,
        Permission.TEMPLATES_READ,
        Permission.TOPICS_READ,
        Permission.SUPPRESSIONS_READ,
        Permission.SENDERS_READ,
        Permission.DOMAINS_READ,
        Permission.SETTINGS_READ,
        Permission.TRIGGERS_READ,
        Permission.INBOX_READ,
        Permission.WEBHOOKS_READ,
        Permission.MAILBOX_READ,
        Permission.OPERATIONS_READ,
        Permission.AUDIT_READ,
    }
)
PLATFORMS_OWN: Final = PLATFORM_ONLY | {
    Permission.KEYS_MANAGE,
    Permission.AUDIT_READ,
    Permission.SUPPRESSIONS_READ,
    Permission.SUPPRESSIONS_WRITE,
    Permission.TEMPLATES_READ,
    Permission.TEMPLATES_WRITE,
    Permission.TEMPLATES_APPROVE,
    Permission.TRIGGERS_READ,
    Permission.TRIGGERS_WRITE,
    Permission.DOMAINS_READ,
    Permission.DOMAINS_MANAGE,
    Permission.OPERATIONS_READ,
    Permission.OPERATIONS_WRITE,
}
"""What a platform key may do without naming a tenant."""


def is_slug(text: str) -> bool:
    return bool(_SLUG.match(text))


def read_slug(text: str, pointer: str) -> str:
    if not is_slug(text):
        message = "An id has 3 to 63 lower-case letters, digits and hyphens, and no hyphen at its ends."
        raise refuse(pointer, "invalid_id", message)
    return text


def read_name(text: str, pointer: str) -> str:
    if not 1 <= len(text) <= LONGEST_NAME or not text.strip() or not text.isprintable():
        raise refuse(pointer, "invalid_name", f"A name has 1 to {LONGEST_NAME} printable characters.")
    return text


def read_scopes(words: Iterable[str], pointer: str) -> frozenset[Permission]:
    """The permissions these words name. The closed list is `Permission`."""
    given = list(words)
    if not given:
        raise refuse(pointer, "required", "Name at least one scope.")
    if len(given) > MOST_SCOPES:
        raise refuse(pointer, "too_many", f"Name at most {MOST_SCOPES} scopes.")
    known = {permission.value: permission for permission in Permission}
    message = f"Not a scope. The scopes are: {', '.join(known)}."
    errors = [
        FieldError(pointer=f"{pointer}/{index}", code="unknown_scope", message=message)
        for index, word in enumerate(given)
        if word not in known
    ]
    if errors:
        raise Refused(message, code="unknown_scope", errors=errors)
    return frozenset(known[word] for word in given)


def check_grant(scope: Scope, tenant_id: str, wanted: frozenset[Permission]) -> None:
    """A key never grants more than it has, and what is the platform's stays on platform keys."""
    if tenant_id != PLATFORM and wanted & PLATFORM_ONLY:
        words = ", ".join(sorted(wanted & PLATFORM_ONLY))
        raise refuse("/scopes", "platform_scope", f"Only keys of the platform may carry {words}.")
    if beyond := wanted - scope.held:
        raise Forbidden(
            f"A key cannot grant what it does not have: {', '.join(sorted(beyond))}.", code="scope_not_held"
        )


def check_expiry(expires_at: datetime | None, now: datetime) -> None:
    if expires_at is not None and expires_at <= now:
        raise refuse("/expires_at", "in_the_past", "Must lie in the future.")


def check_transition(current: TenantStatus, wanted: TenantStatus) -> None:
    if wanted is not current and wanted not in TRANSITIONS[current]:
        raise Conflict(f"A tenant that is {current.value} cannot become {wanted.value}.", code="illegal_transition")


def standing(status: TenantStatus, carried: frozenset[Permission]) -> Withheld | None:
    """What a tenant's status takes from a key; refuses outright where nothing is left."""
    if status is TenantStatus.DELETING:
        raise Forbidden("This tenant is being deleted.", code="tenant_deleting")
    if status is TenantStatus.SUSPENDED:
        message = "This tenant is suspended: it can be read, but nothing can be sent or changed."
        return Withheld(permissions=carried - READING, code="tenant_suspended", message=message)
    if status is TenantStatus.ONBOARDING:
        message = "This tenant is still being set up: it cannot send until it is active."
        withheld = carried & {Permission.NOTIFICATIONS_SEND, Permission.EVENTS_SEND}
        return Withheld(permissions=withheld, code="tenant_onboarding", message=message)
    return None


def without_tenant(carried: frozenset[Permission]) -> Withheld:
    """What a platform key may only do for a tenant that it names."""
    message = "Name the tenant this is for in the header Waypost-Tenant."
    return Withheld(permissions=carried - PLATFORMS_OWN, code="tenant_required", message=message)
