"""A live tenant with a mail server of its own: proved, configured, sent, signed, counted, stopped and resumed."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from email import message_from_bytes, policy
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import asyncpg
import dkim
import pytest
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from cryptography import x509
from tests.dns_peer import Zone, zone
from tests.throwaway_tls import write_certificate

from waypost.adapters.postgres.partitions import ensure_partitions
from waypost.adapters.postgres.pool import PoolOptions, open_pool
from waypost.adapters.postgres.tenants import PgKeyring, PgTenantStore
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import open_master_key
from waypost.bootstrap import App
from waypost.bootstrap.api import open_app
from waypost.bootstrap.quiet import QuietTelemetry
from waypost.bootstrap.worker import open_worker
from waypost.kernel.clock import SystemClock
from waypost.kernel.ids import show
from waypost.kernel.tenancy import PLATFORM_ONLY, Permission
from waypost.mailbox import return_path
from waypost.settings import Secret, Settings
from waypost.tenants.platform import ensure_platform

__all__ = ["zone"]

PATIENCE = 90.0
PASSWORD = "correct horse battery staple"


class TenantsServer:
    """Lets in who knows the password, over TLS only, and keeps what it is given."""

    def __init__(self) -> None:
        self.password = PASSWORD
        self.logins: list[bool] = []
        self.mails: list[Envelope] = []
        self.encrypted: list[bool] = []
        self.port = 0

    def check(self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
        assert isinstance(data, LoginPassword)
        self.logins.append((data.login, data.password) == (b"notices", self.password.encode()))
        return AuthResult(success=self.logins[-1], handled=False)

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        self.mails.append(envelope)
        self.encrypted.append(session.ssl is not None)
        return "250 OK queued"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For 127.0.0.1, with its key; it is its own authority."""
    return write_certificate(tmp_path_factory.mktemp("tls") / "server.pem", x509.IPAddress(IPv4Address("127.0.0.1")))


@pytest.fixture
async def server(certificate: Path) -> AsyncIterator[TenantsServer]:
    peer, loop = TenantsServer(), asyncio.get_running_loop()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def protocol() -> SMTP:
        return SMTP(
            peer,
            hostname="peer.example",
            loop=loop,
            tls_context=context,
            require_starttls=True,
            authenticator=peer.check,
            auth_required=True,
        )

    listening = await loop.create_server(protocol, "127.0.0.1", 0)
    peer.port = listening.sockets[0].getsockname()[1]
    yield peer
    listening.close()


@pytest.fixture
def settings(database: Any, tmp_path: Path, zone: Zone, certificate: Path) -> Settings:
    return Settings(
        data_dir=tmp_path,
        database_api_url=Secret(database.api),
        database_worker_url=Secret(database.worker),
        catchall_port=1,
        relay="off",
        dns_servers=(zone.server,),
        message_domain="waypost.example",
        default_from="Waypost <hello@waypost.example>",
        smtp_ca_file=certificate,
        outbound_allow=("127.0.0.0/8",),
    )


@pytest.fixture
async def app(settings: Settings, database: Any, connect: Any) -> AsyncIterator[App]:
    master = open_master_key(settings.master_key_path, create=True)
    pool = await open_pool(database.api, PoolOptions(application_name="surfaces", min_size=0, max_size=1))
    await ensure_platform(PgWork(pool), PgTenantStore(), LocalVault(master), SystemClock())
    pool.terminate()
    # As `waypost migrate` does, before anybody serves.
    await ensure_partitions(await connect("worker"))
    async with open_app(settings) as app:
        yield app


@pytest.fixture
async def live(platform: Any) -> Any:
    await platform.ok("POST", "/v1/tenants", {"id": "acme", "name": "Acme", "mode": "live"})
    return await platform.with_scopes("acme", *(one for one in Permission if one not in PLATFORM_ONLY))


@pytest.fixture
async def worker(app: App, settings: Settings) -> AsyncIterator[None]:
    async with open_worker(settings, QuietTelemetry()) as worker:
        running = asyncio.create_task(worker.run())
        yield
        await worker.stop(5.0)
        await running


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await condition():  # noqa: ASYNC110 - the condition is elsewhere
            await asyncio.sleep(0.02)


async def prove(caller: Any, zone: Zone, name: str, *purposes: str) -> Mapping[str, Any]:
    made = await caller.ok("POST", "/v1/domains", {"name": name, "purposes": list(purposes)})
    for record in made["records"]:
        zone.set(record["type"], record["name"], record["value"])
    proved = await caller.ok("POST", f"/v1/domains/{made['id']}/verify")
    assert proved["state"] == "verified", proved
    return proved


async def make_account(caller: Any, server: TenantsServer, **fields: Any) -> str:
    account = {
        "kind": "smtp", "name": "Notices", "from_address": "notices@acme.example", "display_name": "Acme Shop",
        "host": "127.0.0.1", "port": server.port, "tls": "required", "auth": "plain", "username": "notices",
        "secret": PASSWORD, "daily_limit": 3,
    }  # fmt: skip
    return (await caller.ok("POST", "/v1/sender-accounts", account | fields))["id"]


async def send(caller: Any, subject: str) -> str:
    said = {
        "to": {"email": "jane@example.org"},
        "content": {"subject": subject, "text": "Hello.", "html": "<p>Hello.</p>"},
    }
    [made] = (await caller.ok("POST", "/v1/notifications", said))["notifications"]
    return made["id"]


def verifies(raw: bytes, zone: Zone) -> list[str]:
    """The algorithms of the signatures, each of which was checked by somebody else's code."""

    def look_up(name: bytes, timeout: int = 5) -> bytes:
        [value] = zone.records[name.decode().rstrip(".").lower(), "TXT"]
        return value.strip('"').replace('" "', "").encode()

    signatures = message_from_bytes(raw).get_all("DKIM-Signature") or []
    for number in range(len(signatures)):
        assert dkim.DKIM(raw).verify(idx=number, dnsfunc=look_up)
    return sorted(one.partition("a=")[2].partition(";")[0] for one in signatures)


async def test_mail_leaves_by_the_tenant_s_own_server(
    live: Any, zone: Zone, server: TenantsServer, worker: None, app: App, settings: Settings, admin: asyncpg.Connection
) -> None:
    refused = {"kind": "smtp", "name": "n", "from_address": "notices@acme.example", "host": "127.0.0.1"}
    assert (await live.refused("POST", "/v1/sender-accounts", refused))[1] == "domain_not_verified"
    await prove(live, zone, "acme.example", "from")
    await prove(live, zone, "bounces.acme.example", "return_path")
    account = await make_account(live, server)
    sealed = await admin.fetchval("select secret from sender_accounts")
    assert PASSWORD.encode() not in sealed
    assert (await live.ok("POST", f"/v1/sender-accounts/{account}/test"))["ok"]

    ids = [await send(live, f"number {number}") for number in range(4)]
    await until(lambda: _is(len(server.mails), 3))
    assert all(server.encrypted)
    assert all(server.logins)
    for mail in server.mails:
        raw = mail.original_content or b""
        assert verifies(raw, zone) == ["ed25519-sha256", "rsa-sha256"]
        message = message_from_bytes(raw, policy=policy.default)
        assert message["From"] == "Acme Shop <notices@acme.example>"
        assert mail.rcpt_tos == ["jane@example.org"]
        path = return_path.read(mail.mail_from or "")
        assert path is not None
        assert path.domain == "bounces.acme.example"
        async with app.work.begin("acme") as tx:
            key = await PgKeyring(LocalVault(open_master_key(settings.master_key_path, create=False))).of(tx)
        assert path.is_genuine(key, "acme")
        assert show("ntf", path.notification_id) in ids

    async def is_counted() -> bool:
        seen = await live.ok("GET", f"/v1/sender-accounts/{account}")
        return seen["today"]["sent"] == 3

    await until(is_counted)
    seen = await live.ok("GET", f"/v1/sender-accounts/{account}")
    today = seen["today"]
    assert (today["limit"], today["remaining"], today["limit_reached"]) == (3, 0, True)
    assert seen["status"] == "active"

    async def statuses() -> dict[str, str]:
        return {one: (await live.ok("GET", f"/v1/notifications/{one}"))["status"] for one in ids}

    async def one_waits() -> bool:
        return sorted((await statuses()).values()) == ["dispatched", "dispatched", "dispatched", "queued"]

    # The one that finds no room may just be looking for some.
    await until(one_waits)
    [waiting] = [one for one, status in (await statuses()).items() if status != "dispatched"]
    await until(lambda: _has_step(live, waiting, "deferred"))
    # A higher limit: what waits for tomorrow need not.
    await live.ok("PATCH", f"/v1/sender-accounts/{account}", {"daily_limit": 100})
    await until(lambda: _is(len(server.mails), 4))


async def test_a_wrong_password_suspends_and_the_right_one_brings_everything_back(
    live: Any, zone: Zone, server: TenantsServer, worker: None, admin: asyncpg.Connection
) -> None:
    await prove(live, zone, "acme.example", "from")
    account = await make_account(live, server, daily_limit=None)
    server.password = "changed meanwhile"
    ids = [await send(live, f"number {number}") for number in range(2)]

    async def is_suspended() -> bool:
        return (await live.ok("GET", f"/v1/sender-accounts/{account}"))["status"] == "suspended"

    await until(is_suspended)
    assert server.mails == []
    ids.append(await send(live, "while it is suspended"))
    await until(lambda: _has_step(live, ids[-1], "deferred"))
    assert await admin.fetchval("select count(*) from outbox where kind = 43") == 1
    told = [one for one in (await live.ok("GET", "/v1/audit"))["items"] if one["action"] == "sender_account.suspended"]
    assert [(one["subject"], one["actor"]) for one in told] == [(account, "worker")]
    [alert] = (await live.ok("GET", "/v1/alerts"))["items"]
    assert (alert["kind"], alert["subject"]) == ("account_suspended", account)
    for said in (told, alert):
        assert PASSWORD not in str(said)
        assert server.password not in str(said)

    await live.ok("PATCH", f"/v1/sender-accounts/{account}", {"secret": server.password})
    await live.ok("POST", f"/v1/sender-accounts/{account}/resume")
    await until(lambda: _is(len(server.mails), 3))
    subjects = sorted(message_from_bytes(mail.original_content or b"")["Subject"] for mail in server.mails)
    assert subjects == ["number 0", "number 1", "while it is suspended"]
    assert (await live.ok("GET", "/v1/alerts?open=true"))["items"] == []


async def _is(found: int, wanted: int) -> bool:
    await asyncio.sleep(0)
    return found == wanted


async def _has_step(caller: Any, notification: str, event: str) -> bool:
    steps = (await caller.ok("GET", f"/v1/notifications/{notification}/timeline"))["items"]
    return any(step["event"] == event for step in steps)
