-- oldest_code: 1
-- The foundation: tenants and access, people, content, and the hot path of a notification.
-- Runs as waypost_owner, which is no superuser and, under FORCE, sees no rows.
-- Every tenant table has the tenant in its primary, unique and foreign keys. Ids are the 128 bits of a ULID, so
-- ranges of ids are ranges of time: notifications, attempts and timeline are cut by retention class, then by month.

create table schema_state (
    only_row     boolean primary key default true check (only_row),
    version      integer not null,
    oldest_code  integer not null
);
comment on table schema_state is 'version: the newest migration applied; oldest_code: the oldest code (by the newest migration it knows) that may run on this schema';

-- ── tenants and access ──────────────────────────────────────────────────────────────────────────────────────────────

create table tenants (
    id           text primary key check (id ~ '^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$' or id = '_platform'),
    name         text not null check (length(name) between 1 and 200),
    mode         text not null check (mode in ('sandbox', 'live')),
    status       text not null check (status in ('onboarding', 'active', 'suspended', 'deleting')),
    settings     jsonb not null default '{}',
    wrapped_key  bytea not null,
    version      integer not null default 1,
    created_at   timestamptz not null,
    updated_at   timestamptz not null
);

create table api_keys (
    tenant_id    text not null references tenants (id),
    id           uuid not null,
    name         text not null check (length(name) between 1 and 200),
    scopes       text[] not null,
    secret_hash  bytea not null,
    hint         text not null,
    created_at   timestamptz not null,
    created_by   uuid,
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz,
    primary key (tenant_id, id),
    unique (tenant_id, secret_hash)
);
create index api_keys_by_secret on api_keys (secret_hash);

create table audit (
    tenant_id    text not null,
    id           uuid not null,
    actor        text not null,
    acting_as    text,
    action       text not null,
    subject      text not null,
    detail       jsonb not null default '{}',
    request_id   text not null,
    primary key (tenant_id, id)
);

create table idempotency_keys (
    tenant_id    text not null,
    key          text not null,
    route        text not null,
    fingerprint  bytea not null,
    status       smallint,
    answer       bytea,
    created_at   timestamptz not null default now(),
    primary key (tenant_id, key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

-- ── people ──────────────────────────────────────────────────────────────────────────────────────────────────────────

create table recipients (
    tenant_id    text not null references tenants (id),
    id           uuid not null,
    external_id  text collate "C" not null,
    kind         text not null check (kind in ('user', 'guest', 'vendor', 'anonymous')),
    locale       text,
    timezone     text,
    attributes   bytea,
    data_key     bytea,
    version      integer not null default 1,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    erased_at    timestamptz,
    check ((data_key is null) = (erased_at is not null))
);
alter table recipients add unique (tenant_id, external_id);
alter table recipients add primary key (tenant_id, id);
comment on column recipients.data_key is 'wrapped by the tenant''s key; covers attributes, addresses and payloads, so destroying it erases them all';

create table addresses (
    tenant_id    text not null,
    id           uuid not null,
    recipient_id uuid not null,
    channel      smallint not null,
    hash         text not null check (length(hash) = 71),
    ciphertext   bytea not null,
    verified     boolean not null default false,
    status       text not null check (status in ('active', 'suppressed', 'revoked')),
    given_at     timestamptz not null,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    foreign key (tenant_id, recipient_id) references recipients (tenant_id, id)
);
create unique index addresses_of_recipient on addresses (tenant_id, recipient_id, channel, hash) where status <> 'revoked';
create index addresses_by_hash on addresses (tenant_id, channel, hash);
alter table addresses add primary key (tenant_id, id);
comment on column addresses.given_at is 'when the caller last put it in front: of a channel''s addresses the newest given is used';

create table suppressions (
    tenant_id       text not null,
    id              uuid not null,
    channel         smallint not null,
    hash            text not null check (length(hash) = 71),
    masked          text not null,
    reason          text not null check (reason in ('hard_bounce', 'complaint', 'invalid_address', 'opt_out', 'manual', 'compliance', 'rate_limit')),
    source          text not null,
    notification_id uuid,
    created_at      timestamptz not null,
    expires_at      timestamptz,
    released_at     timestamptz,
    released_by     text,
    primary key (tenant_id, id)
);
-- Two places for each address: its owner's own opt-out, and the gravest of all other reasons; neither hides the other.
create unique index suppressions_in_force on suppressions (tenant_id, channel, hash, (reason = 'opt_out'))
    where released_at is null;

-- What has changed about a recipient lately, so that the gate at dispatch costs one look-up (rows older than a week go).
create table gate_changes (
    tenant_id    text not null,
    recipient_id uuid not null,
    changed_at   timestamptz not null default now(),
    primary key (tenant_id, recipient_id)
);
create index gate_changes_by_age on gate_changes (changed_at);

-- ── content ─────────────────────────────────────────────────────────────────────────────────────────────────────────

create table templates (
    tenant_id    text not null references tenants (id),
    id           uuid not null,
    key          text not null,
    channel      smallint not null,
    category     smallint not null,
    name         text not null,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    primary key (tenant_id, id),
    unique (tenant_id, key, channel)
);

-- A version without a template is the inline content of a call, stored once per distinct content.
create table template_versions (
    tenant_id        text not null references tenants (id),
    id               uuid not null,
    template_id      uuid,
    number           integer,
    state            text not null check (state in ('draft', 'active', 'archived', 'inline')),
    content          bytea not null,
    content_hash     bytea not null,
    variables_schema jsonb,
    created_at       timestamptz not null,
    published_at     timestamptz,
    primary key (tenant_id, id),
    foreign key (tenant_id, template_id) references templates (tenant_id, id),
    check ((template_id is null) = (state = 'inline')),
    check ((number is null) = (state = 'inline'))
);
create unique index template_versions_inline on template_versions (tenant_id, content_hash) where template_id is null;
create unique index template_versions_number on template_versions (tenant_id, template_id, number) where template_id is not null;
create unique index template_versions_one_active on template_versions (tenant_id, template_id) where state = 'active';

-- ── the road of a notification ──────────────────────────────────────────────────────────────────────────────────────

create table requests (
    tenant_id        text not null,
    id               uuid not null,
    key_id           uuid not null,
    notification_ids uuid[] not null,
    primary key (tenant_id, id)
) partition by range (id);

-- Inputs, never updated on the ordinary road: the state of a live or sent one is read from queue and attempts.
create table notifications (
    tenant_id    text not null,
    id           uuid not null,
    retention    smallint not null,
    request_id   uuid not null,
    recipient_id uuid not null,
    address_id   uuid,
    channel      smallint not null,
    category     smallint not null,
    priority     smallint not null,
    status       smallint not null,
    reason       text,
    gate         smallint not null,
    version_id   uuid not null,
    locale       text,
    send_at      timestamptz not null,
    expires_at   timestamptz not null,
    payload      bytea not null,
    secrets      bytea
) partition by list (retention);
-- `channel > 0` is true of every row: only a statement that says so may use this index, so the claim never does.
create index notifications_of_recipient on notifications (tenant_id, recipient_id, id) where channel > 0;
create index notifications_ended_unsent on notifications (tenant_id, status, id) where status >= 7;
-- The primary key comes last, here and below: on an empty table all indexes look equally good, the planner then takes the
-- newest, and a plan made in that moment must still be right an hour and a million rows later.
alter table notifications add primary key (tenant_id, id, retention);

-- (tenant, key, recipient, channel) happens once; kept_until null means for ever.
create table notification_dedupe (
    tenant_id       text not null,
    dedupe_key      text not null,
    recipient_id    uuid not null,
    channel         smallint not null,
    notification_id uuid not null,
    kept_until      timestamptz,
    primary key (tenant_id, dedupe_key, recipient_id, channel)
);
create index notification_dedupe_by_age on notification_dedupe (kept_until) where kept_until is not null;

-- Live work only: rows are inserted and deleted, never updated, so it stays small and needs no room for new versions.
create table queue (
    tenant_id    text not null,
    channel      smallint not null,
    priority     smallint not null,
    due          timestamptz not null,
    id           uuid not null,
    retention    smallint not null,
    attempt      smallint not null default 0,
    claims       smallint not null default 0
) with (fillfactor = 100, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);
-- Partial, so that only a statement about `claims < 2` may use it, and a look-up by id always takes the primary key.
create index queue_lane on queue (tenant_id, channel, priority, due, id) where claims < 2;
create index queue_suspects on queue (due) where claims >= 2;
alter table queue add primary key (tenant_id, id);
comment on column queue.attempt is 'attempts already made; the next one is attempt + 1';
comment on column queue.claims is 'claims that ended without a word: at two the row goes alone, at four to the dead letters';

-- One row per (tenant, channel, priority) that ever had work: what the claim chooses from, fairly.
create table lanes (
    tenant_id    text not null,
    channel      smallint not null,
    priority     smallint not null,
    vtime        bigint not null default 0,
    ready        boolean not null default false,
    due          timestamptz not null,
    head         timestamptz not null default '-infinity',
    head_id      uuid not null default '00000000-0000-0000-0000-000000000000',
    primary key (tenant_id, channel, priority)
) with (fillfactor = 50);
create index lanes_ready on lanes (vtime) where ready;
create index lanes_waiting on lanes (priority, due) where not ready and due < 'infinity';
comment on column lanes.vtime is 'what the lane has consumed, weighted by priority: the lowest goes first';
comment on column lanes.ready is 'the last claim left work that is due, so vtime is its place in line; otherwise it joins at lane_clock';
comment on column lanes.due is 'when its earliest row is due, infinity while it is empty';
comment on column lanes.head is 'low-water mark of (due, id) for the claim''s scan, so that dead index entries are not walked';

-- How far the lanes have come: the highest vtime that was served. A lane that wakes starts here, so idling saves up nothing.
create sequence lane_clock as bigint minvalue 0 start with 0;

create table workers (
    id           uuid primary key,
    host         text not null,
    pid          integer not null,
    code         integer not null,
    started_at   timestamptz not null default now(),
    lease_until  timestamptz not null
);
create index workers_by_lease on workers (lease_until);

-- Which open attempts belong to which worker: one row per claimed batch and lane, holding what is not yet settled.
create table claims (
    tenant_id    text not null,
    id           uuid not null,
    worker_id    uuid not null,
    opened_at    timestamptz not null default now(),
    channel      smallint not null,
    priority     smallint not null,
    ids          uuid[] storage external not null,
    primary key (tenant_id, id, channel, priority)
);
create index claims_of_worker on claims (worker_id);

-- What a claim hands to a worker.
create type claimed_row as (
    tenant_id text, id uuid, retention smallint, n smallint, claims smallint, channel smallint, category smallint,
    priority smallint, expires_at timestamptz, recipient_id uuid, address_id uuid, version_id uuid, locale text,
    payload bytea, secrets bytea, data_key bytea, gate_changed_at timestamptz
);

create table attempts (
    tenant_id       text not null,
    notification_id uuid not null,
    retention       smallint not null,
    n               smallint not null,
    claims          smallint not null default 0,
    worker_id       uuid not null,
    started_at      timestamptz not null,
    latency_ms      integer,
    outcome         smallint,
    code            integer,
    reason          text,
    reference       text,
    reply           bytea,
    primary key (tenant_id, notification_id, n, retention)
) partition by list (retention);
comment on column attempts.outcome is 'null while open; 1 accepted, 2 deferred, 3 rejected, 4 unreachable, 5 in doubt';
comment on column attempts.reply is 'the vendor''s own words, sealed under the recipient''s data key: they often repeat the address';

-- What happened to a notification besides attempts: withheld, deferred, cancelled, expired, rescued.
create table timeline (
    tenant_id       text not null,
    notification_id uuid not null,
    retention       smallint not null,
    id              uuid not null,
    at              timestamptz not null,
    event           text not null,
    reason          text,
    detail          jsonb not null default '{}',
    primary key (tenant_id, notification_id, id, retention)
) partition by list (retention);

create table outbox (
    tenant_id    text not null,
    id           bigint generated always as identity (cache 100),
    at           timestamptz not null default now(),
    kind         smallint not null,
    subject_id   uuid not null,
    n            smallint not null default 0,
    primary key (tenant_id, id)
) with (autovacuum_vacuum_scale_factor = 0.02);

-- ── the catch-all mailbox ───────────────────────────────────────────────────────────────────────────────────────────

create table mailbox (
    tenant_id    text not null references tenants (id),
    id           uuid not null,
    summary      bytea not null,
    raw          bytea not null,
    primary key (tenant_id, id)
);

-- ── partitions ──────────────────────────────────────────────────────────────────────────────────────────────────────

create table notifications_standard partition of notifications for values in (1) partition by range (id);
create table notifications_marketing partition of notifications for values in (2) partition by range (id);
create table attempts_standard partition of attempts for values in (1) partition by range (notification_id);
create table attempts_marketing partition of attempts for values in (2) partition by range (notification_id);
create table timeline_standard partition of timeline for values in (1) partition by range (notification_id);
create table timeline_marketing partition of timeline for values in (2) partition by range (notification_id);

-- A default partition must stay empty: a row in it comes from a broken clock, and `waypost doctor` says so.
create table requests_default partition of requests default;
create table notifications_standard_default partition of notifications_standard default;
create table notifications_marketing_default partition of notifications_marketing default;
create table attempts_standard_default partition of attempts_standard default with (fillfactor = 50);
create table attempts_marketing_default partition of attempts_marketing default with (fillfactor = 50);
create table timeline_standard_default partition of timeline_standard default;
create table timeline_marketing_default partition of timeline_marketing default;

-- ── the wall ────────────────────────────────────────────────────────────────────────────────────────────────────────
-- Partitions get neither grants nor policies: nobody but the owner can name them, and rows are reached through the parent.

do $$
declare
    name text;
begin
    foreach name in array array['api_keys', 'audit', 'idempotency_keys', 'recipients', 'addresses', 'suppressions',
        'gate_changes', 'templates', 'template_versions', 'requests', 'notifications', 'notification_dedupe', 'queue',
        'lanes', 'claims', 'attempts', 'timeline', 'outbox', 'mailbox']
    loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy tenant on %I using (tenant_id = current_setting(''app.tenant_id'', true)) '
                       'with check (tenant_id = current_setting(''app.tenant_id'', true))', name);
    end loop;
end
$$;
alter table tenants enable row level security;
alter table tenants force row level security;
create policy tenant on tenants using (id = current_setting('app.tenant_id', true))
    with check (id = current_setting('app.tenant_id', true));

-- Functions are nobody's to call until they are granted.
alter default privileges revoke execute on functions from public;

-- What the functions in resolvers.sql may read across tenants: these columns of these tables, and never a write.
create policy resolver on tenants for select to waypost_resolver using (true);
create policy resolver on api_keys for select to waypost_resolver using (true);
create policy resolver on idempotency_keys for select to waypost_resolver using (true);
create policy resolver on gate_changes for select to waypost_resolver using (true);
create policy resolver on notifications for select to waypost_resolver using (true);
create policy resolver on notification_dedupe for select to waypost_resolver using (true);
create policy resolver on queue for select to waypost_resolver using (true);
create policy resolver on lanes for select to waypost_resolver using (true);
create policy resolver on claims for select to waypost_resolver using (true);
create policy resolver on outbox for select to waypost_resolver using (true);
grant select (id, name, mode, status, settings, version, created_at, updated_at) on tenants to waypost_resolver;
grant select (tenant_id, id, scopes, secret_hash, expires_at, revoked_at) on api_keys to waypost_resolver;
grant select (tenant_id, created_at) on idempotency_keys to waypost_resolver;
grant select (tenant_id, changed_at) on gate_changes to waypost_resolver;
grant select (tenant_id, id) on notifications to waypost_resolver;
grant select (tenant_id, kept_until) on notification_dedupe to waypost_resolver;
grant select (tenant_id, channel, priority, due, id, claims) on queue to waypost_resolver;
grant select on lanes, lane_clock, workers to waypost_resolver;
grant select (tenant_id, id, worker_id, channel, priority) on claims to waypost_resolver;
grant select (tenant_id, id, at) on outbox to waypost_resolver;

grant select on schema_state to waypost_api, waypost_worker;

grant select, insert on tenants to waypost_api;
grant update (name, status, settings, version, updated_at) on tenants to waypost_api;
grant select on tenants to waypost_worker;
grant select, insert on api_keys to waypost_api;
grant update (revoked_at, last_used_at, expires_at, name) on api_keys to waypost_api;
grant select, insert on audit to waypost_api;
grant insert on audit to waypost_worker;
grant select, insert, delete on idempotency_keys to waypost_api;
grant update (status, answer) on idempotency_keys to waypost_api;

grant select, insert, update on recipients, addresses, suppressions to waypost_api;
grant select on recipients, addresses to waypost_worker;
grant update (status, updated_at) on addresses to waypost_worker;
grant select, insert, update on suppressions to waypost_worker;
grant select, insert, update on gate_changes to waypost_api, waypost_worker;

grant select, insert on templates, template_versions to waypost_api;
grant update (name, category, updated_at) on templates to waypost_api;
grant update (state, published_at) on template_versions to waypost_api;
grant select on templates, template_versions to waypost_worker;

grant select, insert on requests, notification_dedupe to waypost_api;
grant update (notification_id, kept_until) on notification_dedupe to waypost_api;
grant select, insert on notifications to waypost_api, waypost_worker;
grant update (status, reason, secrets) on notifications to waypost_api, waypost_worker;
grant select, insert, delete on queue to waypost_api, waypost_worker;
-- Rows of the queue are never updated; the right to is what FOR UPDATE asks for.
grant update (claims) on queue to waypost_worker;
grant select, insert, update on lanes to waypost_api, waypost_worker;
grant select, update on sequence lane_clock to waypost_worker;
grant select, insert, update, delete on workers, claims to waypost_worker;
grant select on claims to waypost_api;
grant select on attempts to waypost_api;
grant select, insert, update, delete on attempts to waypost_worker;
grant select, insert on timeline, outbox to waypost_api, waypost_worker;
grant select, insert, delete on mailbox to waypost_api;
grant select, delete on idempotency_keys, gate_changes, notification_dedupe, outbox to waypost_worker;

grant select, insert, update, delete on all tables in schema waypost to waypost_dba;
grant usage, select on all sequences in schema waypost to waypost_dba;
