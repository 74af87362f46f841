"""The whole API on a real database, and a caller that checks every answer against the OpenAPI document."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from litestar.types import ASGIApp
from tests.dns_peer import Zone, zone
from tests.peers import free_port

from waypost.adapters.postgres.line import Line
from waypost.adapters.postgres.pool import PoolOptions, open_pool
from waypost.adapters.postgres.tenants import PgKeyring, PgTenantStore
from waypost.adapters.postgres.work import PgWork
from waypost.adapters.vault.keyring import LocalVault
from waypost.adapters.vault.masterkey import open_master_key
from waypost.api.app import ALL_ENDPOINTS, create_app
from waypost.api.endpoint import Endpoint
from waypost.api.refusals import refusals_of
from waypost.api.server import server_of
from waypost.bootstrap import App
from waypost.bootstrap.api import open_app
from waypost.bootstrap.jobs import join_job_runner
from waypost.jobs.run import JobRunner
from waypost.kernel.clock import SystemClock
from waypost.kernel.ids import mint
from waypost.kernel.tenancy import PLATFORM, PLATFORM_ONLY, Permission
from waypost.kernel.vocabulary import TenantMode
from waypost.settings import Secret, Settings
from waypost.tenants.platform import create_platform_key, ensure_platform, operator_scope

__all__ = ["zone"]

TENANT_SCOPES = tuple(permission for permission in Permission if permission not in PLATFORM_ONLY)


@pytest.fixture
async def app(database: Any, tmp_path: Path, zone: Zone) -> AsyncIterator[App]:
    settings = Settings(
        data_dir=tmp_path,
        database_api_url=Secret(database.api),
        catchall_port=1,
        trusted_proxies=("127.0.0.1/32",),
        dns_servers=(zone.server,),
    )
    master = open_master_key(settings.master_key_path, create=True)
    pool = await open_pool(database.api, PoolOptions(application_name="surfaces", min_size=0, max_size=1))
    await ensure_platform(PgWork(pool), PgTenantStore(), LocalVault(master), SystemClock())
    pool.terminate()
    async with open_app(settings) as app:
        yield app


@dataclass(frozen=True, kw_only=True)
class Api:
    """A caller with a key. Whatever it is answered must be documented, in status, code and shape."""

    client: httpx.AsyncClient
    app: App
    key: str = ""
    tenant: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    async def __call__(self, method: str, path: str, body: object = None, **options: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        headers |= {**self.headers, **options.pop("headers", {})}
        if body is not None:
            options["content"] = body if isinstance(body, bytes) else json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        answer = await self.client.request(method, path, headers=headers, **options)
        check_documented(method, path, answer)
        return answer

    async def ok(self, method: str, path: str, body: object = None, **options: Any) -> Any:
        answer = await self(method, path, body, **options)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    async def refused(self, method: str, path: str, body: object = None, **options: Any) -> tuple[int, str, list[str]]:
        """Status, code and the pointers of a refusal."""
        answer = await self(method, path, body, **options)
        assert not answer.is_success, answer.text
        problem = answer.json()
        return answer.status_code, problem["code"], [error["pointer"] for error in problem["errors"]]

    async def make_tenant(self, tenant_id: str, **fields: Any) -> "Api":
        """A tenant and a caller with a key of every scope that a tenant's key may carry."""
        scope = operator_scope("rid_test")
        async with self.app.work.begin(PLATFORM) as tx:
            await self.app.tenants.create(
                tx, scope, tenant_id=tenant_id, name=tenant_id, mode=TenantMode.SANDBOX, **fields
            )
        return await self.with_scopes(tenant_id, *TENANT_SCOPES)

    async def with_scopes(self, tenant_id: str, *scopes: Permission) -> "Api":
        async with self.app.work.begin(PLATFORM) as tx:
            made = await self.app.keys.create(
                tx, operator_scope("rid_test"), name="test", scopes=scopes, tenant_id=tenant_id
            )
        return Api(client=self.client, app=self.app, key=made.secret, tenant=tenant_id)

    def acting(self, **headers: str) -> "Api":
        return Api(client=self.client, app=self.app, key=self.key, tenant=self.tenant, headers=headers)


def endpoint_at(method: str, path: str) -> Endpoint | None:
    bare = path.partition("?")[0]
    for endpoint in ALL_ENDPOINTS:
        pattern = re.sub(r"{\w+}", "[^/]+", re.escape(endpoint.path).replace(r"\{", "{").replace(r"\}", "}"))
        if endpoint.method == method and re.fullmatch(pattern, bare):
            return endpoint
    return None


def check_documented(method: str, path: str, answer: httpx.Response) -> None:
    assert answer.headers["waypost-request-id"].startswith("rid_")
    endpoint = endpoint_at(method, path)
    if endpoint is None:
        return
    if answer.is_success:
        assert answer.status_code == endpoint.status
        if endpoint.answer is not None:
            msgspec.json.decode(answer.content, type=endpoint.answer)
        return
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert list(problem) == ["type", "title", "status", "code", "detail", "request_id", "errors"]
    assert problem["request_id"] == answer.headers["waypost-request-id"]
    assert problem["type"] == f"/problems/{problem['code']}"
    if problem["code"] == "no_such_path":
        return
    documented = refusals_of(endpoint)
    assert problem["status"] in documented, f"{method} {path}: {answer.text}"
    assert problem["code"] in documented[problem["status"]], f"{method} {path}: {answer.text}"


@asynccontextmanager
async def serving_app(app: ASGIApp, *, header_seconds: float = 10, websockets: bool = False) -> AsyncIterator[int]:
    port = free_port()
    server = server_of(app, "127.0.0.1", port, header_seconds=header_seconds, websockets=websockets)
    running = asyncio.create_task(server.serve())
    try:
        for _ in range(500):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.01)
            else:
                writer.close()
                break
        yield port
    finally:
        server.stop()
        await running


@pytest.fixture
def serving() -> Callable[..., AbstractAsyncContextManager[int]]:
    """`async with serving(asgi) as port`: the application on a real server."""
    return serving_app


@pytest.fixture
async def anonymous(app: App) -> AsyncIterator[Api]:
    transport = httpx.ASGITransport(create_app(app), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://waypost") as client:
        yield Api(client=client, app=app)


@pytest.fixture
async def platform(anonymous: Api) -> Api:
    made = await create_platform_key(anonymous.app.work, anonymous.app.keys, name="test", request_id="rid_test")
    return Api(client=anonymous.client, app=anonymous.app, key=made.secret, tenant=PLATFORM)


@pytest.fixture
async def acme(anonymous: Api) -> Api:
    return await anonymous.make_tenant("acme")


@pytest.fixture
async def globex(anonymous: Api) -> Api:
    return await anonymous.make_tenant("globex")


@pytest.fixture
async def job_runner(app: App, database: Any) -> AsyncIterator[JobRunner]:
    """What a worker does about jobs, with a worker's role."""
    options = PoolOptions(application_name="test worker", min_size=0, max_size=1)
    pool, line = await open_pool(database.worker, options), Line(database.worker, options)
    keyring = PgKeyring(LocalVault(open_master_key(app.settings.master_key_path, create=False)))
    yield join_job_runner(line=line, work=PgWork(pool), keyring=keyring, clock=app.clock, worker_id=mint(app.clock))
    await line.close()
    pool.terminate()
