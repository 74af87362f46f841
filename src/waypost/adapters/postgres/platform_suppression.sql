-- name: lock_platform
-- tenant: all an advisory lock has no rows
-- Platform-wide suppressions and new tenants wait for each other, so that no tenant is left out.
select pg_advisory_xact_lock(hashtext('waypost platform suppressions'))

-- name: put_platform
-- tenant: row
-- What the platform has suppressed, under this tenant's hash of the address.
insert into platform_suppressions as p (tenant_id, channel, hash, suppression_id, expires_at) values ($1, $2, $3, $4, $5)
on conflict (tenant_id, channel, hash) do update
set suppression_id = excluded.suppression_id, expires_at = excluded.expires_at

-- name: drop_platform
-- tenant: row
-- The platform has taken it back.
delete from platform_suppressions where tenant_id = $1 and suppression_id = $2 returning channel, hash

-- name: sealed_page
-- tenant: row
-- The platform's own, with their addresses: for a tenant that is being made.
select id, channel, hash, expires_at, sealed from suppressions
where tenant_id = $1 and id > $2 and sealed is not null and released_at is null
  and (expires_at is null or expires_at > now())
order by id limit $3

-- name: tenants_after
-- tenant: all the platform reaches every tenant in turn, through a definer function
-- The tenants that a platform-wide suppression is written into, some at a time.
select id from tenant_directory($1, $2, null)
