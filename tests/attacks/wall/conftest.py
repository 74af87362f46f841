"""Two tenants with a row in every table, and a walk that tries everything on everything as a role of the application.

The server is a real one, and the schema belongs to a role that is no superuser, as in every installation.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from io import BytesIO
from uuid import UUID, uuid4

import asyncpg
import pytest

from waypost.kernel.ids import first_id_at

NOW = datetime.now(UTC)
HASH = "sha256:" + "0" * 64
OWN, FOREIGN = "tenant-one", "tenant-two"
DENIED = (asyncpg.InsufficientPrivilegeError, asyncpg.FeatureNotSupportedError, asyncpg.WrongObjectTypeError)
_COLLIDED = 1_000_000
_USER_SCHEMAS = "nspname !~ '^pg_' and nspname <> 'information_schema'"


def an_id(at: datetime = NOW) -> UUID:
    """In the monthly partition of the moment."""
    return UUID(bytes=first_id_at(at).bytes[:6] + uuid4().bytes[:10])


def rows_of(tenant: str, at: datetime = NOW) -> dict[str, dict[str, object]]:
    """One row of each table for a tenant, in an order that foreign keys allow."""
    recipient, template, version, notification = an_id(at), an_id(at), an_id(at), an_id(at)
    listed, job = an_id(at), an_id(at)
    inbox = an_id(at)
    timer = an_id(at)
    endpoint, delivery = an_id(at), an_id(at)
    domain = an_id(at)
    account = an_id(at)
    alert_target = an_id(at)
    times = {"created_at": at, "updated_at": at}
    who = {"tenant_id": tenant}
    return {
        "tenants": {"id": tenant, "name": "n", "mode": "live", "status": "active", "wrapped_key": b"k", **times},
        "api_keys": {**who, "id": an_id(at), "name": "n", "scopes": [], "secret_hash": uuid4().bytes, "hint": "h",
                     "created_at": at},
        "audit": {**who, "id": an_id(at), "actor": "a", "action": "a", "subject": "s", "request_id": "r"},
        "idempotency_keys": {**who, "key": "k", "route": "r", "fingerprint": b"f"},
        "recipients": {**who, "id": recipient, "external_id": "x", "kind": "user", "data_key": b"k", **times},
        "addresses": {**who, "id": an_id(at), "recipient_id": recipient, "channel": 1, "hash": HASH,
                      "ciphertext": b"c", "status": "active", "given_at": at, **times},
        "suppressions": {**who, "id": an_id(at), "channel": 1, "hash": HASH, "masked": "m", "reason": "manual",
                         "source": "s", "created_at": at},
        "gate_changes": {**who, "recipient_id": recipient},
        "platform_suppressions": {**who, "channel": 1, "hash": HASH, "suppression_id": an_id(at)},
        "topics": {**who, "key": "k", "title": "t", "category": 1, "opted_in": True, **times},
        "recipient_preferences": {**who, "recipient_id": recipient, "updated_at": at},
        "consents": {**who, "recipient_id": recipient, "n": 1, "id": an_id(at), "channel": 1, "topic": "",
                     "state": "granted", "source": "s", "at": at, "proof": b"p" * 32},
        "consent_heads": {**who, "recipient_id": recipient, "n": 1, "proof": b"p" * 32},
        "rate_limits": {**who, "limits": "{}", "updated_at": at},
        "rate_counters": {**who, "whose": 1, "channel": 0, "recipient_id": recipient, "span": 1, "starts_at": at,
                          "taken": 1},
        "marketing_marks": {**who, "recipient_id": recipient, "sent": [at], "last_at": at},
        "dispatch_batches": {**who, "id": an_id(at), "state": "draft", "audience": "{}", "message": b"m",
                             "created_at": at},
        "recipient_tags": {**who, "recipient_id": recipient, "tag": "t"},
        "lists": {**who, "id": listed, "key": "k", "title": "t", **times},
        "list_members": {**who, "list_id": listed, "recipient_id": recipient, "added_at": at},
        "erasures": {**who, "id_hash": HASH, "recipient_id": recipient, "id": an_id(at), "erased_at": at,
                     "certificate": "c"},
        "jobs": {**who, "id": job, "kind": "import", "state": "waiting", "spec": b"s", "actor": "a", "created_at": at,
                 "served_at": at},
        "job_files": {**who, "job_id": job, "file": "upload", "n": 0, "content": b"c"},
        "templates": {**who, "id": template, "key": "k", "channel": 1, "category": 1, "name": "n", **times},
        "template_versions": {**who, "id": version, "template_id": template, "number": 1, "semver": "1.0.0",
                              "source": "tenant", "state": "draft", "content": b"c", "content_hash": b"h",
                              "created_at": at},
        "template_contents": {**who, "version_id": version, "locale": "en", "content": b"c"},
        "requests": {**who, "id": an_id(at), "key_id": an_id(at), "notification_ids": [notification]},
        "notifications": {**who, "id": notification, "retention": 1, "request_id": an_id(at),
                          "recipient_id": recipient, "channel": 1, "category": 1, "priority": 1, "status": 2,
                          "gate": 1, "version_id": an_id(at), "send_at": at, "expires_at": at, "payload": b"p"},
        "notification_dedupe": {**who, "dedupe_key": "k", "recipient_id": recipient, "channel": 1,
                                "notification_id": notification},
        "queue": {**who, "channel": 1, "priority": 1, "due": at, "id": notification, "retention": 1},
        "lanes": {**who, "channel": 1, "priority": 1, "due": at},
        "claims": {**who, "id": an_id(at), "worker_id": an_id(at), "channel": 1, "priority": 1, "ids": [an_id(at)]},
        "attempts": {**who, "notification_id": notification, "retention": 1, "n": 1, "worker_id": an_id(at),
                     "started_at": at},
        "timeline": {**who, "notification_id": notification, "retention": 1, "id": an_id(at), "at": at, "event": "e"},
        "tracking_events": {**who, "notification_id": notification, "retention": 1, "id": an_id(at), "kind": 1,
                            "at": at, "client": 0},
        "outbox": {**who, "kind": 1, "subject_id": an_id(at)},
        "triggers": {**who, "id": an_id(at), "key": "k", "event_type": "e", "spec": "{}", **times},
        "consumed_events": {**who, "consumer": "c", "event_id": "e"},
        "event_failures": {**who, "consumer": "c", "event_id": "e", "id": an_id(at), "attempts": 1, "code": "c",
                           "problem": "p", "body": b"b", "failed_at": at},
        "timers": {**who, "id": timer, "kind": "trigger", "source": "c/e", "recipient_id": recipient,
                   "subject_key": "s", "state": "waiting", "occurred_at": at, "due": at, "payload": b"p",
                   "created_at": at},
        "timer_news": {**who, "subject_key": "s", "occurred_at": at, "consumer": "c", "event_id": "e",
                       "event_type": "e", "cancels": True, "kept_until": at},
        "digest_items": {**who, "timer_id": timer, "n": 1, "payload": b"p"},
        "throttles": {**who, "trigger_id": timer, "recipient_id": recipient, "slot": "", "times": [at],
                      "touched_at": at},
        "escalation_messages": {**who, "notification_id": notification, "timer_id": timer},
        "outbox_unread": {**who, "reader": 0, "ids": [1]},
        "publish_backlog": {**who, "reader": 1, "subject_id": an_id(at), "at": at, "outbox_id": 1, "kind": 1, "n": 0,
                            "tries": 1, "since": at, "due": at},
        "webhook_endpoints": {**who, "id": endpoint, "url": b"u", "secret": b"s", "events": ["*"], "description": "d",
                              "status": "enabled", **times},
        "webhook_lanes": {**who, "endpoint_id": endpoint, "pace": 1},
        "webhook_deliveries": {**who, "id": delivery, "endpoint_id": endpoint, "outbox_id": 1, "at": at, "kind": 1,
                               "subject_id": an_id(at), "n": 0, "state": "waiting", "due": at, "give_up_at": at},
        "webhook_attempts": {**who, "delivery_id": delivery, "n": 1, "at": at, "latency_ms": 1, "answer": "a"},
        "webhook_replays": {**who, "id": an_id(at), "endpoint_id": endpoint, "since": at, "until": at},
        "sender_accounts": {**who, "id": account, "kind": "smtp", "name": "n", "from_address": "a@example.com",
                            "batch_size": 1, "delay_ms": 0, "connection": "{}", "status": "active", "status_at": at,
                            **times},
        "sender_states": {**who, "account_id": account},
        "sender_days": {**who, "account_id": account, "day": at.date()},
        "sender_paces": {**who, "account_id": account, "provider": "gmail", "hour": at, "updated_at": at},
        "sender_reservations": {**who, "batch_id": an_id(at), "account_id": account, "day": at.date(),
                                "ids": [an_id(at)]},
        "domains": {**who, "id": domain, "name": f"{tenant}.example", "purposes": ["from"], "state": "pending",
                    "proof": "p", "checks": "[]", "failures": 0, "overlap_days": 7, "next_check_at": at, **times},
        "dkim_keys": {**who, "id": an_id(at), "domain_id": domain, "algorithm": "rsa", "selector": "s",
                      "public_key": "p", "private_key": b"k", "state": "next", "created_at": at},
        "pauses": {**who, "id": an_id(at), "scope": "channel", "subject": "1", "reason": "r", "by_platform": False,
                   "created_at": at, "created_by": "k"},
        "dead_letters": {**who, "id": an_id(at), "retention": 1, "at": at, "reason": "refused", "channel": 1,
                         "category": 1, "attempts": 1, "spent": False},
        "trouble_counts": {**who, "trouble": "in_doubt", "slot": at, "count": 1},
        "alerts": {**who, "id": an_id(at), "kind": "queue_stalled", "subject": "s", "facts": "{}", "opened_at": at,
                   "seen_at": at},
        "alert_targets": {**who, "id": alert_target, "kind": "email", "target": b"t", "kinds": [], "description": "d",
                          "status": "enabled", **times},
        "alert_tellings": {**who, "target_id": alert_target, "alert_id": an_id(at), "n": 1, "kind": "opened",
                           "due": at},
        "mailbox": {**who, "id": an_id(at), "summary": b"s", "raw": b"r"},
        "blobs": {**who, "address": b"a" * 32, "sealed": b"s", "kept_until": at},
        "blob_uses": {**who, "address": b"a" * 32, "recipient_id": recipient},
        "shared_inputs": {**who, "id": an_id(at), "sealed": b"s", "created_at": at},
        "inbox_settings": {**who, "updated_at": at},
        "inboxes": {**who, "id": inbox, "key": "k", "title": "t", **times},
        "inbox_posts": {**who, "inbox_id": inbox, "id": an_id(at), "audience": "everyone", "place": 1,
                        "expires_at": at, "created_by": an_id(at)},
        "inbox_counters": {**who, "inbox_id": inbox, "run": 0, "topic": "", "live": 1},
        "inbox_members": {**who, "inbox_id": inbox, "recipient_id": recipient, "visible_from": an_id(at)},
        "inbox_items": {**who, "inbox_id": inbox, "recipient_id": recipient, "post_id": an_id(at), "public": False,
                        "n": 1, "as_of": 1, "expires_at": at},
        "inbox_watermarks": {**who, "inbox_id": inbox, "recipient_id": recipient, "n": 1, "at": at,
                             "own_upto": an_id(at), "public_upto": an_id(at)},
        "inbox_token_ends": {**who, "recipient_id": recipient, "not_before": at},
    }  # fmt: skip


async def insert(connection: asyncpg.Connection, table: str, row: dict[str, object]) -> str:
    marks = ", ".join(f"${n}" for n in range(1, len(row) + 1))
    return await connection.execute(f"insert into {table} ({', '.join(row)}) values ({marks})", *row.values())


@asynccontextmanager
async def undone(connection: asyncpg.Connection) -> AsyncIterator[None]:
    transaction = connection.transaction()
    await transaction.start()
    try:
        yield
    finally:
        await transaction.rollback()


class Wall:
    """What the tests of the wall share: the truth as the administrator sees it, and the walk."""

    OWN, FOREIGN, DENIED, NOW = OWN, FOREIGN, DENIED, NOW
    # Tables that belong to no tenant; every other one must have a tenant and be closed.
    TENANTLESS = frozenset({"schema_state", "migrations", "workers", "publishers"})
    # What the platform publishes, every tenant may read.
    SHARED = frozenset({"blobs", "templates", "template_versions", "template_contents", "triggers"})
    an_id, rows_of, insert, undone = (
        staticmethod(an_id),
        staticmethod(rows_of),
        staticmethod(insert),
        staticmethod(undone),
    )

    def __init__(self, admin: asyncpg.Connection) -> None:
        self.admin = admin

    async def relations(self, kinds: str) -> list[str]:
        rows = await self.admin.fetch(
            f"select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace"
            f" where {_USER_SCHEMAS} and relkind::text = any($1) order by 1",
            list(kinds),
        )
        return [row["name"] for row in rows]

    async def tables(self) -> list[str]:
        """Tables, partitioned tables, partitions, views, materialised views, foreign tables."""
        return await self.relations("rpvmf")

    async def partitions(self) -> set[str]:
        rows = await self.admin.fetch(
            "select oid::regclass::text as name from pg_class"
            " where relnamespace = 'waypost'::regnamespace and relispartition and relkind in ('r', 'p')"
        )
        return {row["name"] for row in rows}

    async def fill(self, at: datetime = NOW) -> None:
        for tenant in (OWN, FOREIGN):
            for table, row in rows_of(tenant, at).items():
                await insert(self.admin, table, row)
        await self.admin.execute("analyze")

    async def digest(self, tenant: str = FOREIGN) -> dict[str, str]:
        """What a tenant has, table by table."""
        return {
            table: await self.admin.fetchval(
                f"select md5(string_agg(t::text, ';' order by t::text)) from {table} t where {_key(table)} = $1", tenant
            )
            for table in rows_of(tenant)
        }

    async def breaches(self, role: asyncpg.Connection) -> list[str]:
        """Everything on everything, as the role, in tenant one: what it could see or change of tenant two."""
        found: list[str] = []
        inner = await self.partitions()
        for table in await self.tables():
            found += await self._reading(role, table)
            found += await self._writing(role, table)
            found += await self._rights(role, table)
            if table not in inner and table not in self.TENANTLESS:
                found += await self._changing(role, table)
        return found + await self._sequences(role)

    async def _reading(self, role: asyncpg.Connection, table: str) -> list[str]:
        found: list[str] = []
        for statement in (f"select t::text from {table} t", f"select t::text from only {table} t"):
            try:
                rows = await role.fetch(statement)
            except DENIED:
                continue
            found += [f"{statement}: shows tenant two"] if any(FOREIGN in row[0] for row in rows) else []
        for query in (f"select * from {table}", table):
            out = BytesIO()
            try:
                if query == table:
                    await role.copy_from_table(table.rpartition(".")[2], output=out)
                else:
                    await role.copy_from_query(query, output=out)
            except DENIED:
                continue
            found += [f"copy {query}: shows tenant two"] if FOREIGN.encode() in out.getvalue() else []
        return found

    async def _writing(self, role: asyncpg.Connection, table: str) -> list[str]:
        found: list[str] = []
        row = rows_of(FOREIGN).get(table)
        if row is None:
            parent = next((name for name in rows_of(FOREIGN) if table.startswith(f"{name}_")), None)
            if parent is None:
                return found
            row = rows_of(FOREIGN)[parent]
        try:
            async with undone(role):
                await insert(role, table, row)
                found.append(f"insert into {table}: planted in tenant two")
        except DENIED:
            pass
        except asyncpg.IntegrityConstraintViolationError:
            found.append(f"insert into {table}: a collision tells of tenant two")
        try:
            async with undone(role):
                await role.copy_records_to_table(table, records=[tuple(row.values())], columns=list(row))
                found.append(f"copy into {table}: planted in tenant two")
        except DENIED:
            pass
        except asyncpg.IntegrityConstraintViolationError:
            found.append(f"copy into {table}: a collision tells of tenant two")
        return found

    async def _changing(self, role: asyncpg.Connection, table: str) -> list[str]:
        columns = await self.admin.fetch(
            "select attname from pg_attribute where attrelid = $1::text::regclass and attnum > 0"
            " and not attisdropped and attidentity = ''",
            table,
        )
        if not columns or table not in rows_of(OWN):
            return []
        own = await self.admin.fetchval(f"select count(*) from {table} where {_key(table)} = $1", OWN)
        statements = [f"update {table} set {column['attname']} = {column['attname']}" for column in columns]
        found: list[str] = []
        for statement in [*statements, f"delete from {table}", f"select from {table} for update"]:
            changed = await _changed(role, statement)
            found += [] if changed is None or changed <= own else [f"{statement}: {changed} rows"]
        moved = await _changed(role, f"update {table} set {_key(table)} = '{FOREIGN}'")
        return found + ([] if moved is None else [f"{table}: rows can be moved into tenant two"])

    async def _rights(self, role: asyncpg.Connection, table: str) -> list[str]:
        found = [
            f"{table}: may {right}"
            for right in ("truncate", "references", "trigger", "maintain")
            if await role.fetchval("select has_table_privilege($1::text, $2)", table, right)
        ]
        columns = await role.fetchval(
            "select bool_or(has_column_privilege($1::text::regclass, attnum, 'references')) from pg_attribute"
            " where attrelid = $1::text::regclass and attnum > 0",
            table,
        )
        found += [f"{table}: its columns may be referred to"] if columns else []
        try:
            async with undone(role):
                await role.execute(f"truncate {table}")
                found.append(f"truncate {table}: was done")
        except DENIED:
            pass
        return found

    async def _sequences(self, role: asyncpg.Connection) -> list[str]:
        worker = await role.fetchval("select current_user") == "waypost_worker"
        found: list[str] = []
        for name in await self.relations("S"):
            rights = {
                right
                for right in ("usage", "select", "update")
                if await role.fetchval("select has_sequence_privilege($1::text, $2)", name, right)
            }
            # A moment in the order of lanes, which says nothing about anybody.
            wanted: set[str] = {"select", "update"} if worker and name == "lane_clock" else set()
            found += [] if rights == wanted else [f"{name}: {sorted(rights)}"]
        return found


async def _changed(role: asyncpg.Connection, statement: str) -> int | None:
    """How many rows a statement changed, undone at once; None where it was refused."""
    try:
        async with undone(role):
            return int((await role.execute(statement)).split()[-1])
    except DENIED:
        return None
    except asyncpg.IntegrityConstraintViolationError:
        return _COLLIDED


def _key(table: str) -> str:
    return "id" if table == "tenants" else "tenant_id"


@pytest.fixture
def wall(admin: asyncpg.Connection) -> Wall:
    return Wall(admin)


@pytest.fixture
async def two_tenants(wall: Wall) -> None:
    await wall.admin.fetch("select * from ensure_partitions(1)")
    await wall.fill()


@pytest.fixture(params=["api", "worker"])
async def role(
    request: pytest.FixtureRequest, two_tenants: None, connect: Callable[..., Awaitable[asyncpg.Connection]]
) -> asyncpg.Connection:
    """The application's role, working for tenant one."""
    connection = await connect(request.param)
    await connection.execute(f"select set_config('app.tenant_id', '{OWN}', false)")
    return connection
