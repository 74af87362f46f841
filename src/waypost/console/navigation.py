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
    current: bool


_ENTRIES: Final = (
    Entry(label="Overview", path="/", icon="pulse", permission=Permission.NOTIFICATIONS_READ, group="Sending"),
    Entry(label="Messages", path="/messages", icon="send", permission=Permission.NOTIFICATIONS_READ, group="Sending"),
    Entry(
        label="Recipients", path="/recipients", icon="people", permission=Permission.RECIPIENTS_READ, group="Sending"
    ),
    Entry(label="Templates", path="/templates", icon="page", permission=Permission.TEMPLATES_READ, group="Sending"),
    Entry(label="Triggers", path="/triggers", icon="bolt", permission=Permission.TRIGGERS_READ, group="Sending"),
    Entry(
        label="Suppressions",
        path="/suppressions",
        icon="stop",
        permission=Permission.SUPPRESSIONS_READ,
        group="Sending",
    ),
    Entry(label="Explain", path="/explain", icon="book", permission=Permission.NOTIFICATIONS_READ, group="Sending"),
    Entry(label="Inboxes", path="/inboxes", icon="tray", permission=Permission.INBOX_READ, group="Sending"),
    Entry(label="Mailbox", path="/mailbox", icon="tray", permission=Permission.MAILBOX_READ, group="Sending"),
    Entry(label="Senders", path="/senders", icon="send", permission=Permission.SENDERS_READ, group="Sending"),
    Entry(label="Domains", path="/domains", icon="house", permission=Permission.DOMAINS_READ, group="Sending"),
    Entry(label="Operations", path="/operations", icon="pulse", permission=Permission.OPERATIONS_READ, group="Sending"),
    Entry(label="Webhooks", path="/webhooks", icon="bell", permission=Permission.WEBHOOKS_READ, group="Access"),
    Entry(label="API keys", path="/keys", icon="key", permission=Permission.KEYS_MANAGE, group="Access"),
    Entry(label="Audit", path="/audit", icon="book", permission=Permission.AUDIT_READ, group="Access"),
    Entry(label="Tenants", path="/tenants", icon="house", permission=Permission.TENANTS_MANAGE, group="Access"),
)


def menu_of(scope: Scope, path: str, *, has_mailbox: bool) -> list[tuple[str, list[MenuItem]]]:
    """The groups in their order, each with its name."""
    menu: dict[str, list[MenuItem]] = {}
    for entry in _ENTRIES:
        if entry.permission in scope.permissions and (has_mailbox or entry.path != "/mailbox"):
            current = path == entry.path or (entry.path != "/" and path.startswith(f"{entry.path}/"))
            item = MenuItem(label=entry.label, path=entry.path, icon=entry.icon, current=current)
            menu.setdefault(entry.group, []).append(item)
    return list(menu.items())
