-- name: add
-- tenant: row
-- A new account with the row that changes with its batches; nothing where one of this name is there.
with added as (
    insert into sender_accounts (tenant_id, id, kind, name, display_name, from_address, categories, daily_limit, batch_size,
                                 delay_ms, provider_limits, adaptive, connection, secret, secret_is_reference, status,
                                 status_reason, status_at, warmup_schedule, warmup_stage, warmup_started_on,
                                 warmup_finished_on, version, created_at, updated_at, changed_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::text::jsonb, $12, $13::text::jsonb, $14, $15, $16, $17, $18,
            $19::text::jsonb, $20, $21, $22, $23, $24, $25, clock_timestamp())
    on conflict do nothing
    returning tenant_id, id
)
insert into sender_states (tenant_id, account_id) select tenant_id, id from added

-- name: change
-- tenant: row
-- What a change leaves; the status changes elsewhere.
update sender_accounts
set kind = $3, name = $4, display_name = $5, from_address = $6, categories = $7, daily_limit = $8, batch_size = $9,
    delay_ms = $10, provider_limits = $11::text::jsonb, adaptive = $12, connection = $13::text::jsonb, secret = $14,
    secret_is_reference = $15, warmup_schedule = $16::text::jsonb, warmup_stage = $17, warmup_started_on = $18,
    warmup_finished_on = $19, version = $20, updated_at = $21, changed_at = clock_timestamp()
where tenant_id = $1 and id = $2

-- name: named
-- tenant: row
-- Whether another account has this name.
select exists (select from sender_accounts where tenant_id = $1 and name = $2 and id <> $3 and status <> 'archived')

-- name: set_status
-- tenant: row
-- Stops an account, or lets it go on; nothing where it is so already, or is archived.
update sender_accounts
set status = $3, status_reason = $4, status_at = $5, version = version + 1, updated_at = $5, changed_at = clock_timestamp()
where tenant_id = $1 and id = $2 and status <> $3 and status <> 'archived'
returning id

-- name: move_stage
-- tenant: row
-- A warm-up goes on to its next stage, or ends, with the first batch of a day.
update sender_accounts
set warmup_stage = $3, warmup_started_on = $4, warmup_finished_on = $5, changed_at = clock_timestamp()
where tenant_id = $1 and id = $2 and warmup_stage is not null

-- name: lock_adding
-- tenant: row
-- Two that add an account at once count one after the other.
select pg_advisory_xact_lock(hashtextextended($1, 7265400))

-- name: count
-- tenant: row
-- How many are not archived.
select count(*) from sender_accounts where tenant_id = $1 and status <> 'archived'

-- name: find
-- tenant: row
-- One account, to be shown or opened.
select * from sender_accounts where tenant_id = $1 and id = $2

-- name: lock_states
-- tenant: row
-- Before an account is: workers count first and change its status then, and must not wait for each other.
select account_id from sender_states where tenant_id = $1 order by account_id for update

-- name: find_for_change
-- tenant: row
-- One account, locked, so that two changes do not both build on what was there before.
select * from sender_accounts where tenant_id = $1 and id = $2 for update

-- name: by_ids
-- tenant: row
-- Accounts that events are about.
select * from sender_accounts where tenant_id = $1 and id = any ($2::uuid[])

-- name: page
-- tenant: row
-- The tenant's accounts, newest first.
select * from sender_accounts
where tenant_id = $1 and id < $2 and ($4 or status <> 'archived') order by id desc limit $3

-- name: live
-- tenant: row
-- What a worker chooses from.
select * from sender_accounts where tenant_id = $1 and status <> 'archived' order by id

-- name: states
-- tenant: row
-- How accounts stand, with what was counted today.
select s.account_id, s.next_at, s.plan_at, s.plan_day, s.planned, s.consecutive_errors, coalesce(d.reserved, 0) as reserved,
       coalesce(d.sent, 0) as sent, coalesce(d.bounced, 0) as bounced, coalesce(d.errors, 0) as errors,
       coalesce(d.deferred, 0) as deferred
from sender_states s
left join lateral (
    select * from sender_days d
    where d.tenant_id = $1 and d.account_id = s.account_id and d.day = $3 limit 1) d on true
where s.tenant_id = $1 and s.account_id = any ($2::uuid[])

-- name: paces
-- tenant: row
-- How fast accounts write to the providers of a batch.
select account_id, provider, hour, taken, taken_before, rate, ceiling, next_at, plan_at, slowed_at from sender_paces
where tenant_id = $1 and account_id = any ($2::uuid[]) and provider = any ($3::text[])

-- name: all_paces
-- tenant: row
-- Those of an account that have to do with anything lately, slowest first, to be shown.
select account_id, provider, hour, taken, taken_before, rate, ceiling, next_at, plan_at, slowed_at from sender_paces
where tenant_id = $1 and account_id = any ($2::uuid[]) and updated_at > $3
order by rate nulls last, provider limit 500

-- name: days
-- tenant: row
-- What was counted lately.
select day, reserved, sent, bounced, errors, deferred from sender_days
where tenant_id = $1 and account_id = $2 and day >= $3 order by day

-- name: start_afresh
-- tenant: row
-- Somebody has looked: what went wrong before counts no more.
update sender_states set consecutive_errors = 0, next_at = null, plan_at = null where tenant_id = $1 and account_id = $2

-- name: waiting_is_called
-- tenant: row
-- The walk of an earlier change begins anew.
update pauses set place = '00000000-0000-0000-0000-000000000000', created_at = now(), resumed_at = now()
where tenant_id = $1 and scope = 'account' and subject = $2 and resumed_at = created_at

-- name: call_waiting
-- tenant: row
-- A pause that has ended: workers walk through the queue for it, and then it is gone.
insert into pauses (tenant_id, id, scope, subject, reason, by_platform, created_at, created_by, resumed_at, place)
values ($1, $2, 'account', $3, '', false, now(), 'operator', now(), '00000000-0000-0000-0000-000000000000')

-- name: call_first
-- tenant: row
-- The first of those that wait (see pause_routines.sql).
select waypost.call_up($1, '00000000-0000-0000-0000-000000000000', $2)

-- name: forget_paces
-- tenant: row
-- What was learned about providers belongs to another server.
delete from sender_paces where tenant_id = $1 and account_id = $2

-- name: changed_since
-- tenant: all names only tenants and moments, through a definer function
-- Whose accounts must be read again.
select tenant_id, changed_at, lately from waypost.changed_senders(coalesce($1, '-infinity'::timestamptz))
