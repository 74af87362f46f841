-- oldest_code: 9
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

-- Its place is taken by one that also counts what a batch used (routines.sql).
drop function if exists settle(uuid, uuid, boolean, text[], integer[], uuid[], smallint, smallint, smallint[], smallint[],
    integer[], integer[], text[], text[], bytea[], smallint[]);

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
