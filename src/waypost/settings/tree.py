"""The table of settings: every choice an operator has, with its default and a sentence about it."""

from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Annotated, Final, cast, get_type_hints

from waypost.settings import readers
from waypost.settings.mail import MailSettings
from waypost.settings.readers import Secret
from waypost.settings.rows import About, Group, Setting

_DEV_ENV: Final = "read from dev.env in the data directory"


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings(MailSettings):
    data_dir: Annotated[
        Path, About(Group.PLACE, readers.path, "Where Waypost keeps its state; made with mode 0700.")
    ] = Path(".waypost")
    config: Annotated[
        Path | None, About(Group.PLACE, readers.path, "The TOML file to read.", "waypost.toml in the data directory")
    ] = None

    master_key_file: Annotated[
        Path | None, About(Group.PLACE, readers.path, "Where the master key lies.", "master.key in the data directory")
    ] = None

    host: Annotated[str, About(Group.API, readers.text, "The address the API listens on.")] = "127.0.0.1"
    port: Annotated[int, About(Group.API, readers.port, "The port of the API; 0 takes any free one.")] = 8800
    public_url: Annotated[
        str | None, About(Group.API, readers.web_url, "How the outside world reaches the API.", "http://HOST:PORT")
    ] = None
    live_port: Annotated[
        int | None,
        About(Group.API, readers.port, "The port of inbox streams; 0 takes any free one.", "the API's port + 3"),
    ] = None
    live_public_url: Annotated[
        str | None,
        About(Group.API, readers.web_url, "How the outside world reaches inbox streams.", "http://HOST:LIVE_PORT"),
    ] = None
    streams: Annotated[
        int, About(Group.API, readers.whole(1, 100_000), "How many inbox streams one API process keeps open at most.")
    ] = 10_000
    streams_per_address: Annotated[
        int, About(Group.API, readers.whole(1, 100_000), "How many of them for one address.")
    ] = 500
    fanout: Annotated[
        Secret | None,
        About(
            Group.API,
            readers.redis_url,
            "A Redis by which processes tell one another which inbox streams have news: redis://host:6379/0.",
            "the database",
        ),
    ] = None
    metrics_port: Annotated[
        int | None,
        About(Group.API, readers.port, "The port of the API's /metrics; 0 takes any free one.", "the API's port + 1"),
    ] = None

    metrics_host: Annotated[str, About(Group.API, readers.text, "The address that all /metrics listen on.")] = (
        "127.0.0.1"
    )
    trusted_proxies: Annotated[
        tuple[str, ...],
        About(
            Group.API,
            readers.networks,
            "Networks of proxies whose X-Forwarded-For is believed, separated by commas.",
            "nobody's is believed",
        ),
    ] = ()
    requests_per_address: Annotated[
        int,
        About(
            Group.API, readers.whole(1, 10_000), "How many requests of one address one API process answers at a time."
        ),
    ] = 64
    requests_per_key: Annotated[
        int,
        About(Group.API, readers.whole(1, 10_000), "How many requests of one key one API process answers at a time."),
    ] = 64

    database_url: Annotated[
        Secret | None,
        About(
            Group.DATABASE,
            readers.database_url,
            "An administrator of a PostgreSQL 16 or newer.",
            "the embedded server is started",
        ),
    ] = None
    database_api_url: Annotated[
        Secret | None,
        About(Group.DATABASE, readers.database_url, "What the API connects with.", "derived from WAYPOST_DATABASE_URL"),
    ] = None
    database_worker_url: Annotated[
        Secret | None,
        About(
            Group.DATABASE, readers.database_url, "What the worker connects with.", "derived from WAYPOST_DATABASE_URL"
        ),
    ] = None
    api_connections: Annotated[
        int,
        About(Group.DATABASE, readers.whole(2, 200), "How many database connections one API process keeps at most."),
    ] = 10
    worker_connections: Annotated[
        int, About(Group.DATABASE, readers.whole(11, 200), "How many database connections one worker keeps at most.")
    ] = 13

    processes: Annotated[
        str,
        About(
            Group.CREW,
            readers.processes,
            "How many worker processes to run on this machine; `auto` is one for each core.",
        ),
    ] = "1"
    worker_metrics_port: Annotated[
        int | None,
        About(
            Group.WORKER, readers.port, "The port of the worker's /metrics; 0 takes any free one.", "the API's port + 2"
        ),
    ] = None
    batch_size: Annotated[
        int, About(Group.WORKER, readers.whole(1, 5000), "How many notifications a worker claims at once, at most.")
    ] = 500
    lease: Annotated[
        float,
        About(Group.WORKER, readers.seconds(5, 3600), "How long a worker may be silent before others take its work."),
    ] = 60.0
    drain: Annotated[
        float, About(Group.WORKER, readers.seconds(0, 600), "How long a stopping process may finish what it has begun.")
    ] = 20.0

    alert_stalled_after: Annotated[
        float,
        About(Group.ALERTS, readers.seconds(30, 86_400), "How long work may be due before an alert says so."),
    ] = 600.0
    alert_in_doubt: Annotated[
        int,
        About(Group.ALERTS, readers.whole(1, 1_000_000), "How many messages may end in doubt within 15 minutes."),
    ] = 20
    alert_dead_letters: Annotated[
        int,
        About(
            Group.ALERTS, readers.whole(1, 1_000_000), "How many messages may end as dead letters within 15 minutes."
        ),
    ] = 100
    alert_repeat: Annotated[
        float,
        About(Group.ALERTS, readers.seconds(300, 604_800), "How long after the last time an open alert is told again."),
    ] = 14_400.0

    relay: Annotated[
        str,
        About(
            Group.RELAY,
            readers.choice("on", "off"),
            "Whether workers also tell webhooks and brokers what has happened; `off` where `waypost relay` does.",
        ),
    ] = "on"
    replay_days: Annotated[
        int,
        About(
            Group.RELAY,
            readers.whole(4, 90),
            "How many days news and webhook deliveries are kept, and so how far back a replay reaches.",
        ),
    ] = 7
    publish: Annotated[
        Secret | None,
        About(
            Group.RELAY,
            readers.broker_urls,
            "Brokers that are told every event: nats://host:4222, redis://host:6379/0, or both, separated by a comma.",
            "none is told",
        ),
    ] = None
    consume: Annotated[
        Secret | None,
        About(
            Group.WORKER,
            readers.broker_urls,
            "Streams from which this worker pulls events: nats://host:4222?subject=…, redis://host:6379/0?stream=…, "
            "separated by commas.",
            "none is pulled from",
        ),
    ] = None
    outbound_allow: Annotated[
        tuple[str, ...],
        About(
            Group.RELAY,
            readers.networks,
            "Networks that are not public and that tenants may have called all the same, separated by commas.",
            "public addresses only",
        ),
    ] = ()
    webhook_http: Annotated[
        str,
        About(
            Group.RELAY,
            readers.choice("refuse", "allow"),
            "Whether webhooks may go to public addresses by plain http; within WAYPOST_OUTBOUND_ALLOW they may.",
        ),
    ] = "refuse"

    log_level: Annotated[
        str | None,
        About(
            Group.LOG,
            readers.choice("debug", "info", "warning", "error"),
            "The least important log line to write.",
            "info; warning under `waypost up`",
        ),
    ] = None
    log_format: Annotated[
        str,
        About(
            Group.LOG,
            readers.choice("auto", "json", "pretty"),
            "`json` for programs, `pretty` for people; `auto` is pretty on a terminal.",
        ),
    ] = "auto"

    otlp_endpoint: Annotated[
        str | None,
        About(Group.LOG, readers.web_url, "Where traces go by OTLP over HTTP; needs `waypost[otel]`.", "no traces"),
    ] = None

    url: Annotated[
        str | None, About(Group.CLIENT, readers.web_url, "Where the command line finds the API.", _DEV_ENV)
    ] = None
    api_key: Annotated[
        Secret | None, About(Group.CLIENT, readers.secret, "The tenant's key that the command line sends.", _DEV_ENV)
    ] = None
    platform_key: Annotated[
        Secret | None, About(Group.CLIENT, readers.secret, "The key that manages tenants and their keys.", _DEV_ENV)
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
    rows = [
        Setting(name=one.name, default=one.default, about=hints[one.name].__metadata__[0]) for one in fields(Settings)
    ]
    return tuple(sorted(rows, key=lambda row: list(Group).index(row.about.group)))
