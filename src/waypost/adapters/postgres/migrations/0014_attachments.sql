-- oldest_code: 1
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
