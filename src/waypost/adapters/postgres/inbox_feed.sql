-- name: page
-- tenant: row
-- One page of a person's feed: their own copies and the posts for everyone, merged by id, with what they did with each.
-- One row without a message where there is none, no row at all where inbox or person do not exist.
with who as materialized (
    select b.id as inbox_id, r.id as recipient_id, r.data_key,
           coalesce(m.visible_from, inbox_visible_from(r.created_at, coalesce(s.visible_since, 0))) as visible_from
    from inboxes b
    join recipients r on r.tenant_id = $1 and r.id = $3 and r.erased_at is null
    left join inbox_settings s on s.tenant_id = $1
    left join inbox_members m on m.tenant_id = $1 and m.inbox_id = b.id and m.recipient_id = r.id
    where b.tenant_id = $1 and b.key = $2
)
select who.data_key, who.recipient_id, f.id, f.public, f.is_notification, f.topic, coalesce(f.content, p.content) as content,
       f.content is null as is_shared, f.expires_at, f.seen_at, coalesce(f.read_at, w.at) as read_at, f.archived_at,
       f.snoozed_until, f.pinned_at, f.clicked_at
from who
left join lateral (
    (select i.post_id as id, false as public, i.is_notification, i.topic, i.content, i.as_of, i.expires_at, i.seen_at,
            i.read_at, i.archived_at, i.snoozed_until, i.pinned_at, i.clicked_at
     from inbox_items i
     where i.tenant_id = $1 and i.inbox_id = who.inbox_id and i.recipient_id = who.recipient_id and not i.public
       and i.post_id < $4 and i.expires_at > $5 and i.redacted_at is null
       and ($7::text is null or i.topic = $7)
       and (i.archived_at is not null) = $9 and coalesce(i.snoozed_until > $5, false) = $10
       and (not $11 or i.pinned_at is not null)
       and (not $8 or i.read_at is null and not exists (
            select from inbox_watermarks x
            where x.tenant_id = $1 and x.inbox_id = i.inbox_id and x.recipient_id = i.recipient_id and x.n > i.as_of
              and x.own_upto >= i.post_id))
     order by i.post_id desc limit $6)
    union all
    (select q.id, true, false, q.topic, null, coalesce(i.as_of, 0), q.expires_at, i.seen_at, i.read_at, i.archived_at,
            i.snoozed_until, i.pinned_at, i.clicked_at
     from inbox_posts q
     left join inbox_items i on i.tenant_id = $1 and i.inbox_id = q.inbox_id and i.recipient_id = who.recipient_id
        and i.post_id = q.id
     where q.tenant_id = $1 and q.inbox_id = who.inbox_id and q.audience = 'everyone' and q.redacted_at is null
       and q.id < $4 and q.id >= who.visible_from and q.expires_at > $5
       and ($7::text is null or q.topic = $7)
       and (i.archived_at is not null) = $9 and coalesce(i.snoozed_until > $5, false) = $10
       and (not $11 or i.pinned_at is not null)
       and (not $8 or i.read_at is null and not exists (
            select from inbox_watermarks x
            where x.tenant_id = $1 and x.inbox_id = q.inbox_id and x.recipient_id = who.recipient_id
              and x.n > coalesce(i.as_of, 0) and x.public_upto >= q.id))
     order by q.id desc limit $6)
    order by id desc limit $6) f on true
left join inbox_posts p on p.tenant_id = $1 and p.inbox_id = who.inbox_id and p.id = f.id and f.content is null
left join lateral (
    select x.at from inbox_watermarks x
    where x.tenant_id = $1 and x.inbox_id = who.inbox_id and x.recipient_id = who.recipient_id and f.read_at is null
      and x.n > f.as_of and case when f.public then x.public_upto else x.own_upto end >= f.id
    order by x.n limit 1) w on true
order by f.id desc

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
select who.data_key, who.recipient_id, f.id, f.public, f.is_notification, f.topic, coalesce(f.content, p.content) as content,
       f.content is null as is_shared, f.expires_at, f.seen_at, coalesce(f.read_at, w.at) as read_at, f.archived_at,
       f.snoozed_until, f.pinned_at, f.clicked_at
from who
cross join lateral (
    select i.post_id as id, false as public, i.is_notification, i.topic, i.content, i.as_of, i.expires_at, i.seen_at,
           i.read_at, i.archived_at, i.snoozed_until, i.pinned_at, i.clicked_at
    from inbox_items i
    where i.tenant_id = $1 and i.inbox_id = who.inbox_id and i.recipient_id = who.recipient_id and not i.public
      and i.post_id = any ($4::uuid[]) and i.expires_at > $5 and i.redacted_at is null
    union all
    select q.id, true, false, q.topic, null, coalesce(i.as_of, 0), q.expires_at, i.seen_at, i.read_at, i.archived_at,
           i.snoozed_until, i.pinned_at, i.clicked_at
    from inbox_posts q
    left join inbox_items i on i.tenant_id = $1 and i.inbox_id = q.inbox_id and i.recipient_id = who.recipient_id
        and i.post_id = q.id
    where q.tenant_id = $1 and q.inbox_id = who.inbox_id and q.audience = 'everyone' and q.redacted_at is null
      and q.id = any ($4::uuid[]) and q.id >= who.visible_from and q.expires_at > $5) f
left join inbox_posts p on p.tenant_id = $1 and p.inbox_id = who.inbox_id and p.id = f.id and f.content is null
left join lateral (
    select x.at from inbox_watermarks x
    where x.tenant_id = $1 and x.inbox_id = who.inbox_id and x.recipient_id = who.recipient_id and f.read_at is null
      and x.n > f.as_of and case when f.public then x.public_upto else x.own_upto end >= f.id
    order by x.n limit 1) w on true
order by f.id desc

-- name: counts
-- tenant: row
-- What each of these people has, by topic. Their own rows are counted as they are now; posts for everyone come from the
-- counters: whole runs of places, the rest of a run one by one, less what has expired and is not swept away yet.
with who as materialized (
    select b.id as inbox_id, b.n as public_n, r.id as recipient_id, coalesce(m.n, 0) as own_n,
           coalesce(m.visible_from, inbox_visible_from(r.created_at, coalesce(s.visible_since, 0))) as visible_from,
           coalesce(m.read_upto, '00000000-0000-0000-0000-000000000000') as read_upto
    from inboxes b
    join recipients r on r.tenant_id = $1 and r.id = any ($3::uuid[]) and r.erased_at is null
    left join inbox_settings s on s.tenant_id = $1
    left join inbox_members m on m.tenant_id = $1 and m.inbox_id = b.id and m.recipient_id = r.id
    where b.tenant_id = $1 and b.key = $2
),
bounds as materialized (
    select who.*, v.place as seen_from, u.place as unread_from,
           v.place / 512 + (case when v.is_inside then 1 else 0 end) as seen_run,
           u.place / 512 + (case when u.is_inside then 1 else 0 end) as unread_run
    from who
    left join lateral (
        select q.place, exists (
            select from inbox_posts e
            where e.tenant_id = $1 and e.inbox_id = q.inbox_id and e.audience = 'everyone' and e.redacted_at is null
              and e.place >= q.place / 512 * 512 and e.place < q.place) as is_inside
        from inbox_posts q
        where q.tenant_id = $1 and q.inbox_id = who.inbox_id and q.audience = 'everyone' and q.redacted_at is null
          and q.id >= who.visible_from
        order by q.id limit 1) v on true
    left join lateral (
        select q.place, exists (
            select from inbox_posts e
            where e.tenant_id = $1 and e.inbox_id = q.inbox_id and e.audience = 'everyone' and e.redacted_at is null
              and e.place >= q.place / 512 * 512 and e.place < q.place) as is_inside
        from inbox_posts q
        where q.tenant_id = $1 and q.inbox_id = who.inbox_id and q.audience = 'everyone' and q.redacted_at is null
          and q.id >= who.visible_from and q.id > who.read_upto
        order by q.id limit 1) u on true
)
select b.recipient_id, b.own_n, b.public_n, t.topic, coalesce(t.total, 0)::bigint as total, coalesce(t.unread, 0)::bigint as unread
from bounds b
left join lateral (
    select a.topic, sum(a.total) as total, sum(a.unread) as unread
    from (
        select i.topic,
               case when i.public then -(f.is_hidden::integer) else (not f.is_hidden)::integer end as total,
               (not f.is_hidden and not f.is_read)::integer
                   - (case when i.public and i.post_id > b.read_upto then 1 else 0 end) as unread
        from inbox_items i
        cross join lateral (
            select i.archived_at is not null or coalesce(i.snoozed_until > $4, false) as is_hidden,
                   i.read_at is not null or exists (
                       select from inbox_watermarks w
                       where w.tenant_id = $1 and w.inbox_id = b.inbox_id and w.recipient_id = b.recipient_id
                         and w.n > i.as_of and case when i.public then w.public_upto else w.own_upto end >= i.post_id) as is_read) f
        where i.tenant_id = $1 and i.inbox_id = b.inbox_id and i.recipient_id = b.recipient_id and i.expires_at > $4
          and i.redacted_at is null and (not i.public or i.post_id >= b.visible_from and not exists (
              select from inbox_posts q
              where q.tenant_id = $1 and q.inbox_id = b.inbox_id and q.id = i.post_id and q.audience = 'everyone'
                and q.redacted_at is not null))
        union all
        select c.topic, c.live, case when c.run >= b.unread_run then c.live else 0 end
        from inbox_counters c
        where c.tenant_id = $1 and c.inbox_id = b.inbox_id and c.run >= b.seen_run
        union all
        select q.topic, 1, 0 from inbox_posts q
        where q.tenant_id = $1 and q.inbox_id = b.inbox_id and q.audience = 'everyone' and q.redacted_at is null
          and q.place >= b.seen_from and q.place < b.seen_run * 512
        union all
        select q.topic, 0, 1 from inbox_posts q
        where q.tenant_id = $1 and q.inbox_id = b.inbox_id and q.audience = 'everyone' and q.redacted_at is null
          and q.place >= b.unread_from and q.place < b.unread_run * 512
        union all
        select q.topic, -1, case when q.place >= b.unread_from then -1 else 0 end from inbox_posts q
        where q.tenant_id = $1 and q.inbox_id = b.inbox_id and q.audience = 'everyone' and q.redacted_at is null
          and q.expires_at <= $4 and q.place >= b.seen_from) a
    group by a.topic) t on true

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
update inbox_members m set n = $4, read_upto = greatest(m.read_upto, d.public_upto)
from drawn d where m.tenant_id = $1 and m.inbox_id = $2 and m.recipient_id = $3

-- name: unseen_notifications
-- tenant: row
-- Notifications among what a watermark has just covered and none before it: whoever waits for them to be seen is told.
select post_id from inbox_items
where tenant_id = $1 and inbox_id = $2 and recipient_id = $3 and n > $4 and post_id <= $5 and is_notification
  and seen_at is null and read_at is null and redacted_at is null
order by n desc limit 1000

-- name: was_seen
-- tenant: row
-- Whether a notification was seen or read in any inbox of the person it went to.
select coalesce(bool_or(i.seen_at is not null or i.read_at is not null or exists (
    select from inbox_watermarks w
    where w.tenant_id = $1 and w.inbox_id = i.inbox_id and w.recipient_id = i.recipient_id and w.n > i.as_of
      and w.own_upto >= i.post_id)), false)
from inboxes b
join inbox_items i on i.tenant_id = $1 and i.inbox_id = b.id and i.recipient_id = $2 and i.post_id = $3 and not i.public
where b.tenant_id = $1
