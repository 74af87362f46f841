-- name: add_template
-- tenant: row
-- A new template; nothing is returned where the tenant has one of this key and channel.
insert into templates (tenant_id, id, key, channel, category, name, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (tenant_id, key, channel) do nothing
returning id

-- name: find_template
-- tenant: row
-- One template by the names that people know it by.
select id, key, channel, category, name, created_at, updated_at
from templates where tenant_id = $1 and key = $2 and channel = $3

-- name: find_template_for_change
-- tenant: row
-- The same, locked: drafts are numbered and published one after the other.
select id, key, channel, category, name, created_at, updated_at
from templates where tenant_id = $1 and key = $2 and channel = $3 for update

-- name: page_of_templates
-- tenant: row
-- The tenant's templates, newest first.
select id, key, channel, category, name, created_at, updated_at
from templates where tenant_id = $1 and ($2::uuid is null or id < $2) order by id desc limit $3

-- name: add_draft
-- tenant: row
-- A draft takes the next number of its template, whose row the caller has locked.
insert into template_versions (tenant_id, id, template_id, number, state, content, content_hash, variables_schema, created_at)
select $1, $2, $3, coalesce(max(number), 0) + 1, 'draft', $4, $5, $6::jsonb, $7
from template_versions where tenant_id = $1 and template_id = $3
returning number

-- name: touch_template
-- tenant: row
-- A new draft or a publication changes the template.
update templates set updated_at = $3 where tenant_id = $1 and id = $2

-- name: find_version
-- tenant: row
-- One version of a template by its number.
select id, template_id, number, state, content, content_hash, variables_schema, created_at, published_at
from template_versions where tenant_id = $1 and template_id = $2 and number = $3

-- name: find_active_version
-- tenant: row
-- The one version of a template that is sent now.
select id, template_id, number, state, content, content_hash, variables_schema, created_at, published_at
from template_versions where tenant_id = $1 and template_id = $2 and state = 'active'

-- name: page_of_versions
-- tenant: row
-- A template's versions, newest first.
select id, template_id, number, state, content, content_hash, variables_schema, created_at, published_at
from template_versions
where tenant_id = $1 and template_id = $2 and ($3::integer is null or number < $3)
order by number desc limit $4

-- name: archive_active
-- tenant: row
-- What was sent until now makes room; first, because two active versions are never allowed to stand together.
update template_versions set state = 'archived' where tenant_id = $1 and template_id = $2 and state = 'active'

-- name: activate
-- tenant: row
-- The draft becomes what is sent.
update template_versions set state = 'active', published_at = $4
where tenant_id = $1 and template_id = $2 and id = $3 and state = 'draft'

-- name: active_by_key
-- tenant: row
-- Resolving a call that names a template: the template and its active version in one trip.
select t.id as t_id, t.key, t.channel, t.category, t.name, t.created_at as t_created_at, t.updated_at,
       v.id, v.template_id, v.number, v.state, v.content, v.content_hash, v.variables_schema, v.created_at, v.published_at
from templates t
join template_versions v on v.tenant_id = t.tenant_id and v.template_id = t.id and v.state = 'active'
where t.tenant_id = $1 and t.key = $2 and t.channel = $3

-- name: load_versions
-- tenant: row
-- The contents of a batch about to be composed.
select id, template_id, number, state, content, content_hash, variables_schema, created_at, published_at
from template_versions where tenant_id = $1 and id = any($2::uuid[])

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
