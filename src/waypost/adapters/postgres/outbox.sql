-- name: append
-- tenant: row
-- News, noted in the transaction of what happened; the order given is the order kept.
insert into outbox (tenant_id, kind, subject_id, n)
select $1, u.kind, u.subject_id, u.n
from unnest($2::smallint[], $3::uuid[], $4::smallint[]) with ordinality as u (kind, subject_id, n, place)
order by u.place

-- name: unread_news
-- tenant: all names tenants only, through a definer function
-- Of whose news a reader has not been told everything.
select tenant_id from waypost.unread_news($1, $2, $3, $4)

-- name: lock_reader
-- tenant: row
-- A tenant's news is told in order by one relay at a time; the lock ends with the transaction, however that ends.
select pg_try_advisory_xact_lock(hashtextextended($1, 7265200 + $2))

-- name: take_batches
-- tenant: row
-- Batches that nobody else is reading, oldest first.
select u.id, u.ids from outbox_unread u
where u.tenant_id = $1 and u.reader = $2 order by u.id limit $3 for update skip locked

-- name: oldest_batches
-- tenant: row
-- The oldest batches, for the one relay that holds the reader's lock.
select u.id, u.ids from outbox_unread u where u.tenant_id = $1 and u.reader = $2 order by u.id limit $3

-- name: finish_batches
-- tenant: row
-- Told: they are unread no more.
delete from outbox_unread where tenant_id = $1 and reader = $2 and id = any ($3::bigint[])

-- name: news
-- tenant: row
-- The rows of batches, in the order in which things happened.
select o.id, o.at, o.kind, o.subject_id, o.n from outbox o
where o.tenant_id = $1 and o.id = any ($2::bigint[]) order by o.at, o.id

-- name: news_from
-- tenant: row
-- A stretch of the outbox, for a replay.
select o.id, o.at, o.kind, o.subject_id, o.n from outbox o where o.tenant_id = $1 and o.id > $2 order by o.id limit $3

-- name: held
-- tenant: row
-- What a broker would not take about these subjects, and what waits behind it.
select b.subject_id, b.at, b.outbox_id, b.kind, b.n, b.tries, b.since, b.due from publish_backlog b
where b.tenant_id = $1 and b.reader = $2 and b.subject_id = any ($3::uuid[]) order by b.subject_id, b.at, b.outbox_id

-- name: held_and_due
-- tenant: row
-- Subjects of which something is due again, with all that is held about them; so many rows at most.
select b.subject_id, b.at, b.outbox_id, b.kind, b.n, b.tries, b.since, b.due from publish_backlog b
where b.tenant_id = $1 and b.reader = $2 and b.subject_id = any (array(
    select d.subject_id from publish_backlog d where d.tenant_id = $1 and d.reader = $2 and d.due <= $3
    order by d.due limit 1000))
order by b.subject_id, b.at, b.outbox_id limit 5000

-- name: hold
-- tenant: row
-- An event that failed or waits behind one that did.
insert into publish_backlog (tenant_id, reader, subject_id, at, outbox_id, kind, n, tries, since, due)
select $1, $2, u.subject_id, u.at, u.outbox_id, u.kind, u.n, u.tries, u.since, u.due
from unnest($3::uuid[], $4::timestamptz[], $5::bigint[], $6::smallint[], $7::smallint[], $8::smallint[],
            $9::timestamptz[], $10::timestamptz[]) as u (subject_id, at, outbox_id, kind, n, tries, since, due)
on conflict (tenant_id, reader, subject_id, at, outbox_id)
do update set tries = excluded.tries, since = excluded.since, due = excluded.due

-- name: let_go
-- tenant: row
-- Events that have gone out at last, or have been given up.
delete from publish_backlog b
using unnest($3::uuid[], $4::timestamptz[], $5::bigint[]) as u (subject_id, at, outbox_id)
where b.tenant_id = $1 and b.reader = $2 and b.subject_id = u.subject_id and b.at = u.at and b.outbox_id = u.outbox_id

-- name: register
-- tenant: all publishers are the operator's and read along everywhere
-- A publisher says that it is there; from now on news is marked as unread for it.
insert into publishers (reader, name, seen_at) values ($1, $2, $3)
on conflict (reader) do update set name = excluded.name, seen_at = greatest(publishers.seen_at, excluded.seen_at)

-- name: forget_silent
-- tenant: all publishers are the operator's and read along everywhere
-- A publisher that nobody has run for long is not waited for any more.
delete from publishers where seen_at < $1 returning name

-- name: standing
-- tenant: all sums over all tenants through a definer function, naming none
-- How far readers are behind, and since when.
select reader, waiting, greatest(extract(epoch from $1 - oldest), 0)::float8 as oldest_seconds
from waypost.relay_standing($1, 100000)
