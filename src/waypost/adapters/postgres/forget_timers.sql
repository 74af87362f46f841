-- name: end_timers
-- tenant: row
-- What was planned for them ends; nothing of what it held is kept, whether it has ended before or not.
update timers
set payload = '', collecting = false,
    reason = case when state = 'waiting' then 'recipient_erased' else reason end,
    ended_at = coalesce(ended_at, $3),
    state = case when state = 'waiting' then 'cancelled' else state end
where tenant_id = $1 and recipient_id = any ($2::uuid[])
returning id

-- name: drop_collected
-- tenant: row
-- What digests had collected for them.
delete from digest_items where tenant_id = $1 and timer_id = any ($2::uuid[])

-- name: drop_throttles
-- tenant: row
-- When they were told what.
delete from throttles where tenant_id = $1 and recipient_id = any ($2::uuid[])
