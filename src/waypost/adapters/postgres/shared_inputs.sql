-- name: add_shared
-- tenant: row
-- Inputs that many notifications will refer to. The name says what they are, so they may be there already.
insert into shared_inputs (tenant_id, id, sealed, created_at)
select $1, new.id, new.sealed, $4 from unnest($2::uuid[], $3::bytea[]) as new (id, sealed)
order by new.id
on conflict (tenant_id, id) do nothing

-- name: sealed_inputs
-- tenant: row
-- Inputs by the names that notifications call them.
select id, sealed from shared_inputs where tenant_id = $1 and id = any ($2::uuid[])
