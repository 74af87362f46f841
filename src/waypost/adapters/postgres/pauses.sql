-- name: add_pause
-- tenant: row
-- Where the same is paused already, that pause stays as it is.
insert into pauses (tenant_id, id, scope, subject, reason, by_platform, created_at, created_by, place)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict (tenant_id, scope, subject, by_platform) where resumed_at is null do nothing
returning id

-- name: same_pause
-- tenant: row
-- The one that is in force.
select id, scope, subject, reason, by_platform, created_at, created_by, place is not null as is_settling from pauses
where tenant_id = $1 and scope = $2 and subject = $3 and by_platform = $4 and resumed_at is null

-- name: lock_pausing
-- tenant: row
-- Of two that pause at the same moment, the second counts the first.
select pg_advisory_xact_lock(hashtextextended($1, 7265111))

-- name: count_pauses
-- tenant: row
-- How many are in force.
select count(*) from pauses where tenant_id = $1 and resumed_at is null

-- name: find_pause
-- tenant: row
-- One that is in force.
select id, scope, subject, reason, by_platform, created_at, created_by, place is not null as is_settling from pauses
where tenant_id = $1 and id = $2 and resumed_at is null

-- name: all_pauses
-- tenant: row
-- All in force, newest first.
select id, scope, subject, reason, by_platform, created_at, created_by, place is not null as is_settling from pauses
where tenant_id = $1 and resumed_at is null order by id desc

-- name: page_of_pauses
-- tenant: row
-- The same, a page at a time.
select id, scope, subject, reason, by_platform, created_at, created_by, place is not null as is_settling from pauses
where tenant_id = $1 and id < $2 and resumed_at is null order by id desc limit $3

-- name: mark_lanes
-- tenant: row
-- The claim passes paused lanes over, and sees the others again (see pause_routines.sql).
select waypost.mark_paused_lanes()

-- name: end_lane_pause
-- tenant: row
-- It held no rows, so nothing is left to do.
delete from pauses where tenant_id = $1 and id = $2

-- name: lock_accounts
-- tenant: row
-- Before a pause of one ends: workers count for accounts first, and look for pauses then.
select account_id from sender_states where tenant_id = $1 order by account_id for update

-- name: end_row_pause
-- tenant: row
-- From now on it holds nothing; the walk that brings back what it held begins.
update pauses set resumed_at = now(), place = '00000000-0000-0000-0000-000000000000' where tenant_id = $1 and id = $2

-- name: pause_step
-- tenant: row
-- A bounded part of what a pause does to the queue (see pause_routines.sql).
select waypost.pause_step($1, $2)

-- name: has_tenant
-- tenant: row
-- Whether there is anybody to pause.
select exists (select from tenants where id = $1)

-- name: has_batch
-- tenant: row
-- A broadcast is paused by its batch.
select exists (select from dispatch_batches where tenant_id = $1 and id = $2)

-- name: has_account
-- tenant: row
-- Of the tenant's own sender accounts.
select exists (select from sender_accounts where tenant_id = $1 and id = $2)

-- name: pauses_in_force
-- tenant: all for the book of every worker, through a definer function
-- What must not go out.
select tenant_id, scope, subject from waypost.pauses_in_force()

-- name: held_ids
-- tenant: row
-- Which of these rows belong to what is paused.
select unnest(waypost.held_ids($1)) as id

-- name: pauses_at_work
-- tenant: all names only whose pause and which, through a definer function
-- Those with rows to put aside or to bring back.
select tenant_id, id from waypost.pauses_at_work()

-- name: wrong_lanes
-- tenant: all names tenants only, through a definer function
-- Whose lanes do not say what their pauses say.
select tenant_id from waypost.tenants_with_wrong_lanes()

-- name: held_tenants
-- tenant: all names tenants only, through a definer function
-- Who has rows put aside.
select tenant_id, first_expires <= now() as has_expired, stranded from waypost.tenants_with_held_rows()

-- name: bring_back
-- tenant: row
-- One step of the walk that puts rows back into their lanes that no pause holds.
select waypost.bring_back($1, $2)

-- name: take_expired
-- tenant: row
-- Rows put aside whose time is over: they wait no longer.
delete from queue where tenant_id = $1 and id = any (array(
    select q.id from queue q
    where q.tenant_id = $1 and q.channel = any ('{1,2,3,4,5,6,7}'::smallint[]) and q.priority = any ('{8,9,10}'::smallint[])
      and q.due <= now() and q.claims < 2
    limit $2 for update skip locked))
returning id, retention, attempt

-- name: walk_stopped
-- tenant: row
-- One step through the queue of a tenant whose lanes stand still: where it ended, and whose time is over.
with walked as materialized (
    select q.id, q.retention from queue q where q.tenant_id = $1 and q.id > $2 order by q.id limit $3
)
select count(*) as walked, (array_agg(w.id order by w.id desc))[1] as place,
       array_agg(w.id order by w.id) filter (where m.expires_at <= now()) as over
from walked w
left join lateral (
    select n.expires_at from notifications n
    where n.tenant_id = $1 and n.id = w.id and n.retention = w.retention limit 1) m on true

-- name: take_stopped
-- tenant: row
-- Of these, what stands in a lane that is paused: nobody would claim it, and nobody else end it.
delete from queue where tenant_id = $1 and id = any (array(
    select q.id from queue q
    join lanes l on l.tenant_id = $1 and l.channel = q.channel and l.priority = q.priority and l.paused
    where q.tenant_id = $1 and q.id = any ($2::uuid[])
    for update of q skip locked))
returning id, retention, attempt

-- name: end_expired
-- tenant: row
-- As the gate would have ended them.
with ended as (
    update notifications m set status = 10, reason = 'expired', secrets = null
    where m.tenant_id = $1 and m.id = any ($2::uuid[]) and m.id between ($2::uuid[])[1] and $3::uuid and m.status < 7
    returning m.id, m.retention
)
insert into timeline (tenant_id, notification_id, retention, id, at, event, reason, detail)
select $1, e.id, e.retention, ($4::uuid[])[array_position($2::uuid[], e.id)], now(), 'withheld', 'expired',
       '{"rule": "expired"}'
from ended e
