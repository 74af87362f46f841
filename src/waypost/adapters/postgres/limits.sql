-- name: limits
-- tenant: row
-- What the tenant allows itself; no row means no limits.
select limits::text from rate_limits where tenant_id = $1

-- name: put_limits
-- tenant: row
-- From now on every dispatch of the tenant asks.
insert into rate_limits (tenant_id, limits, updated_at) values ($1, $2::text::jsonb, $3)
on conflict (tenant_id) do update set limits = excluded.limits, updated_at = excluded.updated_at

-- name: drop_limits
-- tenant: row
-- No dispatch asks any more.
delete from rate_limits where tenant_id = $1

-- name: hold
-- tenant: row
-- Whoever counts for this tenant counts alone, until the end of the transaction.
select pg_advisory_xact_lock(hashtextextended($1, 7265111))

-- name: counters
-- tenant: row
-- How much of the present windows is used: the tenant's, its channels', and those of the recipients of a batch.
select whose, channel, recipient_id, span, starts_at, taken, plan_at, planned from rate_counters
where tenant_id = $1 and whose < 3
union all
select c.whose, c.channel, c.recipient_id, c.span, c.starts_at, c.taken, c.plan_at, c.planned
from unnest($2::uuid[]) as asked (id)
cross join lateral (
    select * from rate_counters where tenant_id = $1 and whose = 3 and channel = 0 and recipient_id = asked.id offset 0) c

-- name: marks
-- tenant: row
-- When the recipients of a batch got marketing.
select recipient_id, sent from marketing_marks where tenant_id = $1 and recipient_id = any ($2::uuid[])

-- name: save_counters
-- tenant: row
-- The counts as a batch leaves them.
insert into rate_counters (tenant_id, whose, channel, recipient_id, span, starts_at, taken, plan_at, planned)
select $1, u.whose, u.channel, u.recipient_id, u.span, u.starts_at, u.taken, u.plan_at, u.planned
from unnest($2::smallint[], $3::smallint[], $4::uuid[], $5::smallint[], $6::timestamptz[], $7::int[], $8::timestamptz[],
            $9::int[]) as u (whose, channel, recipient_id, span, starts_at, taken, plan_at, planned)
on conflict (tenant_id, whose, channel, recipient_id, span) do update
    set starts_at = excluded.starts_at, taken = excluded.taken, plan_at = excluded.plan_at, planned = excluded.planned

-- name: save_marks
-- tenant: row
-- The same for marketing. An array of arrays cannot hold rows of different length: they come as text.
insert into marketing_marks (tenant_id, recipient_id, sent, last_at)
select $1, u.recipient_id, u.sent::timestamptz[], u.last_at
from unnest($2::uuid[], $3::text[], $4::timestamptz[]) as u (recipient_id, sent, last_at)
on conflict (tenant_id, recipient_id) do update set sent = excluded.sent, last_at = excluded.last_at

-- name: sweep_counters
-- tenant: row
-- Windows long past of people who got nothing since; a few with each batch, under the same lock.
delete from rate_counters where ctid = any (array(
    select ctid from rate_counters where tenant_id = $1 and starts_at < $2 and whose = 3 limit 200))

-- name: sweep_marks
-- tenant: row
-- Marks older than any cap may look back.
delete from marketing_marks where ctid = any (array(
    select ctid from marketing_marks where tenant_id = $1 and last_at < $2 limit 200))
