-- oldest_code: 16
-- What the messages of a batch have in common is sealed once, and each refers to it. Older code cannot open such a
-- message and would end it as failed, so it must not serve any more.

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
