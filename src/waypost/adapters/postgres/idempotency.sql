-- name: claim_key
-- tenant: row
-- Waits on the unique index while a twin is in flight, for as long as the lock time-out allows, which is set first.
insert into idempotency_keys (tenant_id, key, route, fingerprint, created_at)
select $1, $2, $3, $4, $5 from (select set_config('lock_timeout', $6, true) as patience offset 0) waiting
where patience is not null
on conflict (tenant_id, key) do nothing
returning key

-- name: find_call
-- tenant: row
-- What the key was used for, and how it was answered.
select route, fingerprint, status, answer, created_at from idempotency_keys where tenant_id = $1 and key = $2

-- name: forget_call
-- tenant: row
-- A key that is older than we keep them is free again.
delete from idempotency_keys where tenant_id = $1 and key = $2 and created_at < $3

-- name: keep_answer
-- tenant: row
-- In the transaction of the effect, so that both are there or neither.
update idempotency_keys set status = $3, answer = $4 where tenant_id = $1 and key = $2

-- name: forget_calls
-- tenant: row
-- Of the keys that many calls bring, those that are older than we keep them are free again.
delete from idempotency_keys where tenant_id = $1 and key = any ($2::text[]) and created_at < $3

-- name: claim_keys
-- tenant: row
-- Many keys at once, sorted, so that two bulks with the same keys wait for each other and never in a ring. The status
-- says that they are done: the answer is read from the effect.
insert into idempotency_keys (tenant_id, key, route, fingerprint, status, created_at)
select $1, k.key, $2, k.fingerprint, 202, $5
from (select set_config('lock_timeout', $6, true) as patience offset 0) waiting
cross join unnest($3::text[], $4::bytea[]) as k (key, fingerprint)
where patience is not null
order by k.key
on conflict (tenant_id, key) do nothing

-- name: find_calls
-- tenant: row
-- What each key was used for.
select key, route, fingerprint from idempotency_keys where tenant_id = $1 and key = any ($2::text[])

-- name: release_keys
-- tenant: row
-- The keys of calls that were refused in this very transaction.
delete from idempotency_keys i
using unnest($3::text[], $4::bytea[]) as k (key, fingerprint)
where i.tenant_id = $1 and i.key = k.key and i.route = $2 and i.fingerprint = k.fingerprint

-- name: keep_new_calls
-- tenant: row
-- Calls that were stored together, in the transaction of their effects. A key that was used before is left alone, and
-- missing in the answer.
insert into idempotency_keys (tenant_id, key, route, fingerprint, status, answer, created_at)
select $1, k.key, k.route, k.fingerprint, k.status, k.answer, k.created_at
from unnest($2::text[], $3::text[], $4::bytea[], $5::int[], $6::bytea[], $7::timestamptz[])
     as k (key, route, fingerprint, status, answer, created_at)
order by k.key
on conflict (tenant_id, key) do nothing
returning key
