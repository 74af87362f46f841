-- name: consume
-- tenant: row
-- Insert or skip: what is not returned was taken in before. Sorted, so that two batches cannot deadlock.
insert into consumed_events (tenant_id, consumer, event_id, received_at)
select $1, e.consumer, e.event_id, $4
from unnest($2::text[], $3::text[]) as e (consumer, event_id)
order by e.consumer, e.event_id
on conflict (tenant_id, consumer, event_id) do nothing
returning consumer, event_id

-- name: hold_subjects
-- tenant: row
-- By buckets, not by keys: a batch may be about thousands of subjects, and the server's table of locks is small. In the
-- order of their numbers, so that nobody waits in a ring.
select pg_advisory_xact_lock(hashtextextended($1, 7265200 + bucket)) from unnest($2::int[]) as bucket

-- name: add_news
-- tenant: row
-- Kept for a month at least, for whatever arrives late.
insert into timer_news (tenant_id, subject_key, occurred_at, consumer, event_id, event_type, cancels, data, kept_until)
select $1, n.subject_key, n.occurred_at, n.consumer, n.event_id, n.event_type, n.cancels, n.data, $9
from unnest($2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::boolean[], $8::bytea[])
     as n (subject_key, occurred_at, consumer, event_id, event_type, cancels, data)
on conflict do nothing

-- name: news
-- tenant: row
-- The latest about each subject: more than so many are not looked at.
select n.subject_key, n.occurred_at, n.consumer, n.event_id, n.event_type, n.cancels, n.data
from unnest($2::text[]) as asked (subject_key)
cross join lateral (
    select * from timer_news s where s.tenant_id = $1 and s.subject_key = asked.subject_key
    order by s.occurred_at desc, s.consumer desc, s.event_id desc, s.cancels desc limit $3) n

-- name: note_failure
-- tenant: row
-- One attempt more at a pulled event; from so many on it is dead.
insert into event_failures as f (tenant_id, consumer, event_id, id, attempts, code, problem, body, failed_at, dead_at)
values ($1, $2, $3, $4, 1, $5, $6, $7, $8::timestamptz, case when $9::int <= 1 then $8::timestamptz end)
on conflict (tenant_id, consumer, event_id) do update
set attempts = least(f.attempts + 1, 32767), code = excluded.code, problem = excluded.problem,
    failed_at = excluded.failed_at,
    dead_at = coalesce(f.dead_at, case when f.attempts + 1 >= $9 then excluded.failed_at end)
returning id, consumer, event_id, attempts, code, problem, failed_at, dead_at

-- name: forget_failure
-- tenant: row
-- It was taken in after all.
delete from event_failures where tenant_id = $1 and consumer = $2 and event_id = $3

-- name: find_failure
-- tenant: row
-- A dead event with its sealed body.
select id, consumer, event_id, attempts, code, problem, body, failed_at, dead_at from event_failures
where tenant_id = $1 and id = $2 and dead_at is not null

-- name: page_of_failures
-- tenant: row
-- The dead ones, newest first.
select id, consumer, event_id, attempts, code, problem, failed_at, dead_at from event_failures
where tenant_id = $1 and dead_at is not null and ($2::uuid is null or id < $2)
order by id desc limit $3
