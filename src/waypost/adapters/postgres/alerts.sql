-- name: open
-- tenant: row
-- Opens once; where it is open already, only what is known about it is renewed.
insert into alerts as a (tenant_id, id, kind, subject, facts, opened_at, seen_at, tell_at)
values ($1, $2, $3, $4, $5::text::jsonb, $6, $6, $6)
on conflict (tenant_id, kind, subject) where closed_at is null do update
    set facts = excluded.facts, seen_at = excluded.seen_at
returning a.id = $2 as opened

-- name: close
-- tenant: row
-- Whoever was told that it opened is told that it closed.
update alerts set closed_at = $4::timestamptz, tell_at = case when told > 0 then $4::timestamptz end
where tenant_id = $1 and kind = $2 and subject = $3 and closed_at is null
returning id

-- name: open_subjects
-- tenant: row
-- What is open of a kind.
select subject from alerts where tenant_id = $1 and kind = $2 and closed_at is null

-- name: find
-- tenant: row
-- One alert, open or not.
select id, kind, subject, facts::text as facts, opened_at, seen_at, told, closed_at from alerts
where tenant_id = $1 and id = $2

-- name: page
-- tenant: row
-- Newest first, a page at a time.
select id, kind, subject, facts::text as facts, opened_at, seen_at, told, closed_at from alerts
where tenant_id = $1 and id < $2 and ($3::boolean is null or (closed_at is null) = $3) and ($4::text is null or kind = $4)
order by id desc limit $5

-- name: due
-- tenant: row
-- Of which somebody must be told now; who is at it holds it.
select id, kind, subject, facts::text as facts, opened_at, seen_at, told, closed_at from alerts
where tenant_id = $1 and tell_at <= $2 order by id limit $3 for update skip locked

-- name: note_told
-- tenant: row
-- When again; never, for one that has closed.
update alerts set told = told + $3::integer, tell_at = $4 where tenant_id = $1 and id = $2

-- name: add_target
-- tenant: row
-- Who is to be told.
insert into alert_targets (tenant_id, id, kind, target, secret, kinds, description, status, version, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)

-- name: find_target
-- tenant: row
-- One target, by its id.
select id, kind, target, secret, kinds, description, status, last_told_at, last_fault, version, created_at, updated_at
from alert_targets where tenant_id = $1 and id = $2

-- name: lock_target
-- tenant: row
-- The same, held until it is changed.
select id, kind, target, secret, kinds, description, status, last_told_at, last_fault, version, created_at, updated_at
from alert_targets where tenant_id = $1 and id = $2 for update

-- name: all_targets
-- tenant: row
-- There are few, so all at once.
select id, kind, target, secret, kinds, description, status, last_told_at, last_fault, version, created_at, updated_at
from alert_targets where tenant_id = $1 order by id desc

-- name: page_of_targets
-- tenant: row
-- Newest first, a page at a time.
select id, kind, target, secret, kinds, description, status, last_told_at, last_fault, version, created_at, updated_at
from alert_targets where tenant_id = $1 and id < $2 order by id desc limit $3

-- name: change_target
-- tenant: row
-- What its owner may change.
update alert_targets set kinds = $3, description = $4, status = $5, version = $6, updated_at = $7
where tenant_id = $1 and id = $2

-- name: remove_target
-- tenant: row
-- What it was still to be told goes with it.
delete from alert_targets where tenant_id = $1 and id = $2

-- name: note_outcome
-- tenant: row
-- How the last telling went.
update alert_targets set last_told_at = case when $4::text is null then $3 else last_told_at end, last_fault = $4
where tenant_id = $1 and id = $2

-- name: add_tellings
-- tenant: row
-- One row for each target.
insert into alert_tellings (tenant_id, target_id, alert_id, n, kind, due)
select $1, u.id, $3, $4, $5, $6 from unnest($2::uuid[]) as u (id)
on conflict do nothing

-- name: take_tellings
-- tenant: row
-- Due ones, put off while somebody tells them.
with due as materialized (
    select x.target_id, x.alert_id, x.n from alert_tellings x
    where x.tenant_id = $1 and x.due <= $2 order by x.due limit $4 for update skip locked
)
update alert_tellings t set due = $3 from due
where t.tenant_id = $1 and t.target_id = due.target_id and t.alert_id = due.alert_id and t.n = due.n
returning t.target_id, t.alert_id, t.n, t.kind, t.attempts

-- name: telling_done
-- tenant: row
-- Told, or given up.
delete from alert_tellings where tenant_id = $1 and target_id = $2 and alert_id = $3 and n = $4

-- name: put_off_telling
-- tenant: row
-- To be tried again.
update alert_tellings set due = $5, attempts = attempts + 1
where tenant_id = $1 and target_id = $2 and alert_id = $3 and n = $4

-- name: tenants_to_alert
-- tenant: all names tenants only, through a definer function
-- Whose alerts are to be told.
select tenant_id from waypost.tenants_to_alert($1, 1000)

-- name: stalled_lanes
-- tenant: all names tenants, channels and moments only, through a definer function
-- Work that nobody does.
select tenant_id, channel, oldest_due from waypost.stalled_lanes($1, 1000)

-- name: workers_alive
-- tenant: all workers serve every tenant
-- How many have a lease in force.
select waypost.workers_alive()

-- name: recent_troubles
-- tenant: all counts only, through a definer function
-- What went wrong lately.
select tenant_id, trouble, count from waypost.recent_troubles($1)

-- name: tenants_with_open
-- tenant: all names tenants only, through a definer function
-- Whose alerts may have to be closed.
select tenant_id from waypost.tenants_with_open_alerts($1)
