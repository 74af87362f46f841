-- name: add_tenant
-- tenant: row
-- A new tenant with its wrapped key; nothing is returned where the id is taken.
insert into tenants (id, name, mode, status, wrapped_key, version, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (id) do nothing
returning id

-- name: find_tenant
-- tenant: row
-- The tenant as people see it.
select id, name, mode, status, version, created_at, updated_at from tenants where id = $1

-- name: find_tenant_for_change
-- tenant: row
-- The same, locked until the change is committed, so that versions never skip.
select id, name, mode, status, version, created_at, updated_at from tenants where id = $1 for update

-- name: wrapped_key
-- tenant: row
-- The tenant's key as the vault wrapped it.
select wrapped_key from tenants where id = $1

-- name: change_tenant
-- tenant: row
-- Name and status change, mode and id never.
update tenants set name = $2, status = $3, version = $4, updated_at = $5 where id = $1

-- name: page_of_tenants
-- tenant: all the platform lists its tenants, through a definer function
-- One page of tenants by id.
select id, name, mode, status, version, created_at, updated_at from tenant_directory($1, $2, $3)

-- name: add_key
-- tenant: row
-- A new key; its secret is kept as a hash only.
insert into api_keys (tenant_id, id, name, scopes, secret_hash, hint, created_at, created_by, expires_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)

-- name: find_key
-- tenant: row
-- One key of the tenant.
select tenant_id, id, name, scopes, hint, created_at, created_by, expires_at, revoked_at, last_used_at
from api_keys where tenant_id = $1 and id = $2

-- name: page_of_keys
-- tenant: row
-- The tenant's keys, newest first.
select tenant_id, id, name, scopes, hint, created_at, created_by, expires_at, revoked_at, last_used_at
from api_keys where tenant_id = $1 and ($2::uuid is null or id < $2) order by id desc limit $3

-- name: revoke_key
-- tenant: row
-- Revoked once and for ever: a second time changes nothing.
update api_keys set revoked_at = $3 where tenant_id = $1 and id = $2 and revoked_at is null returning id

-- name: note_use
-- tenant: row
-- Several processes note uses of one key; the time only moves forward.
update api_keys set last_used_at = $3
where tenant_id = $1 and id = $2 and (last_used_at is null or last_used_at < $3)

-- name: owner_of_key
-- tenant: all a presented secret does not say whose it is; a definer function answers for exactly one hash
-- Whose key this is, and how its tenant stands.
select tenant_id, key_id, scopes, expires_at, revoked_at, tenant_status, tenant_mode from api_key_owner($1)
