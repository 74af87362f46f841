-- oldest_code: 1
-- The relay and outgoing webhooks.

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
