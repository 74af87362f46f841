-- name: add_template
-- tenant: row
-- A new template; nothing is returned where the tenant has one of this key and channel.
insert into templates (tenant_id, id, key, channel, kind, category, topic, default_locale, name, revision, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
on conflict (tenant_id, key, channel) do nothing
returning id

-- name: find_template
-- tenant: row
-- One template by the names that people know it by: the tenant's own, else what the platform has published.
select tenant_id, id, key, channel, kind, category, topic, default_locale, name, revision, created_at, updated_at, published_at, archived_at
from templates where tenant_id = any (array[$1::text, '_platform']) and key = $2 and channel = $3
order by tenant_id = $1 desc limit 1

-- name: lock_template
-- tenant: row
-- The tenant's own, locked: drafts are numbered and published one after the other.
select tenant_id, id, key, channel, kind, category, topic, default_locale, name, revision, created_at, updated_at, published_at, archived_at
from templates where tenant_id = $1 and key = $2 and channel = $3 for update

-- name: page_of_templates
-- tenant: row
-- Templates of one owner (the tenant or the platform) that are in use, newest first.
select tenant_id, id, key, channel, kind, category, topic, default_locale, name, revision, created_at, updated_at, published_at, archived_at
from templates
where tenant_id = $1 and archived_at is null and ($2::uuid is null or id < $2) order by id desc limit $3

-- name: change_template
-- tenant: row
-- What may change about a template; its revision says that something did.
update templates set category = $3, topic = $4, default_locale = $5, name = $6, revision = $7, updated_at = $8,
                     published_at = $9, archived_at = $10
where tenant_id = $1 and id = $2

-- name: numbers_of_versions
-- tenant: row
-- Every version's number and whether it was ever published: a new one is judged by them.
select semver, published_at is not null as published from template_versions where tenant_id = $1 and template_id = $2

-- name: add_draft
-- tenant: row
-- A draft takes the next place in the order of its template, whose row the caller has locked.
insert into template_versions (tenant_id, id, template_id, number, semver, state, source, profile, locales, fallback_chain,
                               content, content_hash, variables_schema, provenance, created_by, created_at)
select $1, $2, $3, coalesce(max(number), 0) + 1, $4, 'draft', $5, $6, $7, $8, $9, $10, $11::jsonb, $12::jsonb, $13, $14
from template_versions where tenant_id = $1 and template_id = $3
returning number

-- name: find_version
-- tenant: row
-- One version of a template by its number.
select tenant_id, id, template_id, number, semver, state, source, profile, locales, fallback_chain, content, content_hash,
       variables_schema, provenance, created_by, approved_by, approved_at, created_at, published_at
from template_versions where tenant_id = $1 and template_id = $2 and semver = $3

-- name: find_active_version
-- tenant: row
-- The one version of a template that is sent now.
select tenant_id, id, template_id, number, semver, state, source, profile, locales, fallback_chain, content, content_hash,
       variables_schema, provenance, created_by, approved_by, approved_at, created_at, published_at
from template_versions where tenant_id = $1 and template_id = $2 and state = 'active'

-- name: page_of_versions
-- tenant: row
-- A template's versions, newest first.
select tenant_id, id, template_id, number, semver, state, source, profile, locales, fallback_chain, content, content_hash,
       variables_schema, provenance, created_by, approved_by, approved_at, created_at, published_at
from template_versions
where tenant_id = $1 and template_id = $2 and ($3::integer is null or number < $3)
order by number desc limit $4

-- name: approve_version
-- tenant: row
-- A person has read what a model wrote; the first approval stays.
update template_versions set approved_by = $3, approved_at = $4
where tenant_id = $1 and id = $2 and approved_at is null

-- name: add_contents
-- tenant: row
-- The compiled content of each locale.
insert into template_contents (tenant_id, version_id, locale, content)
select $1, $2, c.locale, c.content from unnest($3::text[], $4::bytea[]) as c (locale, content)

-- name: archive_active
-- tenant: row
-- What was sent until now makes room; first, because two active versions are never allowed to stand together.
update template_versions set state = 'archived' where tenant_id = $1 and template_id = $2 and state = 'active'

-- name: activate
-- tenant: row
-- The draft, or what was archived, becomes what is sent.
update template_versions set state = 'active', published_at = $4 where tenant_id = $1 and template_id = $2 and id = $3

-- name: archive_version
-- tenant: row
-- A draft is given up, or what was sent is sent no longer.
update template_versions set state = 'archived' where tenant_id = $1 and template_id = $2 and id = $3

-- name: active_fragments
-- tenant: row
-- The layouts and partials that sources of a channel may refer to by these names: only published ones, and of each name
-- the tenant's own before the platform's.
select distinct on (t.key)
       t.id as t_id, t.key, t.channel, t.kind, t.category, t.topic, t.default_locale, t.name, t.revision,
       t.created_at as t_created_at, t.updated_at, t.published_at as t_published_at, t.archived_at,
       v.tenant_id, v.id, v.template_id, v.number, v.semver, v.state, v.source, v.profile, v.locales, v.fallback_chain,
       v.content, v.content_hash, v.variables_schema, v.provenance, v.created_by, v.approved_by, v.approved_at,
       v.created_at, v.published_at
from templates t
join template_versions v on v.tenant_id = t.tenant_id and v.template_id = t.id and v.state = 'active'
where t.tenant_id = any (array[$1::text, '_platform']) and t.channel = $2 and t.key = any ($3::text[])
  and t.kind <> 'message'
order by t.key, t.tenant_id = $1 desc
