-- name: add_batch
-- tenant: row
-- It begins as a draft, for which no worker looks.
insert into dispatch_batches (tenant_id, id, state, audience, message, per_minute, created_at)
values ($1, $2, $3, $4::text::jsonb, $5, $6, $7)

-- name: find_batch
-- tenant: row
-- A batch as it stands.
select id, state, audience::text as audience, message, per_minute, starts_at, place, expanded, refused, reason, created_at,
       started_at, finished_at, failures
from dispatch_batches where tenant_id = $1 and id = $2

-- name: lock_batch
-- tenant: row
-- The same, held; for who must have it.
select id, state, audience::text as audience, message, per_minute, starts_at, place, expanded, refused, reason, created_at,
       started_at, finished_at, failures
from dispatch_batches where tenant_id = $1 and id = $2 for no key update

-- name: try_batch
-- tenant: row
-- The same, for who passes on where somebody else is at it.
select id, state, audience::text as audience, message, per_minute, starts_at, place, expanded, refused, reason, created_at,
       started_at, finished_at, failures
from dispatch_batches where tenant_id = $1 and id = $2 and next_step_at <= $3 for no key update skip locked

-- name: change_batch
-- tenant: row
-- The batch is held. It starts once and ends once.
update dispatch_batches
set state = $3, starts_at = coalesce($5, starts_at), next_step_at = $6, reason = coalesce($7, reason), failures = 0,
    started_at = case when $3 = 'running' then coalesce(started_at, $4) else started_at end,
    finished_at = case when $3 in ('completed', 'cancelled', 'failed') then coalesce(finished_at, $4) end
where tenant_id = $1 and id = $2

-- name: advance_batch
-- tenant: row
-- A chunk is done.
update dispatch_batches
set place = $3, expanded = expanded + $4, refused = refused + $5, next_step_at = $6, failures = 0
where tenant_id = $1 and id = $2

-- name: note_failure
-- tenant: row
-- A step broke; it is tried again later.
update dispatch_batches set failures = failures + 1, next_step_at = $3 where tenant_id = $1 and id = $2

-- name: audience_all
-- tenant: row
-- Everybody behind the place.
select id from recipients
where tenant_id = $1 and id > $2 and erased_at is null and merged_into is null order by id limit $3

-- name: audience_tag
-- tenant: row
-- Those with a tag.
select r.id from recipient_tags t
cross join lateral (
    select id, erased_at, merged_into from recipients where tenant_id = $1 and id = t.recipient_id offset 0) r
where t.tenant_id = $1 and t.tag = $4 and t.recipient_id > $2 and r.erased_at is null and r.merged_into is null
order by t.recipient_id limit $3

-- name: audience_list
-- tenant: row
-- The members of a list.
select r.id from list_members m
cross join lateral (
    select id, erased_at, merged_into from recipients where tenant_id = $1 and id = m.recipient_id offset 0) r
where m.tenant_id = $1 and m.list_id = $4 and m.recipient_id > $2 and r.erased_at is null and r.merged_into is null
order by m.recipient_id limit $3

-- name: audience_ids
-- tenant: row
-- Those named by the caller's own ids.
select id from recipients
where tenant_id = $1 and external_id = any ($4::text[]) and id > $2 and erased_at is null and merged_into is null
order by id limit $3

-- name: names
-- tenant: row
-- By which ids of their own they are called.
select external_id from recipients
where tenant_id = $1 and id = any ($2::uuid[]) and erased_at is null and merged_into is null order by id

-- name: batch_totals
-- tenant: row
-- How the messages of a batch stand, each counted from its own rows: the stored end, the queue, the last attempt.
select s.state, count(*) as messages from notification_dedupe d
cross join lateral (
    select m.id, m.status, m.send_at, m.retention from notifications m where m.tenant_id = $1 and m.id = d.notification_id
    offset 0) m
left join lateral (select q.due, q.attempt from queue q where q.tenant_id = $1 and q.id = m.id limit 1) q on true
left join lateral (
    select a.n, a.outcome from attempts a
    where a.tenant_id = $1 and a.notification_id = m.id and a.retention = m.retention order by a.n desc limit 1) a on true
cross join lateral (
    select case when m.status >= 7 then m.status
                when q.due is not null then case when q.attempt = 0 and q.due > now() and m.send_at > now() then 1 else 2 end
                when a.n is null then m.status
                when a.outcome is null then 3
                when a.outcome = 1 then 4
                when a.outcome = 3 then 7
                when a.outcome = 5 then 11
                else 2 end::smallint as state) s
where d.tenant_id = $1 and d.dedupe_key = $2
group by s.state

-- name: batch_waiting
-- tenant: row
-- Messages of a batch that no worker has begun with.
select d.notification_id from notification_dedupe d
cross join lateral (select q.id from queue q where q.tenant_id = $1 and q.id = d.notification_id offset 0) q
where d.tenant_id = $1 and d.dedupe_key = $2 limit $3

-- name: due_batches
-- tenant: all names only whose batch and which, through a definer function
-- Batches with a step to do.
select tenant_id, id from waypost.due_batches(now(), $1)
