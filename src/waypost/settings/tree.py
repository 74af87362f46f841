"""The table of settings: every choice an operator has, with its default and a sentence about it."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Annotated, Final, cast, get_type_hints

from waypost.settings import readers
from waypost.settings.readers import Secret

PREFIX: Final = "WAYPOST_"


@dataclass(frozen=True, slots=True)
class About:
    """What the table says of a setting besides its name and default."""

    group: str
    read: Callable[[str], object]
    sentence: str
    otherwise: str = ""
    """What happens without it, where the default alone does not say."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One row of the table."""

    name: str
    default: object
    about: About

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper()

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def shown_default(self) -> str:
        if self.about.otherwise:
            return self.about.otherwise
        return f"{self.default:g}s" if isinstance(self.default, float) else str(self.default)


_PLACE: Final = "place"
_API: Final = "api"
_DATABASE: Final = "database"
_MAIL: Final = "mail"
_SMTP_IN: Final = "smtp-in"
_CREW: Final = "crew"
_WORKER: Final = "worker"
_RELAY: Final = "relay"
_ALERTS: Final = "alerts"
_LOG: Final = "log"
_CLIENT: Final = "client"
_DEV_ENV: Final = "read from dev.env in the data directory"


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    data_dir: Annotated[Path, About(_PLACE, readers.path, "Where Waypost keeps its state; made with mode 0700.")] = (
        Path(".waypost")
    )
    config: Annotated[
        Path | None, About(_PLACE, readers.path, "The TOML file to read.", "waypost.toml in the data directory")
    ] = None

    master_key_file: Annotated[
        Path | None, About(_PLACE, readers.path, "Where the master key lies.", "master.key in the data directory")
    ] = None

    host: Annotated[str, About(_API, readers.text, "The address the API listens on.")] = "127.0.0.1"
    port: Annotated[int, About(_API, readers.port, "The port of the API; 0 takes any free one.")] = 8800
    public_url: Annotated[
        str | None, About(_API, readers.web_url, "How the outside world reaches the API.", "http://HOST:PORT")
    ] = None
    live_port: Annotated[
        int | None,
        About(_API, readers.port, "The port of inbox streams; 0 takes any free one.", "the API's port + 3"),
    ] = None
    live_public_url: Annotated[
        str | None,
        About(_API, readers.web_url, "How the outside world reaches inbox streams.", "http://HOST:LIVE_PORT"),
    ] = None
    streams: Annotated[
        int, About(_API, readers.whole(1, 100_000), "How many inbox streams one API process keeps open at most.")
    ] = 10_000
    streams_per_address: Annotated[int, About(_API, readers.whole(1, 100_000), "How many of them for one address.")] = (
        500
    )
    fanout: Annotated[
        Secret | None,
        About(
            _API,
            readers.redis_url,
            "A Redis by which processes tell one another which inbox streams have news: redis://host:6379/0.",
            "the database",
        ),
    ] = None
    metrics_port: Annotated[
        int | None,
        About(_API, readers.port, "The port of the API's /metrics; 0 takes any free one.", "the API's port + 1"),
    ] = None

    metrics_host: Annotated[str, About(_API, readers.text, "The address that all /metrics listen on.")] = "127.0.0.1"
    trusted_proxies: Annotated[
        tuple[str, ...],
        About(
            _API,
            readers.networks,
            "Networks of proxies whose X-Forwarded-For is believed, separated by commas.",
            "nobody's is believed",
        ),
    ] = ()
    requests_per_address: Annotated[
        int,
        About(_API, readers.whole(1, 10_000), "How many requests of one address one API process answers at a time."),
    ] = 64
    requests_per_key: Annotated[
        int, About(_API, readers.whole(1, 10_000), "How many requests of one key one API process answers at a time.")
    ] = 64

    database_url: Annotated[
        Secret | None,
        About(
            _DATABASE,
            readers.database_url,
            "An administrator of a PostgreSQL 16 or newer.",
            "the embedded server is started",
        ),
    ] = None
    database_api_url: Annotated[
        Secret | None,
        About(_DATABASE, readers.database_url, "What the API connects with.", "derived from WAYPOST_DATABASE_URL"),
    ] = None
    database_worker_url: Annotated[
        Secret | None,
        About(_DATABASE, readers.database_url, "What the worker connects with.", "derived from WAYPOST_DATABASE_URL"),
    ] = None
    api_connections: Annotated[
        int, About(_DATABASE, readers.whole(2, 200), "How many database connections one API process keeps at most.")
    ] = 10
    worker_connections: Annotated[
        int, About(_DATABASE, readers.whole(11, 200), "How many database connections one worker keeps at most.")
    ] = 13

    smtp_url: Annotated[
        Secret | None,
        About(
            _MAIL,
            readers.mail_url,
            "The server that live tenants send through: smtp://user:password@host:port, or smtps:// for TLS at once.",
            "the catch-all mailbox of `waypost up`",
        ),
    ] = None
    smtp_connections: Annotated[
        int, About(_MAIL, readers.whole(1, 500), "How many connections to one mail server a worker opens at most.")
    ] = 20
    attachment_bytes: Annotated[
        int, About(_MAIL, readers.whole(1_000, 25_000_000), "The largest file that may go along with a message.")
    ] = 10_485_760
    attachments_bytes: Annotated[
        int, About(_MAIL, readers.whole(1_000, 35_000_000), "The most that all files of a message may have together.")
    ] = 20_971_520
    dns_servers: Annotated[
        tuple[str, ...],
        About(
            _MAIL,
            readers.name_servers,
            "Addresses of the name servers that are asked about domains, separated by commas.",
            "those of this host",
        ),
    ] = ()
    spf_include: Annotated[
        str | None,
        About(_MAIL, readers.domain, "The name that tenants include in their SPF records.", "SPF is read only"),
    ] = None
    return_path_host: Annotated[
        str | None,
        About(_MAIL, readers.domain, "Where tenants' return-path domains lead.", "WAYPOST_MESSAGE_DOMAIN"),
    ] = None
    tracking_host: Annotated[
        str | None,
        About(_MAIL, readers.domain, "Where tenants' tracking domains lead.", "the host of WAYPOST_PUBLIC_URL"),
    ] = None
    smtp_ca_file: Annotated[
        Path | None,
        About(
            _MAIL,
            readers.path,
            "A file of authorities that sender accounts' mail servers may be certified by, in place of the system's.",
            "the system's",
        ),
    ] = None
    gmail_url: Annotated[
        str, About(_MAIL, readers.web_url, "Where Gmail's API is, for sender accounts of kind `gmail`.")
    ] = "https://gmail.googleapis.com"
    google_auth_url: Annotated[
        str, About(_MAIL, readers.web_url, "Where a Google service account's claim is exchanged for a token.")
    ] = "https://oauth2.googleapis.com/token"
    catchall_port: Annotated[
        int, About(_MAIL, readers.port, "The SMTP port of the catch-all mailbox; 0 takes any free one.")
    ] = 0
    message_domain: Annotated[str, About(_MAIL, readers.domain, "The domain in Message-ID and EHLO.")] = (
        "waypost.localhost"
    )
    default_from: Annotated[str, About(_MAIL, readers.mail_address, "The sender of a message that names none.")] = (
        "Waypost <hello@waypost.localhost>"
    )

    smtp_in_port: Annotated[
        int | None,
        About(
            _SMTP_IN,
            readers.port,
            "The port on which software may submit mail, with STARTTLS where there is a certificate.",
            "none",
        ),
    ] = None
    smtp_in_tls_port: Annotated[
        int | None,
        About(_SMTP_IN, readers.port, "The same with TLS from the first byte.", "none"),
    ] = None
    smtp_in_host: Annotated[str, About(_SMTP_IN, readers.text, "The address that both listen on.")] = "127.0.0.1"
    smtp_in_certificate: Annotated[
        Path | None,
        About(_SMTP_IN, readers.path, "A PEM file with the certificate and its chain.", "only this machine may submit"),
    ] = None
    smtp_in_key: Annotated[
        Path | None, About(_SMTP_IN, readers.path, "A PEM file with its key.", "in the certificate's file")
    ] = None
    smtp_in_bytes: Annotated[
        int, About(_SMTP_IN, readers.whole(65_536, 20_971_520), "How large a submitted mail may be.")
    ] = 10_485_760
    smtp_in_recipients: Annotated[
        int, About(_SMTP_IN, readers.whole(1, 1_000), "How many recipients a submitted mail may have.")
    ] = 100
    smtp_in_connections: Annotated[
        int, About(_SMTP_IN, readers.whole(1, 500), "How many connections one address may have open.")
    ] = 20
    smtp_in_metrics_port: Annotated[
        int | None,
        About(_SMTP_IN, readers.port, "The port of its /metrics; 0 takes any free one.", "the API's port + 4"),
    ] = None

    processes: Annotated[
        str,
        About(
            _CREW, readers.processes, "How many worker processes to run on this machine; `auto` is one for each core."
        ),
    ] = "1"
    worker_metrics_port: Annotated[
        int | None,
        About(_WORKER, readers.port, "The port of the worker's /metrics; 0 takes any free one.", "the API's port + 2"),
    ] = None
    batch_size: Annotated[
        int, About(_WORKER, readers.whole(1, 5000), "How many notifications a worker claims at once.")
    ] = 200
    lease: Annotated[
        float, About(_WORKER, readers.seconds(5, 3600), "How long a worker may be silent before others take its work.")
    ] = 60.0
    drain: Annotated[
        float, About(_WORKER, readers.seconds(0, 600), "How long a stopping process may finish what it has begun.")
    ] = 20.0

    alert_stalled_after: Annotated[
        float,
        About(_ALERTS, readers.seconds(30, 86_400), "How long work may be due before an alert says so."),
    ] = 600.0
    alert_in_doubt: Annotated[
        int,
        About(_ALERTS, readers.whole(1, 1_000_000), "How many messages may end in doubt within 15 minutes."),
    ] = 20
    alert_dead_letters: Annotated[
        int,
        About(_ALERTS, readers.whole(1, 1_000_000), "How many messages may end as dead letters within 15 minutes."),
    ] = 100
    alert_repeat: Annotated[
        float,
        About(_ALERTS, readers.seconds(300, 604_800), "How long after the last time an open alert is told again."),
    ] = 14_400.0

    relay: Annotated[
        str,
        About(
            _RELAY,
            readers.choice("on", "off"),
            "Whether workers also tell webhooks and brokers what has happened; `off` where `waypost relay` does.",
        ),
    ] = "on"
    publish: Annotated[
        Secret | None,
        About(
            _RELAY,
            readers.broker_urls,
            "Brokers that are told every event: nats://host:4222, redis://host:6379/0, or both, separated by a comma.",
            "none is told",
        ),
    ] = None
    consume: Annotated[
        Secret | None,
        About(
            _WORKER,
            readers.broker_urls,
            "Streams from which this worker pulls events: nats://host:4222?subject=…, redis://host:6379/0?stream=…, "
            "separated by commas.",
            "none is pulled from",
        ),
    ] = None
    outbound_allow: Annotated[
        tuple[str, ...],
        About(
            _RELAY,
            readers.networks,
            "Networks that are not public and that tenants may have called all the same, separated by commas.",
            "public addresses only",
        ),
    ] = ()
    webhook_http: Annotated[
        str,
        About(
            _RELAY,
            readers.choice("refuse", "allow"),
            "Whether webhooks may go to public addresses by plain http; within WAYPOST_OUTBOUND_ALLOW they may.",
        ),
    ] = "refuse"

    log_level: Annotated[
        str | None,
        About(
            _LOG,
            readers.choice("debug", "info", "warning", "error"),
            "The least important log line to write.",
            "info; warning under `waypost up`",
        ),
    ] = None
    log_format: Annotated[
        str,
        About(
            _LOG,
            readers.choice("auto", "json", "pretty"),
            "`json` for programs, `pretty` for people; `auto` is pretty on a terminal.",
        ),
    ] = "auto"

    otlp_endpoint: Annotated[
        str | None,
        About(_LOG, readers.web_url, "Where traces go by OTLP over HTTP; needs `waypost[otel]`.", "no traces"),
    ] = None

    url: Annotated[str | None, About(_CLIENT, readers.web_url, "Where the command line finds the API.", _DEV_ENV)] = (
        None
    )
    api_key: Annotated[
        Secret | None, About(_CLIENT, readers.secret, "The tenant's key that the command line sends.", _DEV_ENV)
    ] = None
    platform_key: Annotated[
        Secret | None, About(_CLIENT, readers.secret, "The key that manages tenants and their keys.", _DEV_ENV)
    ] = None

    @property
    def api_url(self) -> str:
        """Where links lead: what the operator says, else where the API listens."""
        return self.public_url or self.local_url

    @property
    def local_url(self) -> str:
        """Where processes of this machine find the API, also when it listens on every address."""
        return self._local(self.port)

    @property
    def live_url(self) -> str:
        """Where inbox streams are served."""
        return self.live_public_url or self._local(self.api_live_port)

    @property
    def api_live_port(self) -> int:
        return self._beside(3) if self.live_port is None else self.live_port

    @property
    def master_key_path(self) -> Path:
        return self.master_key_file or self.data_dir / "master.key"

    @property
    def api_metrics_port(self) -> int:
        return self._beside(1) if self.metrics_port is None else self.metrics_port

    @property
    def worker_port(self) -> int:
        """The port of the worker's metrics: it has no other."""
        return self._beside(2) if self.worker_metrics_port is None else self.worker_metrics_port

    @property
    def smtp_metrics_port(self) -> int:
        return self._beside(4) if self.smtp_in_metrics_port is None else self.smtp_in_metrics_port

    @property
    def takes_mail(self) -> bool:
        """Whether software may submit mail over SMTP."""
        return self.smtp_in_port is not None or self.smtp_in_tls_port is not None

    def _local(self, port: int) -> str:
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 — read, not bound
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def _beside(self, step: int) -> int:
        beside = self.port + step
        return beside if self.port and beside <= readers.HIGHEST_PORT else 0

    def environment(self) -> dict[str, str]:
        """What a child process needs in its environment to see the same settings."""
        values = {row: getattr(self, row.name) for row in table()}
        return {row.variable: _spell(value) for row, value in values.items() if value != row.default}


def _spell(value: object) -> str:
    if isinstance(value, Secret):
        return value.reveal()
    return ",".join(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else str(value)


@cache
def table() -> tuple[Setting, ...]:
    hints = get_type_hints(Settings, include_extras=True)
    return tuple(
        Setting(name=one.name, default=one.default, about=hints[one.name].__metadata__[0]) for one in fields(Settings)
    )
