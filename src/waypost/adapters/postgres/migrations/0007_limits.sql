-- oldest_code: 4
-- Rate limits, the cap on marketing, and dispatch batches.

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
