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
