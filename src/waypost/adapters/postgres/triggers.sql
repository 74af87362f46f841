-- name: add_trigger
-- tenant: row
-- Nothing is returned where the key is taken.
insert into triggers (tenant_id, id, key, event_type, spec, version, created_at, updated_at)
values ($1, $2, $3, $4, $5::text::jsonb, $6, $7, $7)
on conflict (tenant_id, key) do nothing
returning id

-- name: find_trigger
-- tenant: row
-- One of the tenant's own, or one of the platform's, which every tenant may read.
select tenant_id, id, key, spec::text as spec, version, created_at, updated_at from triggers
where tenant_id = any (array[$1::text, '_platform']) and id = $2

-- name: find_trigger_for_change
-- tenant: row
-- Only the tenant's own, locked until the change is committed.
select tenant_id, id, key, spec::text as spec, version, created_at, updated_at from triggers
where tenant_id = $1 and id = $2 for update

-- name: change_trigger
-- tenant: row
-- All of it but its id.
update triggers set key = $3, event_type = $4, spec = $5::text::jsonb, version = $6, updated_at = $7
where tenant_id = $1 and id = $2

-- name: remove_trigger
-- tenant: row
-- What it has planned ends as skipped when it is due.
delete from triggers where tenant_id = $1 and id = $2

-- name: page_of_triggers
-- tenant: row
-- The map as the tenant sees it, the platform's rows among its own, newest first.
select tenant_id, id, key, spec::text as spec, version, created_at, updated_at from triggers
where tenant_id = any (array[$1::text, '_platform']) and ($2::text is null or event_type = $2)
  and ($3::uuid is null or id < $3)
order by id desc limit $4

-- name: by_key
-- tenant: row
-- Who already has a key.
select tenant_id, id, key, spec::text as spec, version, created_at, updated_at from triggers
where tenant_id = any (array[$1::text, '_platform']) and key = $2

-- name: for_types
-- tenant: row
-- All that events of these types start; which rows stand in for which is decided by key.
select tenant_id, id, key, spec::text as spec, version, created_at, updated_at from triggers
where tenant_id = any (array[$1::text, '_platform']) and event_type = any ($2::text[])

-- name: standing_for
-- tenant: row
-- What each of these triggers means today: itself, or the tenant's own of the same key.
select asked.id as asked, t.tenant_id, t.id, t.key, t.spec::text as spec, t.version, t.created_at, t.updated_at
from triggers asked
join triggers t on t.tenant_id = any (array[$1::text, '_platform']) and t.key = asked.key
where asked.tenant_id = any (array[$1::text, '_platform']) and asked.id = any ($2::uuid[])

-- name: tagged
-- tenant: row
-- Everyone with one of these tags who has neither been erased nor merged into somebody else.
select g.recipient_id, r.external_id from (
    select distinct g.recipient_id from recipient_tags g where g.tenant_id = $1 and g.tag = any ($2::text[])
    order by g.recipient_id limit $3) g
cross join lateral (
    select external_id from recipients
    where tenant_id = $1 and id = g.recipient_id and erased_at is null and merged_into is null offset 0) r

-- name: timezone
-- tenant: row
-- The zone in which the tenant's days are counted.
select settings -> 'preferences' ->> 'timezone' from tenants where id = $1
