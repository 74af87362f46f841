-- name: put_inbox
-- tenant: row
-- Made, or changed where something of it is new; an unchanged one keeps its version.
insert into inboxes as b (tenant_id, id, key, title, description, ttl, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6::jsonb, $7, $7)
on conflict (tenant_id, key) do update
set title = excluded.title, description = excluded.description, ttl = excluded.ttl, updated_at = excluded.updated_at,
    version = b.version + (case when (b.title, b.description, b.ttl) = (excluded.title, excluded.description, excluded.ttl)
                           then 0 else 1 end)
returning id, key, title, description, ttl, version, created_at, updated_at

-- name: inboxes
-- tenant: row
-- All of them: a tenant has few.
select id, key, title, description, ttl, version, created_at, updated_at from inboxes
where tenant_id = $1 and key > $2 order by key limit $3

-- name: inbox
-- tenant: row
-- One, by its name.
select id, key, title, description, ttl, version, created_at, updated_at from inboxes where tenant_id = $1 and key = $2

-- name: figures
-- tenant: row
-- How much stands in inboxes: posts, and people's own copies, of which only so many are looked at.
select b.key, (select count(*) from inbox_posts p
               where p.tenant_id = $1 and p.inbox_id = b.id and p.redacted_at is null and p.expires_at > $3) as posts,
       c.copies, c.unread
from inboxes b
cross join lateral (
    select count(*) as copies, count(*) filter (where i.read_at is null and not exists (
               select from inbox_watermarks w
               where w.tenant_id = $1 and w.inbox_id = b.id and w.recipient_id = i.recipient_id and w.n > i.as_of
                 and w.own_upto >= i.post_id)) as unread
    from (select x.recipient_id, x.post_id, x.as_of, x.read_at from inbox_items x
          where x.tenant_id = $1 and x.inbox_id = b.id and not x.public and x.expires_at > $3 and x.redacted_at is null
            and x.archived_at is null and (x.snoozed_until is null or x.snoozed_until <= $3)
          limit $4) i) c
where b.tenant_id = $1 and b.key = any ($2::text[])

-- name: has_topic
-- tenant: row
-- Whether the tenant has a topic of this key.
select exists (select from topics where tenant_id = $1 and key = $2)

-- name: settings
-- tenant: row
-- What the tenant has chosen for all its inboxes.
select ttl, visible_since, allowed_origins, identity_secret from inbox_settings where tenant_id = $1

-- name: put_settings
-- tenant: row
-- Everything at once; the secret stays as it is.
insert into inbox_settings (tenant_id, ttl, visible_since, allowed_origins, updated_at) values ($1, $2, $3, $4, $5)
on conflict (tenant_id) do update
set ttl = excluded.ttl, visible_since = excluded.visible_since, allowed_origins = excluded.allowed_origins,
    updated_at = excluded.updated_at

-- name: put_identity_secret
-- tenant: row
-- The one before stops proving anything; null: nothing proves anything.
insert into inbox_settings (tenant_id, identity_secret, updated_at) values ($1, $2, $3)
on conflict (tenant_id) do update set identity_secret = excluded.identity_secret, updated_at = excluded.updated_at

-- name: visitor
-- tenant: row
-- Whoever a token speaks for, and from when on tokens for them are good. The merged are who they became.
select r.id, r.external_id,
       (select max(e.not_before) from inbox_token_ends e where e.tenant_id = $1 and e.recipient_id in (n.id, r.id)) as not_before
from recipients n
cross join lateral (
    select b.id, b.external_id from recipients b
    where b.tenant_id = $1 and b.id = case when n.merged_into is null then n.id else n.merged_into end and b.erased_at is null limit 1) r
where n.tenant_id = $1 and n.id = $2

-- name: end_tokens
-- tenant: row
-- Every token issued before this moment is void.
insert into inbox_token_ends as e (tenant_id, recipient_id, not_before) values ($1, $2, $3)
on conflict (tenant_id, recipient_id) do update set not_before = greatest(e.not_before, excluded.not_before)
