-- The whole current schema, to read and to compare: nothing applies this file but the test that proves that replaying the
-- migrations gives the same. Whoever writes a migration makes its change here too. Functions are in routines.sql and
-- resolvers.sql, which are always whole.
--
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

-- ── 0002 templates ──────────────────────────────────────────────────────────────────────────────────────────────────

-- A platform's template (tenant `_platform`) is read by every tenant once it is published, and overridden by key and channel.
alter table templates
    add column kind           text not null default 'message' check (kind in ('message', 'layout', 'partial')),
    add column topic          text check (length(topic) between 1 and 100),
    add column default_locale text not null default 'en' check (length(default_locale) between 2 and 35),
    add column revision       integer not null default 1,
    add column published_at   timestamptz,
    add column archived_at    timestamptz,
    add check (channel between 1 and 7),
    add check (category between 1 and 6),
    add check (length(name) between 1 and 200),
    add check (length(key) between 1 and 100);
comment on column templates.revision is 'grows with every change of the template or its versions: the ETag';
comment on column templates.published_at is 'when a version was first published; which version is sent is said by the versions alone';

alter table template_versions
    add column semver         text check (semver ~ '^(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})$'),
    add column source         text check (source in ('platform', 'tenant', 'ai_drafted')),
    add column profile        text not null default 'jinja' check (profile in ('jinja', 'liquid')),
    add column locales        text[] not null default '{}',
    add column fallback_chain text[] not null default '{}',
    add column provenance     jsonb not null default '{}',
    add column created_by     uuid,
    add column approved_by    text check (length(approved_by) between 1 and 200),
    add column approved_at    timestamptz,
    add check ((semver is null) = (state = 'inline')),
    add check ((source is null) = (state = 'inline')),
    add check ((approved_by is null) = (approved_at is null)),
    add check (state <> 'active' or published_at is not null),
    -- What a model wrote is sent by nobody before a named person has approved it.
    add check (source is distinct from 'ai_drafted' or published_at is null or approved_by is not null);
create unique index template_versions_semver on template_versions (tenant_id, template_id, semver) where template_id is not null;
comment on column template_versions.content is 'sealed: the sources as they were written, or the inline content of a call';

-- What is sent, one row for each locale of a published version: compiled once, with its layout and partials inside.
create table template_contents (
    tenant_id    text not null,
    version_id   uuid not null,
    locale       text not null,
    content      bytea not null,
    primary key (tenant_id, version_id, locale),
    foreign key (tenant_id, version_id) references template_versions (tenant_id, id)
);
alter table template_contents enable row level security;
alter table template_contents force row level security;
create policy tenant on template_contents using (tenant_id = current_setting('app.tenant_id', true))
    with check (tenant_id = current_setting('app.tenant_id', true));

-- Drafts of the platform and the contents of its own calls stay its own.
create policy platform on templates for select to waypost_api, waypost_worker
    using (tenant_id = '_platform' and published_at is not null and current_setting('app.tenant_id', true) <> '');
create policy platform on template_versions for select to waypost_api, waypost_worker
    using (tenant_id = '_platform' and published_at is not null and current_setting('app.tenant_id', true) <> '');
create policy platform on template_contents for select to waypost_api, waypost_worker
    using (tenant_id = '_platform' and current_setting('app.tenant_id', true) <> '');

grant update (topic, default_locale, revision, published_at, archived_at) on templates to waypost_api;
grant update (approved_by, approved_at) on template_versions to waypost_api;
grant select, insert on template_contents to waypost_api;
grant select on template_contents to waypost_worker;
grant select, insert, update, delete on template_contents to waypost_dba;

-- ── 0003 recipients ─────────────────────────────────────────────────────────────────────────────────────────────────

-- A merged recipient stays as a row of its own: its id leads to the one it became, and what was sealed under its key for
-- messages long gone can still be read there.
alter table recipients add merged_into uuid;
alter table recipients add foreign key (tenant_id, merged_into) references recipients (tenant_id, id);
create index recipients_merged on recipients (tenant_id, merged_into) where merged_into is not null;

create table recipient_tags (
    tenant_id    text not null,
    recipient_id uuid not null,
    tag          text collate "C" not null check (length(tag) between 1 and 64),
    primary key (tenant_id, recipient_id, tag),
    foreign key (tenant_id, recipient_id) references recipients (tenant_id, id)
);
create index recipient_tags_by_tag on recipient_tags (tenant_id, tag, recipient_id);

create table lists (
    tenant_id    text not null references tenants (id),
    id           uuid not null,
    key          text collate "C" not null,
    title        text not null check (length(title) between 1 and 200),
    version      integer not null default 1,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    primary key (tenant_id, id),
    unique (tenant_id, key)
);

create table list_members (
    tenant_id    text not null,
    list_id      uuid not null,
    recipient_id uuid not null,
    added_at     timestamptz not null,
    primary key (tenant_id, list_id, recipient_id),
    foreign key (tenant_id, list_id) references lists (tenant_id, id) on delete cascade,
    foreign key (tenant_id, recipient_id) references recipients (tenant_id, id)
);
create index list_members_of_recipient on list_members (tenant_id, recipient_id);

-- Who was erased. Kept with the backups and replayed after a restore; the id is only a keyed hash.
create table erasures (
    tenant_id    text not null references tenants (id),
    id_hash      text not null check (length(id_hash) = 71),
    recipient_id uuid not null,
    id           uuid not null,
    erased_at    timestamptz not null,
    certificate  text,
    primary key (tenant_id, id_hash)
);
create unique index erasures_by_id on erasures (tenant_id, id) where certificate is not null;
create index erasures_of_recipient on erasures (tenant_id, recipient_id);
comment on column erasures.certificate is 'as it was signed; null for the ids that had been merged into the one erased';

-- Long work, done by the workers in small steps: what has been done and where to go on is written with each step.
create table jobs (
    tenant_id    text not null references tenants (id),
    id           uuid not null,
    kind         text not null check (kind ~ '^[a-z_]{1,40}$'),
    state        text not null check (state in ('uploading', 'waiting', 'running', 'finished', 'failed', 'cancelled')),
    spec         bytea not null,
    place        jsonb not null default '{}',
    done         bigint not null default 0,
    total        bigint,
    result       jsonb not null default '{}',
    error        text,
    actor        text not null,
    cancel_asked boolean not null default false,
    created_at   timestamptz not null,
    started_at   timestamptz,
    finished_at  timestamptz,
    files_until  timestamptz,
    served_at    timestamptz not null,
    worker_id    uuid,
    lease_until  timestamptz,
    failures     smallint not null default 0,
    primary key (tenant_id, id)
) with (fillfactor = 70);
create index jobs_open on jobs (served_at) where state in ('waiting', 'running');
create index jobs_with_files on jobs (files_until) where files_until is not null;
comment on column jobs.spec is 'what is to be done, sealed under the tenant''s key';
comment on column jobs.place is 'where the next step begins; the kind knows what it means';
comment on column jobs.served_at is 'when it last had a turn: the one that waited longest is next';
comment on column jobs.files_until is 'when its files go, and of an upload that never ended, the job too';

create table job_files (
    tenant_id    text not null,
    job_id       uuid not null,
    file         text not null check (file in ('upload', 'report', 'result')),
    n            integer not null,
    content      bytea storage external not null,
    primary key (tenant_id, job_id, file, n),
    foreign key (tenant_id, job_id) references jobs (tenant_id, id) on delete cascade
);

-- So that an erasure finds the copies of what was sent.
alter table mailbox add notification_id uuid;
create index mailbox_of_notification on mailbox (tenant_id, notification_id);

do $$
declare
    name text;
begin
    foreach name in array array['recipient_tags', 'lists', 'list_members', 'erasures', 'jobs', 'job_files'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy tenant on %I using (tenant_id = current_setting(''app.tenant_id'', true)) '
                       'with check (tenant_id = current_setting(''app.tenant_id'', true))', name);
    end loop;
end
$$;

create policy resolver on jobs for select to waypost_resolver using (true);
grant select (tenant_id, id, state, created_at, served_at, lease_until, files_until) on jobs to waypost_resolver;

grant select, insert, delete on recipient_tags, list_members to waypost_api, waypost_worker;
grant select, insert, update, delete on lists to waypost_api;
grant select, insert on lists to waypost_worker;
grant select, insert on erasures to waypost_api;
grant select on erasures to waypost_worker;
grant select, insert, update, delete on jobs, job_files to waypost_api;
grant select, update, delete on jobs to waypost_worker;
grant select, insert, delete on job_files to waypost_worker;
grant insert, update on recipients, addresses to waypost_worker;
-- A merge moves what still waits to the one recipient left, sealed under that one's key.
grant update (recipient_id, address_id, payload) on notifications to waypost_api;

grant select, insert, update, delete on recipient_tags, lists, list_members, erasures, jobs, job_files to waypost_dba;

-- ── 0004 consent ────────────────────────────────────────────────────────────────────────────────────────────────────

alter table suppressions drop constraint suppressions_reason_check;
alter table suppressions
    add constraint suppressions_reason_check check (reason in ('hard_bounce', 'soft_bounce', 'complaint', 'invalid_address',
        'opt_out', 'manual', 'compliance', 'rate_limit')),
    add column topic  text not null default '',
    add column spared text[] not null default '{}',
    add column notes  text check (length(notes) between 1 and 1000),
    add column sealed bytea,
    add check (reason = 'opt_out' or topic = '' and spared = '{}');
comment on column suppressions.topic is 'of an opt-out: what it is about; empty for all marketing';
comment on column suppressions.spared is 'of an opt-out from all marketing: topics that were consented to since';
comment on column suppressions.sealed is 'only of the platform''s own: the address, so that tenants made later are covered too';
-- Places for each address: its owner's opt-outs, one per topic, and the gravest of all other reasons; none hides another.
drop index suppressions_in_force;
create unique index suppressions_in_force on suppressions (tenant_id, channel, hash, (reason = 'opt_out'), topic)
    where released_at is null;

-- What the platform has suppressed, under each tenant's own keyed hash: made and taken back for all tenants at once.
create table platform_suppressions (
    tenant_id      text not null references tenants (id),
    channel        smallint not null,
    hash           text not null check (length(hash) = 71),
    suppression_id uuid not null,
    expires_at     timestamptz,
    primary key (tenant_id, channel, hash)
);
create index platform_suppressions_of on platform_suppressions (tenant_id, suppression_id);

create table topics (
    tenant_id    text not null references tenants (id),
    key          text collate "C" not null check (key ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
    title        text not null check (length(title) between 1 and 200),
    description  text check (length(description) between 1 and 2000),
    category     smallint not null check (category between 1 and 6),
    opted_in     boolean not null,
    mandatory    boolean not null default false,
    position     integer not null default 0,
    channels     jsonb not null default '{}',
    version      integer not null default 1,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    primary key (tenant_id, key),
    check (not mandatory or opted_in and category <> 5)
);
comment on column topics.channels is 'channel → whether it is opted in there by default, where that differs from opted_in';

-- What a recipient has chosen; whatever is not here is as the topic and the tenant say.
create table recipient_preferences (
    tenant_id    text not null,
    recipient_id uuid not null,
    channels     jsonb not null default '{}',
    quiet_start  smallint check (quiet_start between 0 and 1439),
    quiet_end    smallint check (quiet_end between 0 and 1439),
    version      integer not null default 1,
    updated_at   timestamptz not null,
    primary key (tenant_id, recipient_id),
    foreign key (tenant_id, recipient_id) references recipients (tenant_id, id),
    check ((quiet_start is null) = (quiet_end is null))
);
comment on column recipient_preferences.quiet_start is 'minutes from local midnight; equal to quiet_end: never quiet';

-- Every word about consent, in order. Nobody may change or remove one: each row's proof covers the one before it.
create table consents (
    tenant_id    text not null,
    recipient_id uuid not null,
    n            integer not null check (n > 0),
    id           uuid not null,
    channel      smallint not null,
    topic        text not null,
    state        text not null check (state in ('pending', 'granted', 'withdrawn')),
    source       text not null,
    text_version text,
    at           timestamptz not null,
    proof        bytea not null check (length(proof) = 32),
    primary key (tenant_id, recipient_id, n),
    foreign key (tenant_id, recipient_id) references recipients (tenant_id, id)
);
comment on column consents.topic is 'empty for all marketing';
-- Where each history ends, so that its last rows cannot go missing unseen either.
create table consent_heads (
    tenant_id    text not null,
    recipient_id uuid not null,
    n            integer not null,
    proof        bytea not null check (length(proof) = 32),
    primary key (tenant_id, recipient_id),
    foreign key (tenant_id, recipient_id) references recipients (tenant_id, id)
);

-- What a notification is about, for the gate and for its unsubscribe link.
alter table notifications add column topic text;
alter type claimed_row add attribute topic text;

do $$
declare
    name text;
begin
    foreach name in array array['platform_suppressions', 'topics', 'recipient_preferences', 'consents', 'consent_heads'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy tenant on %I using (tenant_id = current_setting(''app.tenant_id'', true)) '
                       'with check (tenant_id = current_setting(''app.tenant_id'', true))', name);
    end loop;
end
$$;

grant select, insert, update, delete on topics, platform_suppressions, recipient_preferences to waypost_api;
grant select, insert on consents to waypost_api;
grant select, insert, update on consent_heads to waypost_api;
grant select on topics, platform_suppressions to waypost_worker;
grant select, insert, update on recipient_preferences, consent_heads to waypost_worker;
grant select, insert on consents to waypost_worker;
grant select, insert, update, delete on topics, platform_suppressions, recipient_preferences, consents, consent_heads
    to waypost_dba;

-- ── 0005 events ─────────────────────────────────────────────────────────────────────────────────────────────────────

-- What an event starts. A tenant's row stands in for the platform's (tenant `_platform`) of the same key.
create table triggers (
    tenant_id    text not null references tenants (id),
    id           uuid not null,
    key          text collate "C" not null check (length(key) between 1 and 300),
    event_type   text collate "C" not null check (length(event_type) between 1 and 128),
    spec         jsonb not null,
    version      integer not null default 1,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    unique (tenant_id, key)
);
create index triggers_by_type on triggers (tenant_id, event_type);
alter table triggers add primary key (tenant_id, id);

-- Which events have been taken in, so that each is only once. Not partitioned: uniqueness must hold over all of them.
create table consumed_events (
    tenant_id    text not null,
    consumer     text collate "C" not null,
    event_id     text collate "C" not null,
    received_at  timestamptz not null default now(),
    primary key (tenant_id, consumer, event_id)
);
create index consumed_events_by_age on consumed_events (received_at);

-- Pulled events that could not be taken in: tried again, and after ten times kept here for people.
create table event_failures (
    tenant_id    text not null references tenants (id),
    consumer     text collate "C" not null,
    event_id     text collate "C" not null,
    id           uuid not null,
    attempts     smallint not null check (attempts > 0),
    code         text not null,
    problem      text not null,
    body         bytea not null,
    failed_at    timestamptz not null,
    dead_at      timestamptz,
    unique (tenant_id, id),
    primary key (tenant_id, consumer, event_id)
);
create index event_failures_by_age on event_failures (failed_at);

-- Work to do later, which can be moved or dropped; also the windows of digests and the steps of what goes on until seen.
create table timers (
    tenant_id    text not null,
    id           uuid not null,
    kind         text not null check (kind in ('trigger', 'digest', 'escalation')),
    trigger_id   uuid,
    source       text collate "C" not null,
    recipient_id uuid,
    subject_key  text collate "C",
    slot         text collate "C",
    state        text not null check (state in ('waiting', 'fired', 'cancelled', 'skipped')),
    reason       text,
    occurred_at  timestamptz not null,
    due          timestamptz,
    payload      bytea not null,
    collecting   boolean not null default false,
    collected    integer not null default 0,
    generation   smallint not null default 1,
    tries        smallint not null default 0,
    moved_at     timestamptz,
    request_id   uuid,
    created_at   timestamptz not null,
    ended_at     timestamptz,
    check (state <> 'waiting' or due is not null),
    check ((state = 'waiting') = (ended_at is null)),
    check (not collecting or kind = 'digest' and state = 'waiting')
);
create unique index timers_once on timers (tenant_id, kind, source, trigger_id, recipient_id) nulls not distinct;
create unique index timers_collecting on timers (tenant_id, trigger_id, recipient_id, slot) where collecting;
create index timers_of_subject on timers (tenant_id, subject_key, id) where subject_key is not null;
create index timers_of_recipient on timers (tenant_id, recipient_id, id) where recipient_id is not null;
create index timers_by_due on timers (due) include (tenant_id) where state = 'waiting';
create index timers_waiting on timers (tenant_id, due, id) where state = 'waiting';
create index timers_by_end on timers (ended_at) where ended_at is not null;
alter table timers add primary key (tenant_id, id);
comment on column timers.source is 'what it comes from: consumer and event, the first message of an escalation, its own id for a digest';
comment on column timers.recipient_id is 'null where the recipients are found when it fires';
comment on column timers.payload is 'sealed under the recipient''s data key, or the tenant''s where there is no recipient';
comment on column timers.due is 'null where its anchor could not be read';

-- What events said about a subject, kept so that whatever arrives later or out of order still counts.
create table timer_news (
    tenant_id    text not null,
    subject_key  text collate "C" not null,
    occurred_at  timestamptz not null,
    consumer     text collate "C" not null,
    event_id     text collate "C" not null,
    event_type   text not null,
    cancels      boolean not null,
    data         bytea,
    kept_until   timestamptz not null,
    primary key (tenant_id, subject_key, occurred_at, consumer, event_id, cancels)
);
create index timer_news_by_age on timer_news (kept_until);
comment on column timer_news.data is 'sealed under the tenant''s key; a cancellation needs none';

create table digest_items (
    tenant_id    text not null,
    timer_id     uuid not null,
    n            integer not null,
    payload      bytea not null,
    primary key (tenant_id, timer_id, n),
    foreign key (tenant_id, timer_id) references timers (tenant_id, id) on delete cascade
);

-- When the last messages of a trigger went to a recipient: never more than its `max` of them.
create table throttles (
    tenant_id    text not null,
    trigger_id   uuid not null,
    recipient_id uuid not null,
    slot         text collate "C" not null,
    times        timestamptz[] not null,
    touched_at   timestamptz not null,
    primary key (tenant_id, trigger_id, recipient_id, slot)
) with (fillfactor = 70);
create index throttles_by_age on throttles (touched_at);

-- The messages of what goes on until seen: reading any of them ends it.
create table escalation_messages (
    tenant_id       text not null,
    notification_id uuid not null,
    timer_id        uuid not null,
    primary key (tenant_id, notification_id),
    foreign key (tenant_id, timer_id) references timers (tenant_id, id) on delete cascade
);
create index escalation_messages_of on escalation_messages (tenant_id, timer_id);

do $$
declare
    name text;
begin
    foreach name in array array['triggers', 'consumed_events', 'event_failures', 'timers', 'timer_news', 'digest_items',
        'throttles', 'escalation_messages']
    loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy tenant on %I using (tenant_id = current_setting(''app.tenant_id'', true)) '
                       'with check (tenant_id = current_setting(''app.tenant_id'', true))', name);
    end loop;
end
$$;
create policy platform on triggers for select to waypost_api, waypost_worker
    using (tenant_id = '_platform' and current_setting('app.tenant_id', true) <> '');

create policy resolver on consumed_events for select to waypost_resolver using (true);
create policy resolver on event_failures for select to waypost_resolver using (true);
create policy resolver on timers for select to waypost_resolver using (true);
create policy resolver on timer_news for select to waypost_resolver using (true);
create policy resolver on throttles for select to waypost_resolver using (true);
grant select (tenant_id, received_at) on consumed_events to waypost_resolver;
grant select (tenant_id, failed_at) on event_failures to waypost_resolver;
grant select (tenant_id, due, state, ended_at) on timers to waypost_resolver;
grant select (tenant_id, kept_until) on timer_news to waypost_resolver;
grant select (tenant_id, touched_at) on throttles to waypost_resolver;

grant select, insert, update, delete on triggers to waypost_api;
grant select on triggers to waypost_worker;
grant select, insert on consumed_events to waypost_api;
grant select, insert, delete on consumed_events to waypost_worker;
grant select, delete on event_failures to waypost_api;
grant select, insert, update, delete on event_failures to waypost_worker;
grant select, insert, update on timers to waypost_api;
grant select, insert, update, delete on timers to waypost_worker;
grant select, insert on timer_news to waypost_api;
grant select, insert, update, delete on timer_news to waypost_worker;
grant select, insert, delete on digest_items to waypost_api;
grant select, insert, delete on digest_items to waypost_worker;
grant select, insert, update, delete on throttles to waypost_api;
grant select, insert, update, delete on throttles to waypost_worker;
grant select, insert on escalation_messages to waypost_api, waypost_worker;

-- A due timer or a pulled event is submitted by the worker, as a call is by the API.
grant select, insert on requests, template_versions, template_contents, notification_dedupe to waypost_worker;
grant update (notification_id, kept_until) on notification_dedupe to waypost_worker;
grant select, insert, update on recipients, addresses to waypost_worker;

grant select, insert, update, delete on triggers, consumed_events, event_failures, timers, timer_news, digest_items,
    throttles, escalation_messages to waypost_dba;

-- ── 0006 webhooks ───────────────────────────────────────────────────────────────────────────────────────────────────

-- News carries the time at which it was written down, not the one at which its transaction began: whoever waited for a
-- subject's lock has seen what came before, and its news must have the later time.
alter table outbox alter column at set default clock_timestamp();

-- Which publishers of the operator's read along, in every tenant's outbox.
create table publishers (
    reader       smallint primary key check (reader > 0),
    name         text not null,
    seen_at      timestamptz not null
);

-- What a reader has not been told yet: one row per statement that added news, so that telling costs a sender next to
-- nothing. A row is gone when its news has been told; there is no position that could run ahead of a late commit.
create table outbox_unread (
    tenant_id    text not null,
    reader       smallint not null,
    id           bigint generated always as identity,
    at           timestamptz not null default now(),
    ids          bigint[] storage external not null,
    primary key (tenant_id, reader, id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index outbox_unread_of_reader on outbox_unread (reader, tenant_id);
comment on column outbox_unread.reader is '0: the tenant''s webhook endpoints; otherwise one of publishers';
comment on column outbox_unread.id is 'grows with what is caused by what: one by one, never from a cache';

-- What a broker would not take, and what waits behind it.
create table publish_backlog (
    tenant_id    text not null,
    reader       smallint not null,
    subject_id   uuid not null,
    at           timestamptz not null,
    outbox_id    bigint not null,
    kind         smallint not null,
    n            smallint not null,
    tries        smallint not null,
    since        timestamptz not null,
    due          timestamptz not null,
    primary key (tenant_id, reader, subject_id, at, outbox_id)
);
create index publish_backlog_due on publish_backlog (reader, due);

create table webhook_endpoints (
    tenant_id        text not null references tenants (id),
    id               uuid not null,
    url              bytea not null,
    secret           bytea not null,
    old_secret       bytea,
    old_secret_until timestamptz,
    events           text[] not null,
    description      text not null check (length(description) <= 500),
    status           text not null check (status in ('enabled', 'disabled')),
    disabled_reason  text check (disabled_reason in ('by_hand', 'gone', 'failing')),
    disabled_at      timestamptz,
    failing_since    timestamptz,
    version          integer not null default 1,
    created_at       timestamptz not null,
    updated_at       timestamptz not null,
    primary key (tenant_id, id),
    check ((status = 'disabled') = (disabled_reason is not null and disabled_at is not null)),
    check ((old_secret is null) = (old_secret_until is null))
);
comment on column webhook_endpoints.url is 'sealed under the tenant''s key, as the secrets are: addresses of webhooks often hold a token';

-- When an endpoint is called next, and how fast: two calls at a time, whoever makes them.
create table webhook_lanes (
    tenant_id    text not null,
    endpoint_id  uuid not null,
    due          timestamptz not null default 'infinity',
    not_before   timestamptz not null default '-infinity',
    pace         smallint not null,
    failures     integer not null default 0,
    busy_a       timestamptz not null default '-infinity',
    busy_b       timestamptz not null default '-infinity',
    primary key (tenant_id, endpoint_id),
    foreign key (tenant_id, endpoint_id) references webhook_endpoints (tenant_id, id) on delete cascade
) with (fillfactor = 50);
create index webhook_lanes_due on webhook_lanes (due) where due < 'infinity';
comment on column webhook_lanes.due is 'when the first of its deliveries is due and may be made; infinity while there is none';
comment on column webhook_lanes.busy_a is 'until when the first of its two places is taken';

-- One event for one endpoint. The body is not kept: it is made from the record of what it is about, each time.
create table webhook_deliveries (
    tenant_id    text not null,
    id           uuid not null,
    endpoint_id  uuid not null,
    outbox_id    bigint not null,
    at           timestamptz not null,
    kind         smallint not null,
    subject_id   uuid not null,
    n            smallint not null,
    state        text not null check (state in ('waiting', 'delivered', 'failed')),
    attempts     smallint not null default 0,
    due          timestamptz not null,
    give_up_at   timestamptz not null,
    foreign key (tenant_id, endpoint_id) references webhook_endpoints (tenant_id, id) on delete cascade
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create index webhook_deliveries_waiting on webhook_deliveries (tenant_id, endpoint_id, due) where state = 'waiting';
create index webhook_deliveries_of_endpoint on webhook_deliveries (tenant_id, endpoint_id, id);
-- Few among many: what people look for is what did not arrive.
create index webhook_deliveries_undelivered on webhook_deliveries (tenant_id, endpoint_id, id) where state <> 'delivered';
alter table webhook_deliveries add primary key (tenant_id, id);

create table webhook_attempts (
    tenant_id    text not null,
    delivery_id  uuid not null,
    n            smallint not null,
    at           timestamptz not null,
    status       smallint,
    fault        text,
    latency_ms   integer not null,
    answer       text not null,
    primary key (tenant_id, delivery_id, n),
    foreign key (tenant_id, delivery_id) references webhook_deliveries (tenant_id, id) on delete cascade
);

-- Events of a time that one endpoint is told again; `position` is how far its rows have been read.
create table webhook_replays (
    tenant_id    text not null,
    id           uuid not null,
    endpoint_id  uuid not null,
    since        timestamptz not null,
    until        timestamptz not null,
    position     bigint not null default 0,
    added        integer not null default 0,
    done         boolean not null default false,
    primary key (tenant_id, id),
    foreign key (tenant_id, endpoint_id) references webhook_endpoints (tenant_id, id) on delete cascade
);
create index webhook_replays_of_endpoint on webhook_replays (tenant_id, endpoint_id, id);
create index webhook_replays_open on webhook_replays (tenant_id) where not done;

do $$
declare
    name text;
begin
    foreach name in array array['outbox_unread', 'publish_backlog', 'webhook_endpoints', 'webhook_lanes',
        'webhook_deliveries', 'webhook_attempts', 'webhook_replays']
    loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy tenant on %I using (tenant_id = current_setting(''app.tenant_id'', true)) '
                       'with check (tenant_id = current_setting(''app.tenant_id'', true))', name);
    end loop;
end
$$;
create policy resolver on outbox_unread for select to waypost_resolver using (true);
create policy resolver on publish_backlog for select to waypost_resolver using (true);
create policy resolver on webhook_lanes for select to waypost_resolver using (true);
create policy resolver on webhook_deliveries for select to waypost_resolver using (true);
create policy resolver on webhook_replays for select to waypost_resolver using (true);
grant select (tenant_id, reader, id, at) on outbox_unread to waypost_resolver;
grant select (tenant_id, reader, at, due) on publish_backlog to waypost_resolver;
grant select (tenant_id, endpoint_id, due, busy_a, busy_b) on webhook_lanes to waypost_resolver;
grant select (tenant_id, id) on webhook_deliveries to waypost_resolver;
grant select (tenant_id, done) on webhook_replays to waypost_resolver;

grant select on publishers to waypost_api;
grant select, insert, update, delete on publishers to waypost_worker;
grant insert on outbox_unread to waypost_api;
grant select, insert, update, delete on outbox_unread, publish_backlog to waypost_worker;
grant select, insert, update, delete on webhook_endpoints to waypost_api;
grant select on webhook_endpoints to waypost_worker;
grant update (status, disabled_reason, disabled_at, failing_since, version, updated_at) on webhook_endpoints to waypost_worker;
grant select, insert, update on webhook_lanes to waypost_api, waypost_worker;
grant select, insert on webhook_deliveries to waypost_api;
grant update (state, due, give_up_at) on webhook_deliveries to waypost_api;
grant select, insert, update, delete on webhook_deliveries to waypost_worker;
grant select on webhook_attempts to waypost_api;
grant select, insert on webhook_attempts to waypost_worker;
grant select, insert on webhook_replays to waypost_api;
grant select, delete on webhook_replays to waypost_worker;
grant update (position, added, done) on webhook_replays to waypost_worker;
grant select, insert, update, delete on publishers, outbox_unread, publish_backlog, webhook_endpoints, webhook_lanes,
    webhook_deliveries, webhook_attempts, webhook_replays to waypost_dba;
grant usage, select on sequence outbox_unread_id_seq to waypost_dba;

-- ── 0007 limits ─────────────────────────────────────────────────────────────────────────────────────────────────────

-- What a tenant allows itself. Whoever has a row here is asked about at every dispatch; nobody else pays for it.
create table rate_limits (
    tenant_id    text primary key references tenants (id),
    limits       jsonb not null,
    updated_at   timestamptz not null
);

-- How much of the present window is used, one row per limit. Changed only under the tenant's advisory lock.
create table rate_counters (
    tenant_id    text not null references tenants (id),
    whose        smallint not null check (whose between 1 and 3),
    channel      smallint not null,
    recipient_id uuid not null,
    span         smallint not null check (span between 1 and 2),
    starts_at    timestamptz not null,
    taken        integer not null check (taken >= 0),
    plan_at      timestamptz,
    planned      integer not null default 0,
    primary key (tenant_id, whose, channel, recipient_id, span)
) with (fillfactor = 70);
create index rate_counters_by_age on rate_counters (tenant_id, starts_at);
comment on column rate_counters.whose is '1 tenant, 2 channel, 3 recipient';
comment on column rate_counters.plan_at is 'the later window into which the last message was put off, and planned how many were';

-- When each recipient got marketing: as many moments as the cap may ask for.
create table marketing_marks (
    tenant_id    text not null,
    recipient_id uuid not null,
    sent         timestamptz[] not null,
    last_at      timestamptz not null,
    primary key (tenant_id, recipient_id),
    foreign key (tenant_id, recipient_id) references recipients (tenant_id, id)
);
create index marketing_marks_by_age on marketing_marks (tenant_id, last_at);

-- One message to many recipients. Who got it is told by notification_dedupe under `brd:<id>`, how it went by the
-- notifications themselves: nothing here counts anything.
create table dispatch_batches (
    tenant_id    text not null references tenants (id),
    id           uuid not null,
    state        text not null check (state in ('draft', 'scheduled', 'running', 'completed', 'cancelled', 'failed')),
    audience     jsonb not null,
    message      bytea not null,
    per_minute   integer check (per_minute > 0),
    starts_at    timestamptz,
    place        uuid not null default '00000000-0000-0000-0000-000000000000',
    expanded     bigint not null default 0,
    refused      bigint not null default 0,
    reason       text,
    created_at   timestamptz not null,
    started_at   timestamptz,
    finished_at  timestamptz,
    failures     smallint not null default 0,
    next_step_at timestamptz,
    primary key (tenant_id, id)
) with (fillfactor = 70);
create index dispatch_batches_due on dispatch_batches (next_step_at) where next_step_at is not null;
comment on column dispatch_batches.message is 'what is sent, sealed under the tenant''s key';
comment on column dispatch_batches.place is 'the last recipient of the chunks that are done: where the next one goes on';
comment on column dispatch_batches.expanded is 'how many recipients the chunks that are done have passed: the pace is kept by it';

do $$
declare
    name text;
begin
    foreach name in array array['rate_limits', 'rate_counters', 'marketing_marks', 'dispatch_batches'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy tenant on %I using (tenant_id = current_setting(''app.tenant_id'', true)) '
                       'with check (tenant_id = current_setting(''app.tenant_id'', true))', name);
    end loop;
end
$$;

create policy resolver on dispatch_batches for select to waypost_resolver using (true);
grant select (tenant_id, id, next_step_at) on dispatch_batches to waypost_resolver;

grant select, insert, update, delete on rate_limits to waypost_api;
grant select on rate_counters, marketing_marks to waypost_api;
grant select on rate_limits to waypost_worker;
grant select, insert, update, delete on rate_counters, marketing_marks to waypost_worker;
grant select, insert, update on dispatch_batches to waypost_api, waypost_worker;
grant select, insert, update, delete on rate_limits, rate_counters, marketing_marks, dispatch_batches to waypost_dba;

-- ── 0008 inbox ──────────────────────────────────────────────────────────────────────────────────────────────────────

create table inbox_settings (
    tenant_id       text primary key references tenants (id),
    ttl             text not null default '30d',
    visible_since   integer not null default 0 check (visible_since >= -1),
    allowed_origins text[] not null default '{}',
    identity_secret bytea,
    updated_at      timestamptz not null
);
comment on column inbox_settings.visible_since is 'which posts for everyone a newcomer sees: those of so many seconds before joining; -1: all';
comment on column inbox_settings.identity_secret is 'sealed by the tenant''s key; whoever holds it may prove to be any recipient';

create table inboxes (
    tenant_id    text not null references tenants (id),
    id           uuid not null,
    key          text collate "C" not null check (key ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
    title        text not null check (length(title) between 1 and 200),
    description  text not null default '' check (length(description) <= 2000),
    ttl          jsonb not null default '{}',
    n            bigint not null default 0,
    place        bigint not null default 0,
    last_post    uuid not null default '00000000-0000-0000-0000-000000000000',
    version      integer not null default 1,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    unique (tenant_id, key)
) with (fillfactor = 50);
alter table inboxes add primary key (tenant_id, id);
comment on column inboxes.n is 'number of the last change to posts for everyone; taken under this row''s lock, so numbers follow commits';
comment on column inboxes.place is 'place of the last post to everyone; places and ids of such posts grow together, under the same lock';

create table inbox_posts (
    tenant_id    text not null,
    inbox_id     uuid not null,
    id           uuid not null,
    audience     text not null check (audience in ('users', 'everyone', 'list', 'filter')),
    label        text,
    copies       integer,
    topic        text collate "C" not null default '',
    content      bytea,
    place        bigint not null default 0,
    n            bigint not null default 0,
    expires_at   timestamptz not null,
    redacted_at  timestamptz,
    created_by   uuid not null,
    foreign key (tenant_id, inbox_id) references inboxes (tenant_id, id),
    check ((audience = 'everyone') = (place > 0))
);
-- Each index but the key's names something that is true of every row it holds, so that only a statement that says so may
-- use it: on an empty table all look equally good, and a plan made in that moment must still be right a million rows later.
create index inbox_posts_changed on inbox_posts (tenant_id, inbox_id, n) where audience = 'everyone' and n > 0;
create index inbox_posts_by_age on inbox_posts (tenant_id, expires_at) where expires_at > '-infinity';
create index inbox_posts_redacted on inbox_posts (tenant_id, inbox_id, id)
    where audience = 'everyone' and redacted_at is not null;
create index inbox_posts_for_everyone on inbox_posts (tenant_id, inbox_id, id)
    where audience = 'everyone' and redacted_at is null;
alter table inbox_posts add primary key (tenant_id, inbox_id, id);
create index inbox_posts_expiring on inbox_posts (tenant_id, inbox_id, expires_at) include (topic, place)
    where audience = 'everyone' and redacted_at is null and expires_at > '-infinity';
create index inbox_posts_in_place on inbox_posts (tenant_id, inbox_id, place) include (topic, expires_at)
    where audience = 'everyone' and redacted_at is null and place > 0;
comment on column inbox_posts.copies is 'for how many people it was when it was posted; null: for everyone';
comment on column inbox_posts.content is 'sealed by the tenant''s key; null where each copy holds its own, sealed by its owner''s';
comment on column inbox_posts.place is 'of posts for everyone: counts go by runs of 512 places';

-- How many posts for everyone stand, by runs of places, so that those after any point are counted without walking them.
create table inbox_counters (
    tenant_id    text not null,
    inbox_id     uuid not null,
    run          bigint not null,
    topic        text collate "C" not null,
    live         integer not null check (live >= 0),
    primary key (tenant_id, inbox_id, run, topic),
    foreign key (tenant_id, inbox_id) references inboxes (tenant_id, id)
) with (fillfactor = 50);

-- One person in one inbox. Whoever changes anything of theirs holds this row and takes the next number.
create table inbox_members (
    tenant_id    text not null,
    inbox_id     uuid not null,
    recipient_id uuid not null,
    n            bigint not null default 0,
    visible_from uuid not null,
    read_upto    uuid not null default '00000000-0000-0000-0000-000000000000',
    primary key (tenant_id, inbox_id, recipient_id),
    foreign key (tenant_id, inbox_id) references inboxes (tenant_id, id),
    foreign key (tenant_id, recipient_id) references recipients (tenant_id, id)
) with (fillfactor = 70);
create index inbox_members_of_recipient on inbox_members (tenant_id, recipient_id) where n >= 0;
comment on column inbox_members.visible_from is 'the oldest post for everyone that this person sees';
comment on column inbox_members.read_upto is 'the newest post for everyone that a watermark of this person covers';

-- A message in one person's feed: a copy of their own, or what they did with a post for everyone.
create table inbox_items (
    tenant_id       text not null,
    inbox_id        uuid not null,
    recipient_id    uuid not null,
    post_id         uuid not null,
    public          boolean not null,
    is_notification boolean not null default false,
    topic           text collate "C" not null default '',
    content         bytea,
    n               bigint not null,
    as_of           bigint not null,
    expires_at      timestamptz not null,
    seen_at         timestamptz,
    read_at         timestamptz,
    archived_at     timestamptz,
    snoozed_until   timestamptz,
    pinned_at       timestamptz,
    clicked_at      timestamptz,
    redacted_at     timestamptz,
    check (not public or content is null),
    foreign key (tenant_id, inbox_id, recipient_id) references inbox_members (tenant_id, inbox_id, recipient_id)
        on delete cascade
) with (fillfactor = 80);
create index inbox_items_changed on inbox_items (tenant_id, inbox_id, recipient_id, n) where n > 0;
create index inbox_items_by_age on inbox_items (tenant_id, expires_at) where expires_at > '-infinity';
create index inbox_items_snoozed on inbox_items (tenant_id, snoozed_until) where snoozed_until is not null;
create index inbox_items_own on inbox_items (tenant_id, inbox_id, recipient_id, post_id) where not public;
alter table inbox_items add primary key (tenant_id, inbox_id, recipient_id, post_id);
create index inbox_items_of_post on inbox_items (tenant_id, inbox_id, post_id)
    where post_id > '00000000-0000-0000-0000-000000000000';
comment on column inbox_items.n is 'the member''s number at the last change, so that a stream resumes after it';
comment on column inbox_items.as_of is 'read_at is the whole truth up to this number; later watermarks that reach this message read it';

-- "Everything up to here is read", once for all messages. The first that covers a message says when it was read.
create table inbox_watermarks (
    tenant_id    text not null,
    inbox_id     uuid not null,
    recipient_id uuid not null,
    n            bigint not null,
    at           timestamptz not null,
    own_upto     uuid not null,
    public_upto  uuid not null,
    primary key (tenant_id, inbox_id, recipient_id, n),
    foreign key (tenant_id, inbox_id, recipient_id) references inbox_members (tenant_id, inbox_id, recipient_id)
        on delete cascade
);

-- Until when the tokens of a person are void.
create table inbox_token_ends (
    tenant_id    text not null,
    recipient_id uuid not null,
    not_before   timestamptz not null,
    primary key (tenant_id, recipient_id),
    foreign key (tenant_id, recipient_id) references recipients (tenant_id, id)
);

do $$
declare
    name text;
begin
    foreach name in array array['inbox_settings', 'inboxes', 'inbox_posts', 'inbox_counters', 'inbox_members', 'inbox_items',
        'inbox_watermarks', 'inbox_token_ends']
    loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy tenant on %I using (tenant_id = current_setting(''app.tenant_id'', true)) '
                       'with check (tenant_id = current_setting(''app.tenant_id'', true))', name);
    end loop;
end
$$;

create policy resolver on inbox_posts for select to waypost_resolver using (true);
create policy resolver on inbox_items for select to waypost_resolver using (true);
grant select (tenant_id, expires_at) on inbox_posts to waypost_resolver;
grant select (tenant_id, expires_at, snoozed_until) on inbox_items to waypost_resolver;

grant select, insert, update on inbox_settings, inboxes, inbox_token_ends to waypost_api;
grant select, insert, update, delete on inbox_posts, inbox_counters, inbox_members, inbox_items, inbox_watermarks to waypost_api;
grant delete on inbox_token_ends to waypost_api;
grant select on inbox_settings to waypost_worker;
grant select, insert on inboxes to waypost_worker;
grant update (n, place, last_post) on inboxes to waypost_worker;
grant select, delete on inbox_posts, inbox_watermarks to waypost_worker;
grant update (n) on inbox_posts to waypost_worker;
grant select, update, delete on inbox_counters to waypost_worker;
grant select, insert, update, delete on inbox_members to waypost_worker;
grant select, delete on inbox_token_ends to waypost_worker;
grant select, insert, update, delete on inbox_items to waypost_worker;
grant select, insert, update, delete on inbox_settings, inboxes, inbox_posts, inbox_counters, inbox_members, inbox_items,
    inbox_watermarks, inbox_token_ends to waypost_dba;

-- ── 0009 senders ───────────────────────────────────────────────────────────────────────────────────────────────────

-- Sender accounts: from where a tenant's mail leaves, what each may send, and how much of that is used.
-- What is configured, what changes with every batch and what is counted by day are rows of their own, so that a batch
-- never waits for somebody who edits an account.

create table sender_accounts (
    tenant_id           text not null references tenants (id),
    id                  uuid not null,
    kind                text not null check (kind in ('smtp', 'gmail')),
    name                text not null check (length(name) between 1 and 200),
    display_name        text not null default '' check (length(display_name) <= 200),
    from_address        text collate "C" not null check (length(from_address) between 3 and 254),
    categories          smallint[] check (cardinality(categories) > 0),
    daily_limit         integer check (daily_limit >= 1),
    batch_size          integer not null check (batch_size >= 1),
    delay_ms            integer not null check (delay_ms >= 0),
    provider_limits     jsonb not null default '{}',
    adaptive            boolean not null default false,
    connection          jsonb not null,
    secret              bytea,
    secret_is_reference boolean not null default false,
    status              text not null check (status in ('active', 'paused', 'suspended', 'archived')),
    status_reason       text,
    status_at           timestamptz not null,
    warmup_schedule     jsonb,
    warmup_stage        smallint check (warmup_stage >= 1),
    warmup_started_on   date[] not null default '{}',
    warmup_finished_on  date,
    version             integer not null default 1,
    created_at          timestamptz not null,
    updated_at          timestamptz not null,
    changed_at          timestamptz not null default now(),
    check (warmup_stage is null or warmup_schedule is not null and warmup_finished_on is null),
    check (cardinality(warmup_started_on) = coalesce(warmup_stage, cardinality(warmup_started_on)))
);
create unique index sender_accounts_by_name on sender_accounts (tenant_id, name) where status <> 'archived';
create index sender_accounts_changed on sender_accounts (changed_at);
alter table sender_accounts add primary key (tenant_id, id);
comment on column sender_accounts.categories is 'null: any category';
comment on column sender_accounts.daily_limit is 'null: none';
comment on column sender_accounts.secret is 'sealed under the tenant''s key';
comment on column sender_accounts.secret_is_reference is 'it names a variable or a file of the operator''s; only a platform key may say so';
comment on column sender_accounts.status is 'warming up and having reached the limit are read from the other columns, so that neither is lost by a pause';
comment on column sender_accounts.warmup_stage is 'from 1; null: not warming up (never, or finished: see warmup_finished_on)';
comment on column sender_accounts.warmup_started_on is 'when each stage so far began';
comment on column sender_accounts.changed_at is 'by the database''s clock: workers ask who has changed since';

-- What changes with every batch. Whoever hands out or takes back capacity of an account holds this row.
create table sender_states (
    tenant_id          text not null,
    account_id         uuid not null,
    next_at            timestamptz,
    plan_at            timestamptz,
    plan_day           date,
    planned            integer not null default 0,
    consecutive_errors integer not null default 0,
    primary key (tenant_id, account_id),
    foreign key (tenant_id, account_id) references sender_accounts (tenant_id, id)
) with (fillfactor = 50);
comment on column sender_states.next_at is 'nothing leaves before; null: at once';
comment on column sender_states.plan_at is 'up to when those that wait have been given a time';
comment on column sender_states.plan_day is 'the last day that has been promised to those over the limit, and to how many';

create table sender_days (
    tenant_id    text not null,
    account_id   uuid not null,
    day          date not null,
    reserved     integer not null default 0 check (reserved >= 0),
    sent         integer not null default 0,
    bounced      integer not null default 0,
    errors       integer not null default 0,
    deferred     integer not null default 0,
    primary key (tenant_id, account_id, day),
    foreign key (tenant_id, account_id) references sender_accounts (tenant_id, id)
) with (fillfactor = 50);
comment on column sender_days.day is 'in UTC; a day begins with its first batch, so no midnight can be missed';
comment on column sender_days.reserved is 'taken of the limit: what was sent, and what is on its way';

-- How fast an account writes to one mailbox provider.
create table sender_paces (
    tenant_id    text not null,
    account_id   uuid not null,
    provider     text collate "C" not null check (length(provider) between 1 and 253),
    hour         timestamptz not null,
    taken        integer not null default 0,
    taken_before integer not null default 0,
    rate         double precision check (rate > 0),
    ceiling      double precision,
    next_at      timestamptz,
    plan_at      timestamptz,
    slowed_at    timestamptz,
    updated_at   timestamptz not null,
    primary key (tenant_id, account_id, provider),
    foreign key (tenant_id, account_id) references sender_accounts (tenant_id, id)
) with (fillfactor = 50);
comment on column sender_paces.rate is 'messages an hour; null: as many as there are';
comment on column sender_paces.ceiling is 'the rate at which the provider last asked us to slow down';

-- What a batch has been given, until it is settled: so a settlement counts once, and a rescuer knows whose capacity it was.
create table sender_reservations (
    tenant_id    text not null,
    batch_id     uuid not null,
    account_id   uuid not null,
    day          date not null,
    ids          uuid[] storage external not null,
    primary key (tenant_id, batch_id, account_id)
);
create index sender_reservations_by_day on sender_reservations (tenant_id, account_id, day) where day > '-infinity';

alter table attempts add column account_id uuid;
comment on column attempts.account_id is 'the sender account it went out by; null: the installation''s own way';

do $$
declare
    name text;
begin
    foreach name in array array['sender_accounts', 'sender_states', 'sender_days', 'sender_paces', 'sender_reservations'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy tenant on %I using (tenant_id = current_setting(''app.tenant_id'', true)) '
                       'with check (tenant_id = current_setting(''app.tenant_id'', true))', name);
    end loop;
end
$$;

create policy resolver on sender_accounts for select to waypost_resolver using (true);
grant select (tenant_id, changed_at) on sender_accounts to waypost_resolver;

grant select, insert, update on sender_accounts to waypost_api;
grant select, insert, update on sender_states to waypost_api;
grant select on sender_days to waypost_api;
grant select, delete on sender_paces to waypost_api;
grant select on sender_accounts to waypost_worker;
grant update (status, status_reason, status_at, warmup_stage, warmup_started_on, warmup_finished_on, version, updated_at,
    changed_at) on sender_accounts to waypost_worker;
grant select, update on sender_states to waypost_worker;
grant select, insert, update on sender_days, sender_paces to waypost_worker;
grant select, insert, update, delete on sender_reservations to waypost_worker;
grant select, insert, update, delete on sender_accounts, sender_states, sender_days, sender_paces, sender_reservations
    to waypost_dba;

-- ── 0010 domains ───────────────────────────────────────────────────────────────────────────────────────────────────

-- Domains that tenants have proved to own, and the keys that sign for them.

create table domains (
    tenant_id     text not null references tenants (id),
    id            uuid not null,
    name          text not null check (length(name) between 3 and 220 and name = lower(name)),
    purposes      text[] not null check (purposes <@ array['from', 'tracking', 'return_path'] and cardinality(purposes) > 0),
    state         text not null check (state in ('pending', 'verified', 'failing', 'failed')),
    proof         text not null,
    checks        jsonb not null,
    failures      integer not null,
    overlap_days  smallint not null,
    checked_at    timestamptz,
    verified_at   timestamptz,
    failing_since timestamptz,
    next_check_at timestamptz not null,
    version       integer not null default 1,
    created_at    timestamptz not null,
    updated_at    timestamptz not null,
    primary key (tenant_id, id),
    unique (tenant_id, name),
    check (state = 'pending' or verified_at is not null)
);
create index domains_due on domains (next_check_at);
-- Across tenants: of one name at most one row is in here, which `conclude` sees to under a lock on the name.
create index domains_held on domains (name) where state in ('verified', 'failing');

create table dkim_keys (
    tenant_id     text not null,
    id            uuid not null,
    domain_id     uuid not null,
    algorithm     text not null check (algorithm in ('rsa', 'ed25519')),
    selector      text not null check (length(selector) between 1 and 30),
    public_key    text not null,
    private_key   bytea not null,
    state         text not null check (state in ('next', 'active', 'retired')),
    found         boolean,
    created_at    timestamptz not null,
    active_at     timestamptz,
    retired_until timestamptz,
    primary key (tenant_id, id),
    unique (tenant_id, domain_id, selector),
    foreign key (tenant_id, domain_id) references domains (tenant_id, id) on delete cascade,
    check ((state = 'retired') = (retired_until is not null))
);
comment on column dkim_keys.private_key is 'sealed under the tenant''s key, and bound to this row';

alter table domains enable row level security;
alter table domains force row level security;
create policy tenant on domains using (tenant_id = current_setting('app.tenant_id', true))
    with check (tenant_id = current_setting('app.tenant_id', true));
alter table dkim_keys enable row level security;
alter table dkim_keys force row level security;
create policy tenant on dkim_keys using (tenant_id = current_setting('app.tenant_id', true))
    with check (tenant_id = current_setting('app.tenant_id', true));
create policy resolver on domains for select to waypost_resolver using (true);
grant select (tenant_id, id, name, state, next_check_at) on domains to waypost_resolver;

grant select, insert, update, delete on domains, dkim_keys to waypost_api;
grant select on domains, dkim_keys to waypost_worker;
grant update (state, checks, failures, checked_at, verified_at, failing_since, next_check_at, overlap_days, version, updated_at)
    on domains to waypost_worker;
grant update (state, found, active_at, retired_until) on dkim_keys to waypost_worker;
grant delete on dkim_keys to waypost_worker;
grant select, insert, update, delete on domains, dkim_keys to waypost_dba;

-- ── 0011 operations ─────────────────────────────────────────────────────────────────────────────────────────────────


-- What must not go out for now. A row stays, with resumed_at, until all that it held is back in its lanes.
create table pauses (
    tenant_id    text not null references tenants (id),
    id           uuid not null,
    scope        text not null check (scope in ('tenant', 'channel', 'account', 'broadcast', 'category')),
    subject      text not null check (length(subject) <= 64),
    reason       text not null check (length(reason) <= 500),
    by_platform  boolean not null,
    created_at   timestamptz not null,
    created_by   text not null,
    resumed_at   timestamptz,
    place        uuid,
    primary key (tenant_id, id)
);
create unique index pauses_in_force on pauses (tenant_id, scope, subject, by_platform) where resumed_at is null;
comment on column pauses.subject is 'empty for the tenant; the number of a channel or category; the hex of an account''s or a batch''s id';
comment on column pauses.place is 'how far the walk through the queue has come that holds or brings back rows; null when it is done';

-- A lane of a paused tenant or channel is not looked at by the claim at all.
alter table lanes add column paused boolean not null default false;
drop index lanes_ready;
drop index lanes_waiting;
create index lanes_ready on lanes (vtime) where ready and not paused;
create index lanes_waiting on lanes (priority, due) where not ready and due < 'infinity' and not paused;
create index lanes_paused on lanes (tenant_id) where paused;
comment on column lanes.paused is 'a pause of its tenant or channel is in force';
comment on column queue.priority is 'the lane; 8 more for a row that a pause of its account, broadcast or category holds: no claim looks there, and due says when it expires';

-- Messages that were given up though nobody wanted that: written with their end, gone when they are sent again.
create table dead_letters (
    tenant_id    text not null,
    id           uuid not null,
    retention    smallint not null,
    at           timestamptz not null,
    reason       text not null,
    detail       text,
    channel      smallint not null,
    category     smallint not null,
    template_id  uuid,
    attempts     smallint not null,
    spent        boolean not null,
    primary key (tenant_id, id)
);
create index dead_letters_by_time on dead_letters (tenant_id, at, id);
create index dead_letters_by_age on dead_letters (at);
comment on column dead_letters.detail is 'the vendor''s or the renderer''s reason, a word of ours';
comment on column dead_letters.spent is 'its one-time secrets went with its end, so it cannot be composed again';

-- What went wrong lately, in steps of five minutes: counted with the settlements that are not happy, and only then.
create table trouble_counts (
    tenant_id    text not null,
    trouble      text not null check (trouble in ('in_doubt', 'dead_letter')),
    slot         timestamptz not null,
    count        bigint not null,
    primary key (tenant_id, trouble, slot)
) with (fillfactor = 50);
create index trouble_counts_by_age on trouble_counts (slot);

create table alerts (
    tenant_id    text not null references tenants (id),
    id           uuid not null,
    kind         text not null check (kind ~ '^[a-z_]{1,40}$'),
    subject      text not null check (length(subject) <= 253),
    facts        jsonb not null,
    opened_at    timestamptz not null,
    seen_at      timestamptz not null,
    told         integer not null default 0,
    tell_at      timestamptz,
    closed_at    timestamptz,
    primary key (tenant_id, id)
);
create unique index alerts_open on alerts (tenant_id, kind, subject) where closed_at is null;
create index alerts_to_tell on alerts (tell_at) where tell_at is not null;
create index alerts_by_age on alerts (closed_at) where closed_at is not null;
comment on column alerts.facts is 'numbers and short words; never an address or a secret';
comment on column alerts.tell_at is 'when targets are told (again); null when there is nothing more to tell';

create table alert_targets (
    tenant_id    text not null references tenants (id),
    id           uuid not null,
    kind         text not null check (kind in ('email', 'webhook')),
    target       bytea not null,
    secret       bytea,
    kinds        text[] not null,
    description  text not null check (length(description) <= 500),
    status       text not null check (status in ('enabled', 'disabled')),
    last_told_at timestamptz,
    last_fault   text,
    version      integer not null default 1,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    primary key (tenant_id, id),
    check ((secret is null) = (kind = 'email'))
);
comment on column alert_targets.target is 'the address or URL, sealed under the tenant''s key';
comment on column alert_targets.kinds is 'which alerts it is told; empty for all';

-- Who is still to be told what. A row goes when it is done or given up.
create table alert_tellings (
    tenant_id    text not null,
    target_id    uuid not null,
    alert_id     uuid not null,
    n            integer not null,
    kind         text not null check (kind in ('opened', 'repeated', 'closed', 'test')),
    due          timestamptz not null,
    attempts     smallint not null default 0,
    primary key (tenant_id, target_id, alert_id, n),
    foreign key (tenant_id, target_id) references alert_targets (tenant_id, id) on delete cascade
);
create index alert_tellings_due on alert_tellings (due);

do $$
declare
    name text;
begin
    foreach name in array array['pauses', 'dead_letters', 'trouble_counts', 'alerts', 'alert_targets', 'alert_tellings'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy tenant on %I using (tenant_id = current_setting(''app.tenant_id'', true)) '
                       'with check (tenant_id = current_setting(''app.tenant_id'', true))', name);
    end loop;
end
$$;

create policy resolver on pauses for select to waypost_resolver using (true);
create policy resolver on dead_letters for select to waypost_resolver using (true);
create policy resolver on trouble_counts for select to waypost_resolver using (true);
create policy resolver on alerts for select to waypost_resolver using (true);
create policy resolver on alert_tellings for select to waypost_resolver using (true);
grant select (tenant_id, id, scope, subject, resumed_at, place) on pauses to waypost_resolver;
grant select (tenant_id, at) on dead_letters to waypost_resolver;
grant select on trouble_counts to waypost_resolver;
grant select (tenant_id, kind, tell_at, closed_at) on alerts to waypost_resolver;
grant select (tenant_id, due) on alert_tellings to waypost_resolver;
grant select (ids) on claims to waypost_resolver;

grant select, insert, update, delete on pauses to waypost_api;
grant select, update, delete on pauses to waypost_worker;
grant select, insert, update, delete on dead_letters to waypost_worker;
grant select, delete on dead_letters to waypost_api;
-- The right to update is what FOR UPDATE asks for.
grant update (spent) on dead_letters to waypost_api;
-- A message that is sent again may get more time for it.
grant update (expires_at) on notifications to waypost_api, waypost_worker;
-- Pauses put rows aside and bring them back.
grant update (claims, priority, due) on queue to waypost_api;
grant update (priority, due) on queue to waypost_worker;
grant select, insert, update, delete on trouble_counts to waypost_worker;
grant select, insert, update on alerts to waypost_api;
grant select, insert, update, delete on alerts to waypost_worker;
grant select, insert, update, delete on alert_targets to waypost_api;
grant select on alert_targets to waypost_worker;
grant update (last_told_at, last_fault) on alert_targets to waypost_worker;
grant select, insert, update, delete on alert_tellings to waypost_api, waypost_worker;
grant select, insert, update, delete on pauses, dead_letters, trouble_counts, alerts, alert_targets, alert_tellings
    to waypost_dba;

-- ── 0012 tracking ───────────────────────────────────────────────────────────────────────────────────────────────────

-- Append only. Kept as long as the message that they are about, in its partitions; no foreign key points at that.
create table tracking_events (
    tenant_id       text not null,
    notification_id uuid not null,
    retention       smallint not null,
    id              uuid not null,
    kind            smallint not null check (kind in (1, 2)),
    at              timestamptz not null,
    client          smallint not null,
    link            smallint not null default 0,
    target          bytea,
    primary key (tenant_id, notification_id, id, retention),
    check ((kind = 2) = (link > 0))
) partition by list (retention);
comment on column tracking_events.kind is '1 opened, 2 clicked';
comment on column tracking_events.client is 'who seems to have asked: 0 unknown, 1 browser, 2 proxy, 3 scanner, 4 prefetch; nothing else is kept of them';
comment on column tracking_events.link is 'which link of the message, counted from 1';
comment on column tracking_events.target is 'where the link leads, sealed under the tenant''s key; null where that differs from reader to reader';

create table tracking_events_standard partition of tracking_events for values in (1) partition by range (notification_id);
create table tracking_events_marketing partition of tracking_events for values in (2) partition by range (notification_id);
create table tracking_events_standard_default partition of tracking_events_standard default;
create table tracking_events_marketing_default partition of tracking_events_marketing default;

alter table tracking_events enable row level security;
alter table tracking_events force row level security;
create policy tenant on tracking_events using (tenant_id = current_setting('app.tenant_id', true))
    with check (tenant_id = current_setting('app.tenant_id', true));

grant select, insert on tracking_events to waypost_api;
grant select on tracking_events to waypost_worker;
grant select, insert, update, delete on tracking_events, tracking_events_standard, tracking_events_marketing,
    tracking_events_standard_default, tracking_events_marketing_default to waypost_dba;

-- ── 0014 attachments ────────────────────────────────────────────────────────────────────────────────────────────────
-- Attachments and inline images: the bytes once, sealed, however many messages carry them.

create table blobs (
    tenant_id    text not null references tenants (id),
    address      bytea not null check (length(address) = 32),
    sealed       bytea not null,
    kept_until   timestamptz,
    primary key (tenant_id, address)
);
comment on column blobs.address is 'a keyed hash of the digest; the digest itself lies sealed in what refers to the blob';
comment on column blobs.kept_until is 'null: a version of a template carries it, for ever';
-- Ciphertext does not compress.
alter table blobs alter column sealed set storage external;
create index blobs_kept_until on blobs (kept_until) where kept_until is not null;

create table blob_uses (
    tenant_id    text not null,
    address      bytea not null,
    recipient_id uuid not null,
    primary key (tenant_id, address, recipient_id),
    foreign key (tenant_id, address) references blobs (tenant_id, address) on delete cascade
);
create index blob_uses_recipient on blob_uses (tenant_id, recipient_id);
comment on table blob_uses is 'whose messages carry a blob: with the last of these people it goes';

alter table blobs enable row level security;
alter table blobs force row level security;
create policy tenant on blobs using (tenant_id = current_setting('app.tenant_id', true))
    with check (tenant_id = current_setting('app.tenant_id', true));
alter table blob_uses enable row level security;
alter table blob_uses force row level security;
create policy tenant on blob_uses using (tenant_id = current_setting('app.tenant_id', true))
    with check (tenant_id = current_setting('app.tenant_id', true));
-- Images of the platform's templates. Only who holds a digest can open one, and it lies in the published content.
create policy platform on blobs for select to waypost_api, waypost_worker
    using (tenant_id = '_platform' and kept_until is null and current_setting('app.tenant_id', true) <> '');
create policy resolver on blobs for select to waypost_resolver using (true);

grant select (tenant_id, kept_until) on blobs to waypost_resolver;
grant select, insert, delete on blobs, blob_uses to waypost_api;
grant update (kept_until) on blobs to waypost_api;
grant select, delete on blobs to waypost_worker;
grant select, insert, update, delete on blobs, blob_uses to waypost_dba;

-- ── 0015 places move ────────────────────────────────────────────────────────────────────────────────────────────────
-- Whoever is merged into another brings along what they were sent already.

grant update (recipient_id) on notification_dedupe to waypost_api;

-- ── 0016 shared inputs ──────────────────────────────────────────────────────────────────────────────────────────────
create table shared_inputs (
    tenant_id    text not null references tenants (id),
    id           uuid not null,
    sealed       bytea not null,
    created_at   timestamptz not null,
    primary key (tenant_id, id)
);
comment on table shared_inputs is 'inputs that many notifications have in common, sealed under the tenant''s key; named by a keyed hash, so stored once';

alter table shared_inputs enable row level security;
alter table shared_inputs force row level security;
create policy tenant on shared_inputs using (tenant_id = current_setting('app.tenant_id', true))
    with check (tenant_id = current_setting('app.tenant_id', true));

grant select, insert on shared_inputs to waypost_api, waypost_worker;
grant select, insert, update, delete on shared_inputs to waypost_dba;

-- ── 0017 inbox counting ─────────────────────────────────────────────────────────────────────────────────────────────
-- Counting reads less: sums beside the runs, where posts begin, who has marked anything, one index for a person's own rows.

alter table inboxes add column first_post uuid;
alter table inboxes alter column first_post set default '00000000-0000-0000-0000-000000000000';
comment on column inboxes.first_post is 'no post for everyone that stands has a smaller id; null: not known yet, and no sums are kept';
alter table inbox_members add column marked bigint not null default 0;
comment on column inbox_members.marked is 'no watermark has a greater number';
comment on column inbox_counters.run is 'of 512 places; -1: all of them';

drop index inbox_items_own;
create index inbox_items_counted on inbox_items (tenant_id, inbox_id, recipient_id, post_id)
    include (public, topic, as_of, expires_at, read_at, archived_at, snoozed_until, redacted_at) where as_of > 0;

grant update (first_post) on inboxes to waypost_worker;
grant insert on inbox_counters to waypost_worker;

-- ── 0018 recipients joined ──────────────────────────────────────────────────────────────────────────────────────────
-- How many people a post for everyone is for.

create index recipients_joined on recipients (tenant_id, created_at) where erased_at is null and created_at > '-infinity';

-- ── 0019 inbox unseen ───────────────────────────────────────────────────────────────────────────────────────────────
-- Notifications that nobody has seen, for whoever marks everything read.

create index inbox_items_unseen on inbox_items (tenant_id, inbox_id, recipient_id, n)
    where is_notification and seen_at is null and read_at is null and redacted_at is null and n > 0;
