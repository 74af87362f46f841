-- name: by_external_ids
-- tenant: row
-- The recipients a call names, erased ones too: their ids stay taken.
select id, external_id, kind, locale, timezone, attributes, data_key, version, created_at, updated_at, erased_at
from recipients where tenant_id = $1 and external_id = any($2::text[])

-- name: lock_recipients
-- tenant: row
-- In the order of ids, so that two calls about the same people wait for each other and never in a ring.
select id, external_id, kind, locale, timezone, attributes, data_key, version, created_at, updated_at, erased_at
from recipients where tenant_id = $1 and id = any($2::uuid[]) order by id for no key update

-- name: add_recipients
-- tenant: row
-- Sorted by external id by the caller; a taken id is left alone, after waiting for whoever is taking it.
insert into recipients
    (tenant_id, id, external_id, kind, locale, timezone, attributes, data_key, version, created_at, updated_at)
select $1, id, external_id, kind, locale, timezone, attributes, data_key, version, created_at, updated_at
from unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[], $8::bytea[], $9::int[],
            $10::timestamptz[], $11::timestamptz[])
    as new (id, external_id, kind, locale, timezone, attributes, data_key, version, created_at, updated_at)
on conflict (tenant_id, external_id) do nothing
returning id

-- name: change_recipients
-- tenant: row
-- The merged state of people whose rows the transaction holds.
update recipients r
set kind = new.kind, locale = new.locale, timezone = new.timezone, attributes = new.attributes,
    version = new.version, updated_at = new.updated_at
from unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::int[], $8::timestamptz[])
    as new (id, kind, locale, timezone, attributes, version, updated_at)
where r.tenant_id = $1 and r.id = new.id

-- name: erase_recipient
-- tenant: row
-- The data key is destroyed; the id stays as a tombstone, and hashes stay so that suppressions still hold.
with erased as (
    update recipients
    set locale = null, timezone = null, attributes = null, data_key = null, version = $3, updated_at = $4, erased_at = $4
    where tenant_id = $1 and id = $2
)
update addresses set status = 'revoked', ciphertext = '', updated_at = $4 where tenant_id = $1 and recipient_id = $2

-- name: page_of_recipients
-- tenant: row
-- Newest first, without the erased.
select id, external_id, kind, locale, timezone, attributes, data_key, version, created_at, updated_at, erased_at
from recipients where tenant_id = $1 and ($2::uuid is null or id < $2) and erased_at is null order by id desc limit $3

-- name: note_gate_changes
-- tenant: row
-- What is queued for these people asks the whole gate again; ids come sorted, so writers never wait in a ring.
insert into gate_changes (tenant_id, recipient_id, changed_at)
select $1, id, $3 from unnest($2::uuid[]) as id
on conflict (tenant_id, recipient_id) do update set changed_at = greatest(gate_changes.changed_at, excluded.changed_at)

-- name: addresses_of_recipients
-- tenant: row
-- Addresses in use, the newest given first.
select id, recipient_id, channel, hash, ciphertext, verified, status, given_at, created_at, updated_at
from addresses where tenant_id = $1 and recipient_id = any($2::uuid[]) and status <> 'revoked'
order by recipient_id, given_at desc, id desc

-- name: owners_of_addresses
-- tenant: row
-- Who has an address, oldest recipient first. The offset keeps the plan to one look-up per owner, whatever the statistics.
select a.hash, r.*
from addresses a
cross join lateral (
    select id, external_id, kind, locale, timezone, attributes, data_key, version, created_at, updated_at, erased_at
    from recipients where tenant_id = a.tenant_id and id = a.recipient_id
    offset 0
) r
where a.tenant_id = $1 and a.channel = $2 and a.hash = any($3::text[]) and a.status <> 'revoked' and r.erased_at is null
order by r.id

-- name: hold_newcomers
-- tenant: row
-- Locks by bucket of address, not by address: a call may bring a thousand newcomers and the lock table is small.
select pg_advisory_xact_lock($1::int, bucket) from unnest($2::int[]) as bucket

-- name: add_addresses
-- tenant: row
-- New addresses of people whose rows the transaction made or holds.
insert into addresses
    (tenant_id, id, recipient_id, channel, hash, ciphertext, verified, status, given_at, created_at, updated_at)
select $1, id, recipient_id, channel, hash, ciphertext, verified, status, given_at, created_at, updated_at
from unnest($2::uuid[], $3::uuid[], $4::smallint[], $5::text[], $6::bytea[], $7::boolean[], $8::text[],
            $9::timestamptz[], $10::timestamptz[], $11::timestamptz[])
    as new (id, recipient_id, channel, hash, ciphertext, verified, status, given_at, created_at, updated_at)

-- name: put_in_front
-- tenant: row
-- A known address that was given again is the one used from now on.
update addresses a set given_at = new.given_at
from unnest($2::uuid[], $3::timestamptz[]) as new (id, given_at)
where a.tenant_id = $1 and a.id = new.id

-- name: revoke_addresses
-- tenant: row
-- No longer this person's; the ciphertext goes with it, the hash stays for suppressions.
update addresses set status = 'revoked', ciphertext = '', updated_at = $3
where tenant_id = $1 and id = any($2::uuid[]) and status <> 'revoked'
