-- oldest_code: 1
-- Opens and clicks.

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
