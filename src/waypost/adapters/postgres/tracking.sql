-- name: add
-- tenant: row
-- Opens and clicks with the news of them. The messages are looked up first: of one that is not there, of one whose reader
-- has been erased and of one that shows another version than the link was written in, nothing is kept.
with known as materialized (
    select m.id, m.retention, m.version_id from notifications m
    join recipients r on r.tenant_id = m.tenant_id and r.id = m.recipient_id
    where m.tenant_id = $1 and m.id = any ($2::uuid[]) and m.id between $3 and $4 and r.erased_at is null
),
wanted as materialized (
    select u.id, u.notification_id, k.retention, u.kind, u.at, u.client, u.link, u.target, u.number, u.place
    from unnest($5::uuid[], $6::uuid[], $7::smallint[], $8::timestamptz[], $9::smallint[], $10::smallint[], $11::bytea[],
                $12::uuid[], $13::smallint[])
         with ordinality as u (id, notification_id, kind, at, client, link, target, version_id, number, place)
    join known k on k.id = u.notification_id and (u.version_id is null or u.version_id = k.version_id)
),
stored as (
    insert into tracking_events (tenant_id, notification_id, retention, id, kind, at, client, link, target)
    select $1, w.notification_id, w.retention, w.id, w.kind, w.at, w.client, w.link, w.target from wanted w
),
told as (
    insert into outbox (tenant_id, kind, subject_id, n)
    select $1, 59 + w.kind, w.notification_id, w.number from wanted w order by w.place
)
select w.id from wanted w

-- name: of_notification
-- tenant: row
-- What is known about one message's readers, oldest first; its id finds the partition.
select e.id, e.kind, e.at, e.client, e.link, e.target from tracking_events e
where e.tenant_id = $1 and e.notification_id = $2
order by e.id limit $3
