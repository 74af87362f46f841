-- oldest_code: 1
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
