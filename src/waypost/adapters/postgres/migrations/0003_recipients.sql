-- oldest_code: 1
-- People: tags, lists, merged ids, jobs.

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
