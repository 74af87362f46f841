-- name: add_timers
-- tenant: row
-- One per (kind, source, trigger, recipient): what is not returned was there before. Sorted, so that nobody waits in a ring.
insert into timers (tenant_id, id, kind, trigger_id, source, recipient_id, subject_key, slot, state, reason, occurred_at,
                    due, payload, moved_at, created_at, ended_at)
select $1, n.id, n.kind, n.trigger_id, n.source, n.recipient_id, n.subject_key, n.slot, n.state, n.reason, n.occurred_at,
       n.due, n.payload, n.moved_at, n.created_at, n.ended_at
from unnest($2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::uuid[], $7::text[], $8::text[], $9::text[], $10::text[],
            $11::timestamptz[], $12::timestamptz[], $13::bytea[], $14::timestamptz[], $15::timestamptz[],
            $16::timestamptz[])
     as n (id, kind, trigger_id, source, recipient_id, subject_key, slot, state, reason, occurred_at, due, payload,
           moved_at, created_at, ended_at)
order by n.kind, n.source, n.trigger_id, n.recipient_id
on conflict (tenant_id, kind, source, trigger_id, recipient_id) do nothing
returning id

-- name: timers_of_subjects
-- tenant: row
-- All that news about these subjects could move, locked in the order of their ids.
select * from timers
where tenant_id = $1 and subject_key = any ($2::text[]) and subject_key is not null and kind = 'trigger'
order by id for update

-- name: claim_timers
-- tenant: row
-- Due ones that nobody else holds. The lock is the lease: it ends with the transaction, however that ends.
select * from timers
where tenant_id = $1 and state = 'waiting' and due <= $2
order by due, id limit $3 for update skip locked

-- name: claim_these
-- tenant: row
-- Those of them that still wait and that nobody holds.
select * from timers where tenant_id = $1 and id = any ($2::uuid[]) and state = 'waiting' order by id for update skip locked

-- name: hold_timer
-- tenant: row
-- One timer, after whoever holds it is done with it.
select * from timers where tenant_id = $1 and id = $2 for update

-- name: put_timers
-- tenant: row
-- What has become of timers whose rows the transaction holds. What one holds goes with its end, unless news could move it.
update timers t
set payload = case when n.state <> 'waiting' and t.subject_key is null then '' else t.payload end,
    state = n.state, reason = n.reason, due = n.due, collecting = t.collecting and n.state = 'waiting',
    generation = n.generation, tries = n.tries, moved_at = n.moved_at, request_id = n.request_id, ended_at = n.ended_at
from unnest($2::uuid[], $3::text[], $4::text[], $5::timestamptz[], $6::smallint[], $7::smallint[], $8::timestamptz[],
            $9::uuid[], $10::timestamptz[])
     as n (id, state, reason, due, generation, tries, moved_at, request_id, ended_at)
where t.tenant_id = $1 and t.id = n.id

-- name: page_of_timers
-- tenant: row
-- The tenant's timers, newest first; the rare filters are checked on the way.
select t.*, r.external_id from timers t left join recipients r on r.tenant_id = $1 and r.id = t.recipient_id
where t.tenant_id = $1 and ($2::uuid is null or t.id < $2)
  and ($4::text is null or t.state = $4) and ($5::boolean is null or (t.moved_at is not null) = $5)
  and ($6::uuid is null or t.trigger_id = $6)
order by t.id desc limit $3

-- name: page_of_subject
-- tenant: row
-- The timers of one subject, newest first.
select t.*, r.external_id from timers t left join recipients r on r.tenant_id = $1 and r.id = t.recipient_id
where t.tenant_id = $1 and ($2::uuid is null or t.id < $2) and t.subject_key = $7
  and ($4::text is null or t.state = $4) and ($5::boolean is null or (t.moved_at is not null) = $5)
  and ($6::uuid is null or t.trigger_id = $6) and ($8::uuid is null or t.recipient_id = $8)
order by t.id desc limit $3

-- name: page_of_recipient
-- tenant: row
-- The timers of one person, newest first.
select t.*, r.external_id from timers t left join recipients r on r.tenant_id = $1 and r.id = t.recipient_id
where t.tenant_id = $1 and ($2::uuid is null or t.id < $2) and t.recipient_id = $7
  and ($4::text is null or t.state = $4) and ($5::boolean is null or (t.moved_at is not null) = $5)
  and ($6::uuid is null or t.trigger_id = $6)
order by t.id desc limit $3

-- name: find_timer
-- tenant: row
-- One timer as it is shown.
select t.*, r.external_id from timers t left join recipients r on r.tenant_id = $1 and r.id = t.recipient_id
where t.tenant_id = $1 and t.id = $2

-- name: recipient_named
-- tenant: row
-- Whom a list of timers is asked for; a merged id leads to the person it became.
select coalesce(merged_into, id) from recipients where tenant_id = $1 and external_id = $2

-- name: names
-- tenant: row
-- What people are called by the caller, and the keys under which what waits for them lies.
select id, external_id, data_key from recipients where tenant_id = $1 and id = any ($2::uuid[])

-- name: due_tenants
-- tenant: all names tenants only, through a definer function
-- Whose timers are due, from one tenant on; the caller goes round.
select tenant_id from tenants_with_due_timers($1, $2, $3, $4)
