"""The menu: only what the key may open."""

from dataclasses import dataclass
from typing import Final

from waypost.kernel.tenancy import Permission, Scope


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    label: str
    path: str
    icon: str
    permission: Permission
    group: str


@dataclass(frozen=True, kw_only=True, slots=True)
class MenuItem:
    label: str
    path: str
    icon: str
    group: str
    current: bool


_ENTRIES: Final = (
    Entry(label="Overview", path="/", icon="pulse", permission=Permission.NOTIFICATIONS_READ, group="Sending"),
    Entry(label="Messages", path="/messages", icon="send", permission=Permission.NOTIFICATIONS_READ, group="Sending"),
    Entry(
        label="Recipients", path="/recipients", icon="people", permission=Permission.RECIPIENTS_READ, group="Sending"
    ),
    Entry(label="Templates", path="/templates", icon="page", permission=Permission.TEMPLATES_READ, group="Sending"),
    Entry(
        label="Suppressions",
        path="/suppressions",
        icon="stop",
        permission=Permission.SUPPRESSIONS_READ,
        group="Sending",
    ),
    Entry(label="Mailbox", path="/mailbox", icon="tray", permission=Permission.MAILBOX_READ, group="Sending"),
    Entry(label="API keys", path="/keys", icon="key", permission=Permission.KEYS_MANAGE, group="Access"),
    Entry(label="Audit", path="/audit", icon="book", permission=Permission.AUDIT_READ, group="Access"),
    Entry(label="Tenants", path="/tenants", icon="house", permission=Permission.TENANTS_MANAGE, group="Access"),
)


def menu_of(scope: Scope, path: str, *, has_mailbox: bool) -> list[MenuItem]:
    return [
        MenuItem(
            label=entry.label,
            path=entry.path,
            icon=entry.icon,
            group=entry.group,
            current=path == entry.path or (entry.path != "/" and path.startswith(f"{entry.path}/")),
        )
        for entry in _ENTRIES
        if entry.permission in scope.permissions and (has_mailbox or entry.path != "/mailbox")
    ]
