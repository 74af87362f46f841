-- name: hold_inbox
-- tenant: row
-- Whoever posts for everyone holds the inbox until the end, so places, numbers and ids follow commits.
select n, place, last_post, first_post is null as lacks_sums from inboxes
where tenant_id = $1 and id = $2 for no key update

-- name: advance_inbox
-- tenant: row
-- One post for everyone further; before the first there is none.
update inboxes set n = $3, place = $4, last_post = $5,
    first_post = case when first_post = '00000000-0000-0000-0000-000000000000' then $5 else first_post end
where tenant_id = $1 and id = $2

-- name: next_number
-- tenant: row
-- The number of a change to posts for everyone; whoever has it holds the inbox until the end of the transaction.
update inboxes set n = n + 1 where tenant_id = $1 and id = $2 returning n, first_post is null as lacks_sums

-- name: add_post
-- tenant: row
-- A post, once, however many it is for.
insert into inbox_posts (tenant_id, inbox_id, id, audience, label, copies, topic, content, place, n, expires_at, created_by)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)

-- name: count_post
-- tenant: row
-- One more that stands, in its run of places and in the sum of all.
insert into inbox_counters as c (tenant_id, inbox_id, run, topic, live) values ($1, $2, $3 / 512, $4, 1), ($1, $2, -1, $4, 1)
on conflict (tenant_id, inbox_id, run, topic) do update set live = c.live + 1

-- name: add_sums
-- tenant: row
-- Of all runs, for an inbox from before there were sums.
insert into inbox_counters (tenant_id, inbox_id, run, topic, live)
select $1, $2, -1, topic, sum(live) from inbox_counters where tenant_id = $1 and inbox_id = $2 and run >= 0 group by topic

-- name: uncount_posts
-- tenant: row
-- As many fewer, in each run and in the sum of all: the inbox is held by whoever counts.
update inbox_counters c set live = c.live - u.gone
from (select r.run, t.topic, count(*)::integer as gone
      from unnest($3::bigint[], $4::text[]) as t (place, topic)
      cross join lateral (values (t.place / 512), (-1)) as r (run) group by 1, 2) u
where c.tenant_id = $1 and c.inbox_id = $2 and c.run = u.run and c.topic = u.topic

-- name: drop_empty_runs
-- tenant: row
-- Runs of which nothing stands any more.
delete from inbox_counters where tenant_id = $1 and inbox_id = $2 and live = 0

-- name: find_first_post
-- tenant: row
-- Of those for everyone that stand; where none does, the next has a greater id than the last.
update inboxes b set first_post = coalesce((
    select q.id from inbox_posts q
    where q.tenant_id = $1 and q.inbox_id = $2 and q.audience = 'everyone' and q.redacted_at is null order by q.id limit 1),
    b.last_post)
where b.tenant_id = $1 and b.id = $2

-- name: take_numbers
-- tenant: row
-- Everyone who gets a copy is held, in order, and gives the next number; newcomers get their place first.
insert into inbox_members as m (tenant_id, inbox_id, recipient_id, n, visible_from)
select $1, $2, r.id, 1, inbox_visible_from(r.created_at, coalesce(s.visible_since, 0))
from recipients r left join inbox_settings s on s.tenant_id = $1
where r.tenant_id = $1 and r.id = any ($3::uuid[]) and r.erased_at is null
order by r.id
on conflict (tenant_id, inbox_id, recipient_id) do update set n = m.n + 1
returning recipient_id, n

-- name: add_copies
-- tenant: row
-- A copy each; repeated after a crash, it changes nothing.
insert into inbox_items (tenant_id, inbox_id, recipient_id, post_id, public, is_notification, topic, content, n, as_of,
                         expires_at)
select $1, $2, u.recipient_id, u.post_id, false, $9, u.topic, u.content, u.n, u.n, u.expires_at
from unnest($3::uuid[], $4::uuid[], $5::text[], $6::bytea[], $7::bigint[], $8::timestamptz[])
    as u (recipient_id, post_id, topic, content, n, expires_at)
on conflict (tenant_id, inbox_id, recipient_id, post_id) do nothing

-- name: audience_of
-- tenant: row
-- What must be held before the post itself.
select audience from inbox_posts where tenant_id = $1 and inbox_id = $2 and id = $3

-- name: lock_post
-- tenant: row
-- Held against another redaction of the same.
select audience, topic, place, redacted_at, expires_at from inbox_posts
where tenant_id = $1 and inbox_id = $2 and id = $3 for update

-- name: redact_post
-- tenant: row
-- Its words are gone at once; the empty row stays until its time is over, so that streams can tell.
update inbox_posts set redacted_at = $4, content = null, label = null, n = $5
where tenant_id = $1 and inbox_id = $2 and id = $3

-- name: holders
-- tenant: row
-- Who has a copy, a bounded number at a time, in the order in which they are held.
select recipient_id from inbox_items
where tenant_id = $1 and inbox_id = $2 and post_id = $3 and post_id > '00000000-0000-0000-0000-000000000000' and not public and redacted_at is null
  and recipient_id > $4
order by recipient_id limit $5

-- name: redact_copies
-- tenant: row
-- The copies of people who are held, each with its owner's next number.
update inbox_items i set redacted_at = $4, content = null, n = u.n
from unnest($5::uuid[], $6::bigint[]) as u (recipient_id, n)
where i.tenant_id = $1 and i.inbox_id = $2 and i.recipient_id = u.recipient_id and i.post_id = $3 and not i.public

-- name: posts
-- tenant: row
-- What was posted, newest first; one copy stands for all where each has its own.
select p.id, p.audience, p.label, p.copies, p.topic, p.content, p.expires_at, p.redacted_at,
       c.content as copy, c.recipient_id as holder, r.data_key
from inbox_posts p
left join lateral (
    select i.content, i.recipient_id from inbox_items i
    where p.audience = 'users' and i.tenant_id = p.tenant_id and i.inbox_id = p.inbox_id and i.post_id = p.id
      and i.post_id > '00000000-0000-0000-0000-000000000000' and i.content is not null
    limit 1) c on true
left join recipients r on r.tenant_id = p.tenant_id and r.id = c.recipient_id
where p.tenant_id = $1 and p.inbox_id = $2 and p.id < $3 and p.id >= $4
order by p.id desc limit $5

-- name: reach
-- tenant: row
-- How many have these posts, have seen them, have read them; of one for everyone, how many a mark has read it for.
select p.id, p.audience, coalesce(i.copies, 0) as copies, coalesce(i.seen, 0) as seen, coalesce(i.read, 0) as read,
       case when p.audience = 'everyone' then
           (select count(*) from inbox_members m
            where m.tenant_id = p.tenant_id and m.inbox_id = p.inbox_id and m.read_upto >= p.id and m.visible_from <= p.id
              and not exists (select from inbox_items x where x.tenant_id = m.tenant_id and x.inbox_id = m.inbox_id
                              and x.recipient_id = m.recipient_id and x.post_id = p.id))
       else 0 end as read_by_watermark
from inbox_posts p
left join lateral (
    select count(*) as copies, count(*) filter (where f.read or x.seen_at is not null) as seen, count(*) filter (where f.read) as read
    from inbox_items x
    cross join lateral (select x.read_at is not null or exists (
        select from inbox_watermarks w
        where w.tenant_id = x.tenant_id and w.inbox_id = x.inbox_id and w.recipient_id = x.recipient_id and w.n > x.as_of
          and case when x.public then w.public_upto else w.own_upto end >= x.post_id) as read) f
    where x.tenant_id = p.tenant_id and x.inbox_id = p.inbox_id and x.post_id = p.id
      and x.post_id > '00000000-0000-0000-0000-000000000000') i on true
where p.tenant_id = $1 and p.inbox_id = $2 and p.id = any ($3::uuid[])

-- name: joined
-- tenant: row
-- Who can see posts for everyone: of each, oldest first, how many have joined in time for it and not for the one before,
-- so that nobody is counted twice, from an index that holds nothing else.
select d.post_id, (
    select count(*) from recipients r
    where r.tenant_id = $1 and r.erased_at is null and r.created_at > '-infinity' and r.created_at > d.after
      and r.created_at <= d.until) as joined
from (
    select u.post_id, t.until, coalesce(lag(t.until) over (order by t.until, u.post_id), '-infinity') as after
    from unnest($2::uuid[], $3::timestamptz[]) as u (post_id, posted_at)
    left join inbox_settings s on s.tenant_id = $1
    cross join lateral (
        select case when s.visible_since = -1 then 'infinity'
               else u.posted_at + make_interval(secs => coalesce(s.visible_since, 0)) end as until) t) d
order by d.until, d.post_id

-- name: holders_by_external_id
-- tenant: row
-- People by the ids that callers know; the merged are who they became.
select n.external_id, r.id, r.data_key
from recipients n
cross join lateral (
    select b.id, b.data_key from recipients b
    where b.tenant_id = $1 and b.id = case when n.merged_into is null then n.id else n.merged_into end and b.erased_at is null limit 1) r
where n.tenant_id = $1 and n.external_id = any ($2::text[])
order by r.id

-- name: list_id
-- tenant: row
-- A list by its key.
select id from lists where tenant_id = $1 and key = $2

-- name: members_of_list
-- tenant: row
-- Who is on a list now.
select m.recipient_id from list_members m
join recipients r on r.tenant_id = $1 and r.id = m.recipient_id and r.erased_at is null and r.merged_into is null
where m.tenant_id = $1 and m.list_id = $2
order by m.recipient_id limit $3

-- name: members_of_tags
-- tenant: row
-- Who has the tags now: the first is looked up, the others are checked.
select t.recipient_id from recipient_tags t
join recipients r on r.tenant_id = $1 and r.id = t.recipient_id and r.erased_at is null and r.merged_into is null
where t.tenant_id = $1 and t.tag = $2
  and (cardinality($3::text[]) = (select count(*) from recipient_tags o
       where o.tenant_id = $1 and o.recipient_id = t.recipient_id and o.tag = any ($3::text[])))
  and ($4::text[] = '{}' or exists (select from recipient_tags o
       where o.tenant_id = $1 and o.recipient_id = t.recipient_id and o.tag = any ($4::text[])))
  and ($5::text is null or r.locale = $5) and ($6::text is null or r.kind = $6)
order by t.recipient_id limit $7

-- name: members_of_any_tag
-- tenant: row
-- Who has one of the tags now.
select distinct t.recipient_id from recipient_tags t
join recipients r on r.tenant_id = $1 and r.id = t.recipient_id and r.erased_at is null and r.merged_into is null
where t.tenant_id = $1 and t.tag = any ($2::text[])
  and ($3::text is null or r.locale = $3) and ($4::text is null or r.kind = $4)
order by t.recipient_id limit $5

-- name: members_of_traits
-- tenant: row
-- Who has a locale or a kind, by a walk over everybody: such filters are for few and patient callers.
select r.id as recipient_id from recipients r
where r.tenant_id = $1 and r.erased_at is null and r.merged_into is null
  and ($2::text is null or r.locale = $2) and ($3::text is null or r.kind = $3)
order by r.id limit $4
