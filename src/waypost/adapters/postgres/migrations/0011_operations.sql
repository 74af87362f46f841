-- oldest_code: 1
-- Operations: what is paused, what ended as a dead letter, and who is told when something is wrong.

-- ── pauses ──────────────────────────────────────────────────────────────────────────────────────────────────────────

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

-- ── dead letters ────────────────────────────────────────────────────────────────────────────────────────────────────

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

-- ── alerts ──────────────────────────────────────────────────────────────────────────────────────────────────────────

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

-- ── the wall ────────────────────────────────────────────────────────────────────────────────────────────────────────

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
