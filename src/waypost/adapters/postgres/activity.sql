-- name: counts
-- tenant: row
-- Messages by when they were accepted: ranges of ids are ranges of time, so only indexes are read, and never more than $4
-- entries of one for a bar.
select accepted.n as accepted, queued.n as queued,
       ended.failed, ended.suppressed, ended.cancelled, ended.expired, ended.unconfirmed
from unnest($2::uuid[], $3::uuid[]) with ordinality as bar (low, high, place)
cross join lateral (
    select count(*) as n from (
        select from notifications m where m.tenant_id = $1 and m.id >= bar.low and m.id < bar.high limit $4) found) accepted
cross join lateral (
    select count(*) as n from (
        select from queue q where q.tenant_id = $1 and q.id >= bar.low and q.id < bar.high limit $4) found) queued
cross join lateral (
    select count(*) filter (where found.status = 7) as failed, count(*) filter (where found.status = 8) as suppressed,
           count(*) filter (where found.status = 9) as cancelled, count(*) filter (where found.status = 10) as expired,
           count(*) filter (where found.status = 11) as unconfirmed
    from (select m.status from notifications m
          where m.tenant_id = $1 and m.status = any ('{7,8,9,10,11}'::smallint[]) and m.status >= 7
            and m.id >= bar.low and m.id < bar.high limit $4) found) ended
order by bar.place

-- name: held
-- tenant: row
-- What workers hold right now: few, as a batch is short.
select unnest(c.ids) as id from claims c where c.tenant_id = $1

-- name: waits
-- tenant: row
-- How long the first and the last messages of a bar waited for their first attempt.
select percentile_cont(0.5) within group (order by waited.seconds) as median, max(waited.seconds) as longest
from unnest($2::uuid[], $3::uuid[]) with ordinality as bar (low, high, place)
left join lateral (
    select greatest(extract(epoch from a.started_at - sample.send_at), 0)::float8 as seconds
    from ((select m.id, m.retention, m.send_at from notifications m
           where m.tenant_id = $1 and m.id >= bar.low and m.id < bar.high order by m.id limit $4)
          union
          (select m.id, m.retention, m.send_at from notifications m
           where m.tenant_id = $1 and m.id >= bar.low and m.id < bar.high order by m.id desc limit $4)) sample
    join attempts a on a.tenant_id = $1 and a.notification_id = sample.id and a.n = 1 and a.retention = sample.retention
) waited on true
group by bar.place
order by bar.place

-- name: lanes
-- tenant: row
-- What waits in each lane, counted up to $3, and since when the oldest of it is due.
select l.channel, l.priority, due.n as due, later.n as later, oldest.due as oldest_due
from lanes l
cross join lateral (
    select count(*) as n from (
        select from queue q where q.tenant_id = l.tenant_id and q.channel = l.channel and q.priority = l.priority
          and q.due <= $2 limit $3) found) due
cross join lateral (
    select count(*) as n from (
        select from queue q where q.tenant_id = l.tenant_id and q.channel = l.channel and q.priority = l.priority
          and q.due > $2 limit $3) found) later
left join lateral (
    select q.due from queue q
    where q.tenant_id = l.tenant_id and q.channel = l.channel and q.priority = l.priority and q.due <= $2
    order by q.due limit 1) oldest on true
where l.tenant_id = $1
order by l.priority, l.channel
