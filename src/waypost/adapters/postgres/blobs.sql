-- name: touch
-- tenant: row
-- Keeps what is there at least until the later of both times; for ever wins. In one order, as every writer locks them.
update blobs b
set kept_until = case when b.kept_until is null or w.until is null then null else greatest(b.kept_until, w.until) end
from (select address, until from unnest($2::bytea[], $3::timestamptz[]) as u (address, until) order by address) w
where b.tenant_id = $1 and b.address = w.address
returning b.address

-- name: add
-- tenant: row
-- New bytes; where another transaction was first, its bytes are the same, and the later time counts.
insert into blobs as b (tenant_id, address, sealed, kept_until)
select $1, address, sealed, until from unnest($2::bytea[], $3::bytea[], $4::timestamptz[]) as u (address, sealed, until)
on conflict (tenant_id, address) do update
set kept_until = case when b.kept_until is null or excluded.kept_until is null then null
                      else greatest(b.kept_until, excluded.kept_until) end

-- name: add_uses
-- tenant: row
-- Whose messages carry the bytes: with the last of them they go.
insert into blob_uses (tenant_id, address, recipient_id)
select $1, address, recipient_id from unnest($2::bytea[], $3::uuid[]) as u (address, recipient_id)
on conflict do nothing

-- name: read
-- tenant: row
-- The bytes that a batch of messages carries, the tenant's own or the platform's.
select address, sealed from blobs where tenant_id = $1 and address = any ($2::bytea[])

-- name: forget_uses
-- tenant: row
-- Someone is erased: what they alone were sent goes, also the name of it.
with gone as (
    delete from blob_uses u where u.tenant_id = $1 and u.recipient_id = any ($2::uuid[]) returning u.address
)
delete from blobs b where b.tenant_id = $1 and b.kept_until is not null and b.address = any (array(
    select g.address from gone g where not exists (
        select from blob_uses o
        where o.tenant_id = $1 and o.address = g.address and o.recipient_id <> all ($2::uuid[]))))
