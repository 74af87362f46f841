"""What the surfaces work with: use cases, joined to their stores."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from waypost.kernel.clock import Clock
from waypost.kernel.work import Work
from waypost.settings import Settings

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from waypost.alerts.desk import AlertDesk
    from waypost.bootstrap.operations import Operations
    from waypost.bootstrap.readiness import Readiness
    from waypost.delivery.limit_desk import LimitDesk
    from waypost.domains.desk import DomainDesk
    from waypost.exports.desk import Exports
    from waypost.imports.desk import Imports
    from waypost.inbox.desk import InboxDesk
    from waypost.jobs.desk import Jobs
    from waypost.mailbox.read import Mailbox
    from waypost.notifications.desk import Notifications
    from waypost.notifications.wishes import Wishes
    from waypost.outbox.desk import Webhooks
    from waypost.recipients.desk import RecipientDesk
    from waypost.recipients.records import Recipients
    from waypost.senders.sender_desk import Senders
    from waypost.submission.accept import AcceptMail
    from waypost.suppression.desk import SuppressionDesk
    from waypost.templates.desk import Templates
    from waypost.tenants.access import Access
    from waypost.tenants.accounts import Tenants
    from waypost.tenants.audit import Audit
    from waypost.tenants.idempotency import Idempotency
    from waypost.tenants.keys import ApiKeys
    from waypost.tenants.sessions import Sessions
    from waypost.tracking.visits import Visits
    from waypost.triggers.desk import EventDesk


@dataclass(frozen=True, kw_only=True)
class App:
    settings: Settings
    clock: Clock
    work: Work
    access: "Access"
    sessions: "Sessions"
    audit: "Audit"
    idempotency: "Idempotency"
    tenants: "Tenants"
    keys: "ApiKeys"
    recipients: "Recipients"
    people: "RecipientDesk"
    jobs: "Jobs"
    imports: "Imports"
    exports: "Exports"
    templates: "Templates"
    suppressions: "SuppressionDesk"
    wishes: "Wishes"
    notifications: "Notifications"
    limits: "LimitDesk"
    domains: "DomainDesk"
    operations: "Operations"
    alerts: "AlertDesk"
    senders: "Senders"
    webhooks: "Webhooks"
    events: "EventDesk"
    inbox: "InboxDesk"
    visits: "Visits"
    submission: "AcceptMail"
    readiness: "Readiness"
    tracer: "Tracer | None" = None
    """Only where traces are configured."""
    mailbox: "Mailbox | None" = None
    """Only where the catch-all runs."""
