-- name: lanes
-- tenant: row
-- What waits in each lane, counted up to $2, by index ranges only.
select l.channel, l.priority, l.paused, w.rows as waiting, s.rows as scheduled, h.rows as held, f.rows as in_flight,
       o.due as oldest_due, greatest(w.rows, s.rows, h.rows) >= $2 as capped
from lanes l
cross join lateral (
    select count(*) as rows from (
        select from queue q where q.tenant_id = $1 and q.channel = l.channel and q.priority = l.priority and q.claims < 2
          and q.due <= now() limit $2) c) w
cross join lateral (
    select count(*) as rows from (
        select from queue q where q.tenant_id = $1 and q.channel = l.channel and q.priority = l.priority and q.claims < 2
          and q.due > now() limit $2) c) s
cross join lateral (
    select count(*) as rows from (
        select from queue q where q.tenant_id = $1 and q.channel = l.channel and q.priority = l.priority + 8 and q.claims < 2
        limit $2) c) h
cross join lateral (
    select coalesce(sum(cardinality(x.ids)), 0)::bigint as rows from claims x
    where x.tenant_id = $1 and x.channel = l.channel and x.priority = l.priority) f
left join lateral (
    select q.due from queue q
    where q.tenant_id = $1 and q.channel = l.channel and q.priority = l.priority and q.claims < 2 and q.due <= now()
    order by q.due limit 1) o on true
where l.tenant_id = $1
order by l.channel, l.priority

-- name: totals
-- tenant: all sums over all tenants through a definer function, naming none
-- The same for the whole installation.
select channel, priority, false as paused, waiting, scheduled, held, in_flight, oldest_due, capped
from waypost.queue_totals($1) order by channel, priority

-- name: workers_alive
-- tenant: all workers serve every tenant
-- How many have a lease in force.
select waypost.workers_alive()
