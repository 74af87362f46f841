-- name: ensure_inbox
-- tenant: row
-- The inbox that a notification goes to is made by the first one that goes there.
insert into inboxes (tenant_id, id, key, title, created_at, updated_at)
values ($1, $2, $3, $4, $5, $5)
on conflict (tenant_id, key) do nothing

-- name: inbox
-- tenant: row
-- Where notifications go, and how long messages stay there.
select b.id, b.ttl, s.ttl as tenants_ttl from inboxes b left join inbox_settings s on s.tenant_id = b.tenant_id
where b.tenant_id = $1 and b.key = $2
