-- name: add
-- tenant: row
-- Events for endpoints. An endpoint that was removed in the same moment gets none.
insert into webhook_deliveries (tenant_id, id, endpoint_id, outbox_id, at, kind, subject_id, n, state, attempts, due, give_up_at)
select $1, u.id, u.endpoint_id, u.outbox_id, u.at, u.kind, u.subject_id, u.n, 'waiting', 0, u.due, u.give_up_at
from unnest($2::uuid[], $3::uuid[], $4::bigint[], $5::timestamptz[], $6::smallint[], $7::uuid[], $8::smallint[],
            $9::timestamptz[], $10::timestamptz[])
     as u (id, endpoint_id, outbox_id, at, kind, subject_id, n, due, give_up_at)
where exists (select from webhook_endpoints e where e.tenant_id = $1 and e.id = u.endpoint_id)

-- name: wake_lanes
-- tenant: row
-- Locked one after the other in one order; a lane that is already awake is left alone.
update webhook_lanes l set due = least(l.due, greatest($3, l.not_before))
from (select endpoint_id from webhook_lanes where tenant_id = $1 and endpoint_id = any ($2::uuid[])
      order by endpoint_id for update) locked
where l.tenant_id = $1 and l.endpoint_id = locked.endpoint_id and l.due > greatest($3, l.not_before)

-- name: start_afresh
-- tenant: row
-- An endpoint that was changed or enabled is tried at once and at full pace.
update webhook_lanes set due = $3, not_before = '-infinity', pace = $4, failures = 0
where tenant_id = $1 and endpoint_id = $2

-- name: find
-- tenant: row
-- One delivery, locked, so that it is not tried again twice.
select id, endpoint_id, outbox_id, at, kind, subject_id, n, state, attempts, due, give_up_at
from webhook_deliveries where tenant_id = $1 and id = $2 and endpoint_id = $3 for update

-- name: page
-- tenant: row
-- What an endpoint was or is to be told, newest first.
select id, endpoint_id, outbox_id, at, kind, subject_id, n, state, attempts, due, give_up_at
from webhook_deliveries
where tenant_id = $1 and endpoint_id = $2 and id < $3 and ($4::text is null or state = $4)
order by id desc limit $5

-- name: page_undelivered
-- tenant: row
-- Those of a state that waits or has failed, newest first: few, and indexed.
select id, endpoint_id, outbox_id, at, kind, subject_id, n, state, attempts, due, give_up_at
from webhook_deliveries
where tenant_id = $1 and endpoint_id = $2 and id < $3 and state = $4 and state <> 'delivered'
order by id desc limit $5

-- name: attempts
-- tenant: row
-- Every call that was made for these deliveries.
select delivery_id, n, at, status, fault, latency_ms, answer
from webhook_attempts where tenant_id = $1 and delivery_id = any ($2::uuid[]) order by delivery_id, n

-- name: try_again
-- tenant: row
-- Once more and now, whatever became of it; its last chance where its time is over.
update webhook_deliveries set state = 'waiting', due = $4, give_up_at = greatest(give_up_at, $4)
where tenant_id = $1 and id = $2 and endpoint_id = $3

-- name: due_webhooks
-- tenant: all names tenants and endpoints only, through a definer function
-- Endpoints with something due and a free place.
select tenant_id, endpoint_id from waypost.due_webhooks($1, $2)

-- name: lock_lane
-- tenant: row
-- The lane, if it has work and a free place and nobody else is at it.
select pace, failures, not_before, busy_a <= $3 as first_free from webhook_lanes
where tenant_id = $1 and endpoint_id = $2 and due <= $3 and not_before <= $3 and least(busy_a, busy_b) <= $3
for update skip locked

-- name: take
-- tenant: row
-- The deliveries that are due first. Until the lease ends they are not due again.
with taken as (
    select d.id, d.due from webhook_deliveries d
    where d.tenant_id = $1 and d.endpoint_id = $2 and d.state = 'waiting' and d.due <= $3
    order by d.due limit $4 for update skip locked
)
update webhook_deliveries d set due = $5 from taken t
where d.tenant_id = $1 and d.id = t.id
returning d.id, d.endpoint_id, d.outbox_id, d.at, d.kind, d.subject_id, d.n, d.state, d.attempts, t.due, d.give_up_at

-- name: book
-- tenant: row
-- Takes a place of the lane, and says when to look again: at what is due next, not earlier than the ramp allows.
update webhook_lanes l
set busy_a = case when $4 then $3 else l.busy_a end, busy_b = case when $4 then l.busy_b else $3 end, not_before = $5,
    due = greatest($5, coalesce((
        select d.due from webhook_deliveries d
        where d.tenant_id = $1 and d.endpoint_id = $2 and d.state = 'waiting' order by d.due limit 1), 'infinity'))
where l.tenant_id = $1 and l.endpoint_id = $2

-- name: sleep
-- tenant: row
-- Nothing to do here for now.
update webhook_lanes set due = 'infinity' where tenant_id = $1 and endpoint_id = $2

-- name: keep_results
-- tenant: row
-- How deliveries went, and the log of the calls; fenced, so that a relay that lost its lease changes nothing.
with kept as (
    update webhook_deliveries d set state = u.state, attempts = u.n, due = u.due
    from unnest($2::uuid[], $3::smallint[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::smallint[], $8::text[],
                $9::integer[], $10::text[]) as u (id, n, state, due, at, status, fault, latency_ms, answer)
    where d.tenant_id = $1 and d.id = u.id and d.state = 'waiting' and d.attempts = u.n - 1
    returning d.id, u.n, u.at, u.status, u.fault, u.latency_ms, u.answer
)
insert into webhook_attempts (tenant_id, delivery_id, n, at, status, fault, latency_ms, answer)
select $1, k.id, k.n, k.at, k.status, k.fault, k.latency_ms, k.answer from kept k

-- name: give_back
-- tenant: row
-- Deliveries of a turn that were not begun are due as they were before.
update webhook_deliveries d set due = u.due
from unnest($2::uuid[], $3::smallint[], $4::timestamptz[]) as u (id, attempts, due)
where d.tenant_id = $1 and d.id = u.id and d.state = 'waiting' and d.attempts = u.attempts and d.due = $5

-- name: hold_lane
-- tenant: row
-- The lane, locked before its deliveries are looked at, so that no news is slept over.
select from webhook_lanes where tenant_id = $1 and endpoint_id = $2 for update

-- name: leave
-- tenant: row
-- Frees the place, notes how the endpoint is doing, and says when to look again.
update webhook_lanes l
set busy_a = case when $3 and l.busy_a = $4 then '-infinity' else l.busy_a end,
    busy_b = case when not $3 and l.busy_b = $4 then '-infinity' else l.busy_b end,
    pace = $5, failures = $6, not_before = $7,
    due = greatest($7, coalesce((
        select d.due from webhook_deliveries d
        where d.tenant_id = $1 and d.endpoint_id = $2 and d.state = 'waiting' order by d.due limit 1), 'infinity'))
where l.tenant_id = $1 and l.endpoint_id = $2

-- name: note_health
-- tenant: row
-- Since when it fails, or that it is disabled; an endpoint that was disabled meanwhile stays as it is.
update webhook_endpoints
set failing_since = $3, status = $4, disabled_reason = $5,
    disabled_at = case when $4 = 'disabled' then $6::timestamptz end,
    version = version + case when $4 = 'disabled' then 1 else 0 end,
    updated_at = case when $4 = 'disabled' then $6::timestamptz else updated_at end
where tenant_id = $1 and id = $2 and status = 'enabled'

-- name: add_replay
-- tenant: row
-- Events of a time, to be told again in the background.
insert into webhook_replays (tenant_id, id, endpoint_id, since, until) values ($1, $2, $3, $4, $5)

-- name: replays
-- tenant: row
-- An endpoint's replays, newest first.
select id, endpoint_id, since, until, position, added, done from webhook_replays
where tenant_id = $1 and endpoint_id = $2 and id < $3 order by id desc limit $4

-- name: open_replays
-- tenant: all names tenants only, through a definer function
-- Who has a replay to go on with.
select tenant_id from waypost.open_replays($1)

-- name: next_replay
-- tenant: row
-- The oldest that nobody else is at.
select id, endpoint_id, since, until, position, added, done from webhook_replays
where tenant_id = $1 and not done order by id limit 1 for update skip locked

-- name: advance
-- tenant: row
-- How far a replay has come.
update webhook_replays set position = $3, added = $4, done = $5 where tenant_id = $1 and id = $2
