-- name: page
-- tenant: row
-- One page of a person's feed, after a row that is the reader.
select * from inbox_page($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)

-- name: messages
-- tenant: row
-- The same for messages that are named, whether archived, snoozed or neither; what is gone or foreign is left out.
with who as materialized (
    select b.id as inbox_id, r.id as recipient_id, r.data_key,
           coalesce(m.visible_from, inbox_visible_from(r.created_at, coalesce(s.visible_since, 0))) as visible_from
    from inboxes b
    join recipients r on r.tenant_id = $1 and r.id = $3 and r.erased_at is null
    left join inbox_settings s on s.tenant_id = $1
    left join inbox_members m on m.tenant_id = $1 and m.inbox_id = b.id and m.recipient_id = r.id
    where b.tenant_id = $1 and b.key = $2
)
select f.id, f.public, f.is_notification, f.topic, f.content, f.is_shared, f.expires_at, f.seen_at,
       coalesce(f.read_at, w.at) as read_at, f.archived_at, f.snoozed_until, f.pinned_at, f.clicked_at, who.data_key
from who
cross join lateral (
    select i.post_id as id, false as public, i.is_notification, i.topic, i.content is null as is_shared,
           case when i.content is null then (
               select q.content from inbox_posts q where q.tenant_id = $1 and q.inbox_id = i.inbox_id and q.id = i.post_id)
           else i.content end as content, i.as_of, i.expires_at, i.seen_at, i.read_at, i.archived_at, i.snoozed_until,
           i.pinned_at, i.clicked_at
    from inbox_items i
    where i.tenant_id = $1 and i.inbox_id = who.inbox_id and i.recipient_id = who.recipient_id and not i.public
      and i.post_id = any ($4::uuid[]) and i.expires_at > $5 and i.redacted_at is null
    union all
    select q.id, true, false, q.topic, true, q.content, coalesce(i.as_of, 0), q.expires_at, i.seen_at, i.read_at, i.archived_at,
           i.snoozed_until, i.pinned_at, i.clicked_at
    from inbox_posts q
    left join inbox_items i on i.tenant_id = $1 and i.inbox_id = q.inbox_id and i.recipient_id = who.recipient_id
        and i.post_id = q.id
    where q.tenant_id = $1 and q.inbox_id = who.inbox_id and q.audience = 'everyone' and q.redacted_at is null
      and q.id = any ($4::uuid[]) and q.id >= who.visible_from and q.expires_at > $5) f
left join lateral (
    select x.at from inbox_watermarks x
    where x.tenant_id = $1 and x.inbox_id = who.inbox_id and x.recipient_id = who.recipient_id and f.read_at is null
      and x.n > f.as_of and case when f.public then x.public_upto else x.own_upto end >= f.id
    order by x.n limit 1) w on true
order by f.id desc

-- name: counts
-- tenant: row
-- How much each of these people has: a row that names them, and after it what is to be added up by topic.
select * from inbox_counts($1, $2, $3, $4)

-- name: hold_member
-- tenant: row
-- Whoever changes something of a person's feed holds their row; a newcomer gets one first. The next number is free.
insert into inbox_members as m (tenant_id, inbox_id, recipient_id, n, visible_from)
select $1, b.id, r.id, 0, inbox_visible_from(r.created_at, coalesce(s.visible_since, 0))
from inboxes b
join recipients r on r.tenant_id = $1 and r.id = $3 and r.erased_at is null
left join inbox_settings s on s.tenant_id = $1
where b.tenant_id = $1 and b.key = $2
on conflict (tenant_id, inbox_id, recipient_id) do update set n = m.n
returning inbox_id, n + 1 as n

-- name: write_facts
-- tenant: row
-- What a person has done with messages: on their own copies, or on receipts for posts for everyone.
with numbered as (
    update inbox_members set n = $4 where tenant_id = $1 and inbox_id = $2 and recipient_id = $3)
insert into inbox_items (tenant_id, inbox_id, recipient_id, post_id, public, topic, n, as_of, expires_at, seen_at, read_at,
                         archived_at, snoozed_until, pinned_at, clicked_at)
select $1, $2, $3, u.post_id, u.public, u.topic, $4, $4, u.expires_at, u.seen_at, u.read_at, u.archived_at, u.snoozed_until,
       u.pinned_at, u.clicked_at
from unnest($5::uuid[], $6::boolean[], $7::text[], $8::timestamptz[], $9::timestamptz[], $10::timestamptz[],
            $11::timestamptz[], $12::timestamptz[], $13::timestamptz[], $14::timestamptz[])
    as u (post_id, public, topic, expires_at, seen_at, read_at, archived_at, snoozed_until, pinned_at, clicked_at)
on conflict (tenant_id, inbox_id, recipient_id, post_id) do update
set n = excluded.n, as_of = excluded.as_of, seen_at = excluded.seen_at, read_at = excluded.read_at,
    archived_at = excluded.archived_at, snoozed_until = excluded.snoozed_until, pinned_at = excluded.pinned_at,
    clicked_at = excluded.clicked_at

-- name: last_watermark
-- tenant: row
-- How far this person has read everything, and whether something has come since.
select w.n, w.at, w.own_upto, w.public_upto, b.last_post from inboxes b
left join lateral (
    select x.n, x.at, x.own_upto, x.public_upto from inbox_watermarks x
    where x.tenant_id = $1 and x.inbox_id = b.id and x.recipient_id = $3 order by x.n desc limit 1) w on true
where b.tenant_id = $1 and b.id = $2

-- name: add_watermark
-- tenant: row
-- Everything up to here that is there now. Posts for everyone that commit later have greater ids than the last one now.
with drawn as (
    insert into inbox_watermarks (tenant_id, inbox_id, recipient_id, n, at, own_upto, public_upto)
    values ($1, $2, $3, $4, $5, $6, $7)
    returning public_upto)
update inbox_members m set n = $4, marked = $4, read_upto = greatest(m.read_upto, d.public_upto)
from drawn d where m.tenant_id = $1 and m.inbox_id = $2 and m.recipient_id = $3

-- name: unseen_notifications
-- tenant: row
-- Notifications among what a watermark has just covered and none before it: whoever waits for them to be seen is told.
select post_id from inbox_items
where tenant_id = $1 and inbox_id = $2 and recipient_id = $3 and n > $4 and n > 0 and post_id <= $5 and is_notification
  and seen_at is null and read_at is null and redacted_at is null
order by n desc limit 1000

-- name: was_seen
-- tenant: row
-- Whether a notification was seen or read in any inbox of the person it went to, or of whom they became.
select coalesce(bool_or(i.seen_at is not null or i.read_at is not null or exists (
    select from inbox_watermarks w
    where w.tenant_id = $1 and w.inbox_id = i.inbox_id and w.recipient_id = i.recipient_id and w.n > i.as_of
      and w.own_upto >= i.post_id)), false)
from inboxes b
join inbox_items i on i.tenant_id = $1 and i.inbox_id = b.id and i.post_id = $3 and not i.public
    and i.recipient_id = any (array(
        select case when r.merged_into is null then r.id else r.merged_into end from recipients r
        where r.tenant_id = $1 and r.id = $2))
where b.tenant_id = $1

-- name: memberships
-- tenant: row
-- The inboxes in which a person has anything, in the order in which they are held.
select inbox_id from inbox_members where tenant_id = $1 and recipient_id = $2 and n >= 0 order by inbox_id for update

-- name: forget_items
-- tenant: row
-- All of a person's messages and receipts in one inbox.
delete from inbox_items where tenant_id = $1 and inbox_id = $2 and recipient_id = $3

-- name: forget_member
-- tenant: row
-- Their place in the inbox, and with it how far they had read.
delete from inbox_members where tenant_id = $1 and inbox_id = $2 and recipient_id = $3

-- name: forget_token_ends
-- tenant: row
-- Nothing speaks for them any more.
delete from inbox_token_ends where tenant_id = $1 and recipient_id = $2
