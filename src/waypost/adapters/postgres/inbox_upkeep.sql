-- name: tenants_to_sweep
-- tenant: all names tenants that have something to do, and nothing of theirs
-- Where something has expired or is to wake.
select tenant_id from inbox_tenants_due($1, $2)

-- name: sweep_items
-- tenant: row
-- Copies and receipts whose time is over. Nobody sees or counts them any more, so nobody is held.
delete from inbox_items where (tenant_id, inbox_id, recipient_id, post_id) in (
    select tenant_id, inbox_id, recipient_id, post_id from inbox_items
    where tenant_id = $1 and expires_at <= $2 and expires_at > '-infinity'
    order by expires_at limit $3 for update skip locked)
returning inbox_id, recipient_id

-- name: inboxes_to_sweep
-- tenant: row
-- Inboxes with posts whose time is over, in the order in which they are held.
select distinct inbox_id from (
    select inbox_id from inbox_posts where tenant_id = $1 and expires_at <= $2 and expires_at > '-infinity' order by expires_at limit $3) due
order by inbox_id

-- name: sweep_posts
-- tenant: row
-- Posts whose time is over, while their inbox is held: the counters lose them in the same transaction.
with gone as (
    select tenant_id, inbox_id, id from inbox_posts
    where tenant_id = $1 and inbox_id = $2 and expires_at <= $3 and expires_at > '-infinity' order by expires_at limit $4)
delete from inbox_posts p using gone g
where p.tenant_id = g.tenant_id and p.inbox_id = g.inbox_id and p.id = g.id
returning p.audience = 'everyone' and p.redacted_at is null as is_counted, p.place, p.topic

-- name: sleepers
-- tenant: row
-- Messages whose snooze is over, by person, in the order in which they are held.
select inbox_id, array_agg(distinct recipient_id order by recipient_id) as recipients from (
    select inbox_id, recipient_id from inbox_items
    where tenant_id = $1 and snoozed_until <= $2 order by snoozed_until limit $3) due
group by inbox_id order by inbox_id

-- name: wake
-- tenant: row
-- They come back into the feed, each with its owner's next number, so that streams can tell.
update inbox_items i set snoozed_until = null, n = u.n
from unnest($4::uuid[], $5::bigint[]) as u (recipient_id, n)
where i.tenant_id = $1 and i.inbox_id = $2 and i.recipient_id = u.recipient_id and i.snoozed_until <= $3

-- name: sweep_watermarks
-- tenant: row
-- Marks that are older than any message can be.
delete from inbox_watermarks where (tenant_id, inbox_id, recipient_id, n) in (
    select tenant_id, inbox_id, recipient_id, n from inbox_watermarks where tenant_id = $1 and at <= $2 limit $3)

-- name: verify
-- tenant: row
-- Counters, by run and in sum, against the posts themselves: what differs, which is nothing.
select coalesce(c.inbox_id, p.inbox_id) as inbox_id, coalesce(c.run, p.run) as run, coalesce(c.topic, p.topic) as topic,
       coalesce(c.live, 0) as counted, coalesce(p.live, 0) as there
from (select inbox_id, run, topic, live from inbox_counters where tenant_id = $1) c
full join (
    select q.inbox_id, r.run, q.topic, count(*) as live from inbox_posts q
    join inboxes b on b.tenant_id = $1 and b.id = q.inbox_id
    cross join lateral (values (q.place / 512), (-1)) as r (run)
    where q.tenant_id = $1 and q.audience = 'everyone' and q.redacted_at is null and (r.run >= 0 or b.first_post is not null)
    group by 1, 2, 3) p
on p.inbox_id = c.inbox_id and p.run = c.run and p.topic = c.topic
where coalesce(c.live, 0) <> coalesce(p.live, 0)
order by 1, 2, 3

-- name: recount
-- tenant: row
-- Every member's counts the plain way: each message looked at on its own.
select b.key, m.recipient_id, f.topic, count(*) filter (where not f.is_hidden) as total,
       count(*) filter (where not f.is_hidden and not f.is_read) as unread
from inbox_members m
join inboxes b on b.tenant_id = m.tenant_id and b.id = m.inbox_id
cross join lateral (
    select i.topic, i.archived_at is not null or coalesce(i.snoozed_until > $2, false) as is_hidden,
           i.read_at is not null or exists (
               select from inbox_watermarks w
               where w.tenant_id = $1 and w.inbox_id = m.inbox_id and w.recipient_id = m.recipient_id and w.n > i.as_of
                 and w.own_upto >= i.post_id) as is_read
    from inbox_items i
    where i.tenant_id = $1 and i.inbox_id = m.inbox_id and i.recipient_id = m.recipient_id and not i.public
      and i.expires_at > $2 and i.redacted_at is null
    union all
    select q.topic, coalesce(i.archived_at is not null or i.snoozed_until > $2, false),
           i.read_at is not null or exists (
               select from inbox_watermarks w
               where w.tenant_id = $1 and w.inbox_id = m.inbox_id and w.recipient_id = m.recipient_id
                 and w.n > coalesce(i.as_of, 0) and w.public_upto >= q.id)
    from inbox_posts q
    left join inbox_items i on i.tenant_id = $1 and i.inbox_id = m.inbox_id and i.recipient_id = m.recipient_id
        and i.post_id = q.id
    where q.tenant_id = $1 and q.inbox_id = m.inbox_id and q.audience = 'everyone' and q.redacted_at is null
      and q.expires_at > $2 and q.id >= m.visible_from) f
where m.tenant_id = $1 and (m.inbox_id, m.recipient_id) > ($3, $4) and (m.inbox_id, m.recipient_id) <= ($5, $6)
group by b.key, m.recipient_id, f.topic
order by b.key, m.recipient_id, f.topic

-- name: members
-- tenant: row
-- People in inboxes, some at a time.
select m.inbox_id, b.key, m.recipient_id from inbox_members m
join inboxes b on b.tenant_id = m.tenant_id and b.id = m.inbox_id
where m.tenant_id = $1 and (m.inbox_id, m.recipient_id) > ($2, $3)
order by m.inbox_id, m.recipient_id limit $4
