-- name: ensure_inboxes
-- tenant: row
-- An inbox that notifications go to is made by the first one that goes there; the default one always, others as long as
-- the tenant has few.
insert into inboxes (tenant_id, id, key, title, created_at, updated_at)
select $1, u.id, u.key, u.title, $5, $5
from unnest($2::uuid[], $3::text[], $4::text[]) with ordinality as u (id, key, title, place)
where u.key = $6 or (select count(*) from inboxes b where b.tenant_id = $1) + u.place <= $7
order by u.key
on conflict (tenant_id, key) do nothing

-- name: inboxes
-- tenant: row
-- Where notifications go, and how long messages stay there; in the order in which their readers are held.
select b.id, b.key, b.ttl, s.ttl as tenants_ttl from inboxes b left join inbox_settings s on s.tenant_id = b.tenant_id
where b.tenant_id = $1 and b.key = any ($2::text[]) order by b.id
