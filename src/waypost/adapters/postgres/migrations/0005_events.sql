-- oldest_code: 1
-- Events, triggers, timers.

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
