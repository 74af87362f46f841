"""What the SMTP process counts: metrics of the catalogue in `kernel/telemetry.py`."""

from prometheus_client import CollectorRegistry

from waypost.bootstrap.meters import counter, gauge, histogram


class SmtpMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.sessions = gauge(registry, "waypost_smtp_sessions")
        self.refused = counter(registry, "waypost_smtp_refused_total")
        self.mails = counter(registry, "waypost_smtp_mails_total")
        self.seconds = histogram(registry, "waypost_smtp_mail_seconds")
