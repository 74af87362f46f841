-- name: add
-- tenant: row
-- A claim; nothing is returned where the tenant has the name already.
insert into domains (tenant_id, id, name, purposes, state, proof, checks, failures, overlap_days, checked_at, verified_at,
                     failing_since, next_check_at, version, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7::jsonb, $8, $9, $10, $11, $12, $13, $14, $15, $16)
on conflict (tenant_id, name) do nothing
returning id

-- name: add_keys
-- tenant: row
-- Keys that a domain did not have before.
insert into dkim_keys (tenant_id, id, domain_id, algorithm, selector, public_key, private_key, state, found, created_at,
                       active_at, retired_until)
select $1, u.id, $2, u.algorithm, u.selector, u.public_key, u.private_key, u.state, u.found, u.created_at, u.active_at,
       u.retired_until
from unnest($3::uuid[], $4::text[], $5::text[], $6::text[], $7::bytea[], $8::text[], $9::boolean[], $10::timestamptz[],
            $11::timestamptz[], $12::timestamptz[])
     as u (id, algorithm, selector, public_key, private_key, state, found, created_at, active_at, retired_until)

-- name: turn_keys
-- tenant: row
-- Where keys have come to since.
update dkim_keys k set state = u.state, found = u.found, active_at = u.active_at, retired_until = u.retired_until
from unnest($3::uuid[], $4::text[], $5::boolean[], $6::timestamptz[], $7::timestamptz[])
     as u (id, state, found, active_at, retired_until)
where k.tenant_id = $1 and k.domain_id = $2 and k.id = u.id

-- name: drop_keys
-- tenant: row
-- Keys whose time is over are destroyed.
delete from dkim_keys where tenant_id = $1 and domain_id = $2 and id <> all ($3::uuid[])

-- name: keys
-- tenant: row
-- The keys of domains, in the order in which they were made.
select id, domain_id, algorithm, selector, public_key, private_key, state, found, created_at, active_at, retired_until
from dkim_keys where tenant_id = $1 and domain_id = any ($2::uuid[]) order by domain_id, id

-- name: find
-- tenant: row
-- One domain, to be shown or looked at.
select id, name, purposes, state, proof, checks, failures, overlap_days, checked_at, verified_at, failing_since,
       next_check_at, version, created_at, updated_at
from domains where tenant_id = $1 and id = $2

-- name: find_for_change
-- tenant: row
-- One domain, locked, so that two changes do not both build on what was there before.
select id, name, purposes, state, proof, checks, failures, overlap_days, checked_at, verified_at, failing_since,
       next_check_at, version, created_at, updated_at
from domains where tenant_id = $1 and id = $2 for update

-- name: by_ids
-- tenant: row
-- Domains that events are about.
select id, name, purposes, state, proof, checks, failures, overlap_days, checked_at, verified_at, failing_since,
       next_check_at, version, created_at, updated_at
from domains where tenant_id = $1 and id = any ($2::uuid[])

-- name: page
-- tenant: row
-- The tenant's domains, newest first.
select id, name, purposes, state, proof, checks, failures, overlap_days, checked_at, verified_at, failing_since,
       next_check_at, version, created_at, updated_at
from domains where tenant_id = $1 and id < $2 order by id desc limit $3

-- name: lock_adding
-- tenant: row
-- Two that add a domain at once count one after the other.
select pg_advisory_xact_lock(hashtextextended($1, 7265400))

-- name: count
-- tenant: row
-- How many there are.
select count(*) from domains where tenant_id = $1

-- name: change
-- tenant: row
-- What a check or a change leaves.
update domains
set state = $3, checks = $4::jsonb, failures = $5, overlap_days = $6, checked_at = $7, verified_at = $8,
    failing_since = $9, next_check_at = $10, version = $11, updated_at = $12
where tenant_id = $1 and id = $2

-- name: remove
-- tenant: row
-- With it go its keys.
delete from domains where tenant_id = $1 and id = $2

-- name: lock_name
-- tenant: all whoever would come to hold the same name, in whatever tenant, waits
-- A name is decided about by one transaction at a time.
select pg_advisory_xact_lock(hashtextextended($1, 7265401))

-- name: is_taken
-- tenant: all through a definer function that says yes or no, and never who
-- Whether another tenant holds the name.
select domain_is_taken($1)

-- name: postpone
-- tenant: row
-- Of several workers that find a domain due, one looks at it.
update domains set next_check_at = $4 where tenant_id = $1 and id = $2 and next_check_at <= $3 returning id

-- name: due
-- tenant: all names tenants and domains only, through a definer function
-- Whose turn it is to be looked at again.
select tenant_id, id from due_domains($1, $2)

-- name: standing
-- tenant: row
-- The tenant's mode, and each domain that it may use now.
select t.mode, d.name, d.purposes
from tenants t left join domains d on d.tenant_id = t.id and d.state in ('verified', 'failing')
where t.id = $1 order by d.name

-- name: signing_keys
-- tenant: row
-- The keys that sign, each with its domain.
select d.name, k.id, k.algorithm, k.selector, k.private_key
from domains d join dkim_keys k on k.tenant_id = d.tenant_id and k.domain_id = d.id
where d.tenant_id = $1 and d.state in ('verified', 'failing') and k.state = 'active' order by d.name, k.algorithm desc
