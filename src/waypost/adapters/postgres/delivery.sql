-- name: enqueue
-- tenant: row
-- Work to do; its lanes are woken where they sleep (see routines.sql).
select waypost.enqueue($1, $2, $3, $4, $5, $6, $7)

-- name: gate_facts
-- tenant: row
-- All that the gate asks about many people, in one statement. Each is looked up by its key, laterally, whatever the
-- statistics say; the last word about consent only where it is needed. Most people are alike to the gate: those of whom
-- the same is true are one row, with their places in the question. Topic and consent may be asked for all at once.
with told as (
select r.id is null or r.erased_at is not null as erased,
       r.timezone,
       a.status as address_status,
       array(select s.reason || '/' || s.topic || '/' || array_to_string(s.spared, ',') from suppressions s
             where s.tenant_id = $1 and s.channel = $2 and s.hash = a.hash and s.released_at is null
               and (s.expires_at is null or s.expires_at > now())) as suppressions,
       exists (select from platform_suppressions s
               where s.tenant_id = $1 and s.channel = $2 and s.hash = a.hash
                 and (s.expires_at is null or s.expires_at > now())) as platform,
       asked.topic, t.mandatory, coalesce((t.channels ->> $7)::boolean, t.opted_in) as on_by_default,
       (p.channels -> $7)::text as choice, p.quiet_start, p.quiet_end,
       case when asked.wants_consent then (
           select c.state from consents c
           where c.tenant_id = $1 and c.recipient_id = asked.recipient_id and c.channel = $2
             and (c.topic = '' or c.topic = asked.topic)
           order by c.n desc limit 1) end as consent,
       asked.place
from (select u.recipient_id, u.address_id,
             case when cardinality($5::text[]) = 1 then ($5::text[])[1] else u.topic end as topic,
             case when cardinality($6::boolean[]) = 1 then ($6::boolean[])[1] else u.wants_consent end as wants_consent,
             u.place
      from unnest($3::uuid[], $4::uuid[], $5::text[], $6::boolean[]) with ordinality
           as u (recipient_id, address_id, topic, wants_consent, place)) asked
left join lateral (
    select r.id, r.erased_at, r.timezone from recipients r
    where r.tenant_id = $1 and r.id = asked.recipient_id limit 1) r on true
left join lateral (
    select a.status, a.hash from addresses a
    where a.tenant_id = $1 and a.id = asked.address_id and a.recipient_id = asked.recipient_id limit 1) a on true
left join lateral (
    select p.channels, p.quiet_start, p.quiet_end from recipient_preferences p
    where p.tenant_id = $1 and p.recipient_id = asked.recipient_id limit 1) p on true
left join topics t on t.tenant_id = $1 and t.key = asked.topic
)
select (select t.status = 'active' from tenants t where t.id = $1) as tenant_active,
       (select (t.settings -> 'preferences')::text from tenants t where t.id = $1) as policy,
       told.erased, told.timezone, told.address_status, told.suppressions, told.platform,
       told.topic, told.mandatory, told.on_by_default, told.choice, told.quiet_start, told.quiet_end, told.consent,
       array_agg(told.place::int4) as places
from told
group by told.erased, told.timezone, told.address_status, told.suppressions, told.platform,
         told.topic, told.mandatory, told.on_by_default, told.choice, told.quiet_start, told.quiet_end, told.consent

-- name: current_address
-- tenant: row
-- Of a person's addresses on a channel, the newest given.
select a.id from addresses a
where a.tenant_id = $1 and a.recipient_id = $2 and a.channel = $3 and a.status <> 'revoked'
order by a.given_at desc, a.id desc limit 1

-- name: waiting_for
-- tenant: row
-- What is queued for one person. Walks the person's messages, newest first, and asks the queue about each.
select m.id from notifications m
where m.tenant_id = $1 and m.recipient_id = $2 and m.channel > 0 and m.channel = $3
  and m.category = any ($4::smallint[]) and ($5::text is null or m.topic = $5) and m.status < 7
  and exists (select from queue q where q.tenant_id = $1 and q.id = m.id)
order by m.id

-- name: take_back
-- tenant: row
-- Only what still waits in the queue: a row that a worker holds is gone from it.
delete from queue where tenant_id = $1 and id = any ($2::uuid[]) returning id, retention, attempt

-- name: end_cancelled
-- tenant: row
-- The stored end, and the note of it.
with ended as (
    update notifications m set status = 9, reason = 'cancelled', secrets = null
    where m.tenant_id = $1 and m.id = any ($2::uuid[])
    returning m.id, m.retention
)
insert into timeline (tenant_id, notification_id, retention, id, at, event, reason, detail)
select $1, e.id, e.retention, ($3::uuid[])[array_position($2::uuid[], e.id)], now(), 'cancelled', 'cancelled', '{}'
from ended e

-- name: states
-- tenant: row
-- How notifications stand: the stored end wins, then the queue, then the last attempt's word. Lateral, so that each is
-- looked up by its key whatever the statistics say about tables that fill and empty within minutes.
select m.id, m.channel,
       case when m.status >= 7 then m.status
            when q.id is not null then case when q.attempt = 0 and q.due > now() and m.send_at > now() then 1 else 2 end
            when a.n is null then m.status
            when a.outcome is null then 3
            when a.outcome = 1 then 4
            when a.outcome = 3 then 7
            when a.outcome = 5 then 11
            else 2 end::smallint as state,
       case when m.status >= 7 then m.reason else a.reason end as reason,
       coalesce(a.n, 0) as attempts,
       greatest(a.started_at + coalesce(a.latency_ms, 0) * interval '1 millisecond', t.at) as updated_at
from notifications m
left join lateral (
    select q.id, q.due, q.attempt from queue q where q.tenant_id = m.tenant_id and q.id = m.id limit 1) q on true
left join lateral (
    select a.n, a.outcome, a.reason, a.started_at, a.latency_ms from attempts a
    where a.tenant_id = m.tenant_id and a.notification_id = m.id and a.retention = m.retention
    order by a.n desc limit 1) a on true
left join lateral (
    select t.at from timeline t
    where t.tenant_id = m.tenant_id and t.notification_id = m.id and t.retention = m.retention
    order by t.id desc limit 1) t on true
where m.tenant_id = $1 and m.id = any ($2::uuid[])

-- name: notes
-- tenant: row
-- What happened to a notification besides attempts.
select t.at, t.event, t.reason, t.detail from timeline t
where t.tenant_id = $1 and t.notification_id = $2 order by t.id

-- name: attempts
-- tenant: row
-- Every call to a vendor, open ones included.
select a.n, a.started_at, a.account_id, a.latency_ms, a.outcome, a.code, a.reason, a.reference, a.reply from attempts a
where a.tenant_id = $1 and a.notification_id = $2 order by a.n
