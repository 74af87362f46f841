-- name: add
-- tenant: row
-- A new endpoint with its lane.
with added as (
    insert into webhook_endpoints (tenant_id, id, url, secret, old_secret, old_secret_until, events, description, status,
                                   disabled_reason, disabled_at, failing_since, version, created_at, updated_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
    returning tenant_id, id
)
insert into webhook_lanes (tenant_id, endpoint_id, pace) select tenant_id, id, $16 from added

-- name: find
-- tenant: row
-- One endpoint, to be shown or called.
select id, url, secret, old_secret, old_secret_until, events, description, status, disabled_reason, disabled_at,
       failing_since, version, created_at, updated_at
from webhook_endpoints where tenant_id = $1 and id = $2

-- name: find_for_change
-- tenant: row
-- One endpoint, locked, so that two changes do not both build on what was there before.
select id, url, secret, old_secret, old_secret_until, events, description, status, disabled_reason, disabled_at,
       failing_since, version, created_at, updated_at
from webhook_endpoints where tenant_id = $1 and id = $2 for update

-- name: by_ids
-- tenant: row
-- Endpoints that events are about.
select id, url, secret, old_secret, old_secret_until, events, description, status, disabled_reason, disabled_at,
       failing_since, version, created_at, updated_at
from webhook_endpoints where tenant_id = $1 and id = any ($2::uuid[])

-- name: page
-- tenant: row
-- The tenant's endpoints, newest first.
select id, url, secret, old_secret, old_secret_until, events, description, status, disabled_reason, disabled_at,
       failing_since, version, created_at, updated_at
from webhook_endpoints where tenant_id = $1 and id < $2 order by id desc limit $3

-- name: lock_adding
-- tenant: row
-- Two that add an endpoint at once count one after the other.
select pg_advisory_xact_lock(hashtextextended($1, 7265300))

-- name: count
-- tenant: row
-- How many there are.
select count(*) from webhook_endpoints where tenant_id = $1

-- name: change
-- tenant: row
-- What a change leaves.
update webhook_endpoints
set url = $3, secret = $4, old_secret = $5, old_secret_until = $6, events = $7, description = $8, status = $9,
    disabled_reason = $10, disabled_at = $11, failing_since = $12, version = $13, updated_at = $14
where tenant_id = $1 and id = $2

-- name: remove
-- tenant: row
-- With it go its lane, its deliveries and its replays.
delete from webhook_endpoints where tenant_id = $1 and id = $2

-- name: enabled
-- tenant: row
-- Whom to tell, and what they listen to.
select id, events from webhook_endpoints where tenant_id = $1 and status = 'enabled' order by id
