-- name: position
-- tenant: row
-- Where a stream begins: the numbers of the last changes, of the person's own and of those for everyone.
select b.id as inbox_id, b.n as public_n, coalesce(m.n, 0) as own_n,
       coalesce(m.visible_from, inbox_visible_from(r.created_at, coalesce(s.visible_since, 0))) as visible_from
from inboxes b
join recipients r on r.tenant_id = $1 and r.id = $3 and r.erased_at is null
left join inbox_settings s on s.tenant_id = $1
left join inbox_members m on m.tenant_id = $1 and m.inbox_id = b.id and m.recipient_id = r.id
where b.tenant_id = $1 and b.key = $2

-- name: own_changes
-- tenant: row
-- What has changed of a person's own since a number: messages, and marks below which everything is read.
select i.n, i.post_id, null::timestamptz as read_at, not i.public and i.n = i.as_of and i.seen_at is null and i.read_at is null
       and i.archived_at is null and i.snoozed_until is null as is_new
from inbox_items i
where i.tenant_id = $1 and i.inbox_id = $2 and i.recipient_id = $3 and i.n > $4 and i.n > 0
union all
select w.n, w.own_upto, w.at, false from inbox_watermarks w
where w.tenant_id = $1 and w.inbox_id = $2 and w.recipient_id = $3 and w.n > $4
order by n limit $5

-- name: public_changes
-- tenant: row
-- What has changed about posts for everyone since a number.
select n, id from inbox_posts
where tenant_id = $1 and inbox_id = $2 and audience = 'everyone' and n > $3 and n > 0
order by n limit $4

-- name: public_posts
-- tenant: row
-- Posts for everyone as they are before anybody has touched them, for all who are connected at once.
select id, topic, content, expires_at from inbox_posts
where tenant_id = $1 and inbox_id = $2 and id = any ($3::uuid[]) and audience = 'everyone' and redacted_at is null
  and expires_at > $4
