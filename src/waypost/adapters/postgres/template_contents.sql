-- name: active_by_key
-- tenant: row
-- Resolving a call that names a template: the template and what is sent now, the tenant's own before the platform's,
-- and what contents may say of the tenant.
select t.tenant_id, t.id, t.key, t.channel, t.kind, t.category, t.topic, t.default_locale, t.name, t.revision, t.created_at,
       t.updated_at, t.published_at, t.archived_at, v.id as version_id, v.locales, v.fallback_chain, v.variables_schema,
       h.name as house_name, h.settings #>> '{preferences,default_locale}' as house_locale
from templates t
join template_versions v on v.tenant_id = t.tenant_id and v.template_id = t.id and v.state = 'active'
join tenants h on h.id = $1
where t.tenant_id = any (array[$1::text, '_platform']) and t.key = $2 and t.channel = $3 and t.kind = 'message'
order by t.tenant_id = $1 desc limit 1

-- name: load_contents
-- tenant: row
-- The contents of a batch about to be composed: what a published version says in a locale, or inline content.
select v.tenant_id, v.id as version_id, coalesce(c.locale, '') as locale,
       case when v.state = 'inline' then v.content else c.content end as content
from unnest($2::uuid[], $3::text[]) as w (id, locale)
join template_versions v on v.tenant_id = any (array[$1::text, '_platform']) and v.id = w.id
left join template_contents c on c.tenant_id = v.tenant_id and c.version_id = v.id and c.locale = w.locale
where v.state = 'inline' or c.content is not null

-- name: schemas
-- tenant: row
-- What the variables of these versions must fit; it also says which of them are never shown again.
select id, variables_schema from template_versions
where tenant_id = any (array[$1::text, '_platform']) and id = any ($2::uuid[])

-- name: find_inline
-- tenant: row
-- The inline content of a call, if the same content was sent before.
select id from template_versions where tenant_id = $1 and content_hash = $2 and template_id is null

-- name: add_inline
-- tenant: row
-- Keeps the inline content of a call; nothing is returned where another call was first.
insert into template_versions (tenant_id, id, state, content, content_hash, created_at)
values ($1, $2, 'inline', $3, $4, $5)
on conflict (tenant_id, content_hash) where template_id is null do nothing
returning id

-- name: house
-- tenant: row
-- What contents may say of the tenant, and the locale of people of whom nothing better is known.
select name, settings #>> '{preferences,default_locale}' as locale from tenants where id = $1
