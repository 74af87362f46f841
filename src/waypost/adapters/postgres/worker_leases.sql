-- name: renew
-- tenant: all workers belong to no tenant
-- One heartbeat for all that a worker holds, by the database's clock; a worker that was taken for lost is back with it.
insert into workers (id, host, pid, code, lease_until) values ($1, $2, $3, $4, now() + $5::interval)
on conflict (id) do update set lease_until = excluded.lease_until
returning now()

-- name: sign_off
-- tenant: all workers belong to no tenant
-- A worker that still holds something stays known until others have taken it over.
delete from workers where id = $1 and not exists (select from waypost.abandoned_claims($1)) returning id

-- name: is_known
-- tenant: all workers belong to no tenant
-- A journal of an unknown worker that holds nothing has nothing left to tell.
select exists (select from workers where id = $1) or exists (select from waypost.abandoned_claims($1))

-- name: lost
-- tenant: all looks across tenants through a definer function
-- Workers whose lease has run out, never within one lease of the server's start.
select worker_id from waypost.lost_workers($1::interval)

-- name: forget_lost
-- tenant: all workers belong to no tenant
-- Everything it held has been taken over; one that came back meanwhile is not forgotten.
delete from workers where id = $1 and lease_until < now() and not exists (select from waypost.abandoned_claims($1))

-- name: holds
-- tenant: all looks across tenants through a definer function
-- The batches of a worker that are not wholly settled.
select distinct tenant_id, id from waypost.abandoned_claims($1)

-- name: open_attempts
-- tenant: row
-- What of a batch is still open under that worker: nobody knows how it ended.
select a.notification_id as id, a.retention, a.n, a.claims, m.channel, m.category, m.priority, m.expires_at,
       (select r.account_id from sender_reservations r
        where r.tenant_id = $1 and r.batch_id = $2 and a.notification_id = any (r.ids) limit 1) as account_id
from claims c cross join lateral unnest(c.ids) as held (id)
join attempts a on a.tenant_id = $1 and a.notification_id = held.id and a.worker_id = c.worker_id and a.outcome is null
join notifications m on m.tenant_id = $1 and m.id = a.notification_id and m.retention = a.retention
where c.tenant_id = $1 and c.id = $2 and c.worker_id = $3
order by a.notification_id

-- name: addressees
-- tenant: row
-- Where refused messages were to go, sealed, for whoever settles them instead of a lost worker.
select m.id, m.channel, m.recipient_id, m.address_id, m.payload, r.data_key
from notifications m
join recipients r on r.tenant_id = $1 and r.id = m.recipient_id and r.data_key is not null
where m.tenant_id = $1 and m.id = any ($2::uuid[]) and m.id between ($2::uuid[])[1] and $3::uuid and m.address_id is not null

-- name: orphans
-- tenant: row
-- Rows of a batch that have neither an open attempt nor an end nor a place in the queue: they go back to it.
select m.id, m.retention, m.channel, m.priority, coalesce(last.n, 0) as attempt, now() as due
from claims c cross join lateral unnest(c.ids) as held (id)
join notifications m on m.tenant_id = $1 and m.id = held.id and m.status < 7
left join lateral (
    select a.n, a.outcome from attempts a
    where a.tenant_id = $1 and a.notification_id = m.id and a.retention = m.retention order by a.n desc limit 1) last on true
where c.tenant_id = $1 and c.id = $2 and c.worker_id = $3 and (last.n is null or last.outcome in (2, 4))
  and not exists (select from queue q where q.tenant_id = $1 and q.id = m.id)
order by m.id

-- name: requeue
-- tenant: row
-- Puts orphans back, to be due at once.
select waypost.enqueue($1, $2, $3, $4, $5, $6, $7)

-- name: drop_hold
-- tenant: row
-- Nothing of the batch is open any more.
delete from claims where tenant_id = $1 and id = $2 and worker_id = $3
