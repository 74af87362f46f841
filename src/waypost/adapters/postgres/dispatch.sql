-- name: claim
-- tenant: all picks lanes fairly among tenants through a definer function, then works inside one tenant at a time
-- Takes due work off the queue and opens its attempts, in one round trip (see routines.sql).
select tenant_id, id, retention, n, claims, channel, category, priority, expires_at, recipient_id, address_id, version_id,
       locale, payload, secrets, data_key, gate_changed_at, topic
from waypost.claim($1, $2, $3)

-- name: claim_suspect
-- tenant: all finds the oldest suspect through a definer function, then works inside its tenant
-- Takes one row that was claimed without a word before, so that it can go alone.
select tenant_id, id, retention, n, claims, channel, category, priority, expires_at, recipient_id, address_id, version_id,
       locale, payload, secrets, data_key, gate_changed_at, topic
from waypost.claim_suspect($1, $2)

-- name: settle
-- tenant: all sets each tenant in turn and writes only inside it
-- Closes or takes back the attempts of a batch, fenced, with their news for the outbox (see routines.sql).
select tenant_id, id from waypost.settle($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
                                             $17, $18)

-- name: has_suspects
-- tenant: all asks for yes or no only, through a definer function
-- Before a suspect is claimed the worker lets everything else end, so it asks first.
select exists (select from waypost.due_suspects(1))

-- name: next_due
-- tenant: all asks for a moment only, through a definer function
-- An idle worker sleeps exactly until then.
select waypost.next_lane_due()

-- name: requeue
-- tenant: row
-- Puts work back, to be due later.
select waypost.enqueue($1, $2, $3, $4, $5, $6, $7)

-- name: hold
-- tenant: row
-- Puts work aside that a pause holds; back into its lane where the pause has ended meanwhile (see pause_routines.sql).
select waypost.hold($1, $2, $3, $4, $5, $6, $7, $8)

-- name: end
-- tenant: row
-- Stores how notifications ended, unless they have ended before; their secrets are needed no more.
update notifications m
set status = ($4::smallint[])[width_bucket(m.id, $2::uuid[])], reason = ($5::text[])[width_bucket(m.id, $2::uuid[])],
    secrets = null
where m.tenant_id = $1 and m.id = any ($2::uuid[]) and m.id between ($2::uuid[])[1] and $3::uuid and m.status < 7

-- name: bury
-- tenant: row
-- Ends that are dead letters, with what they are found by; before the end is stored, while the secrets are still there.
insert into dead_letters (tenant_id, id, retention, at, reason, detail, channel, category, template_id, attempts, spent)
select $1, m.id, m.retention, now(), ($4::text[])[width_bucket(m.id, $2::uuid[])],
       ($5::text[])[width_bucket(m.id, $2::uuid[])], m.channel, m.category, v.template_id,
       ($6::smallint[])[width_bucket(m.id, $2::uuid[])], m.secrets is not null
from notifications m
left join lateral (
    select x.template_id from template_versions x
    where x.tenant_id in ($1, '_platform') and x.id = m.version_id limit 1) v on true
where m.tenant_id = $1 and m.id = any ($2::uuid[]) and m.id between ($2::uuid[])[1] and $3::uuid and m.status < 7
on conflict (tenant_id, id) do update set at = excluded.at, reason = excluded.reason, detail = excluded.detail,
    attempts = excluded.attempts, spent = excluded.spent

-- name: note_trouble
-- tenant: row
-- So that many at once are noticed: a count for each five minutes.
insert into trouble_counts as c (tenant_id, trouble, slot, count)
values ($1, $2, date_bin('5 minutes', now(), '2000-01-01 00:00:00+00'), $3)
on conflict (tenant_id, trouble, slot) do update set count = c.count + excluded.count

-- name: forget_secrets
-- tenant: row
-- What was sent needs its one-time secrets no more.
update notifications m set secrets = null
where m.tenant_id = $1 and m.id = any ($2::uuid[]) and m.id between ($2::uuid[])[1] and $3::uuid and m.secrets is not null

-- name: note
-- tenant: row
-- What no attempt tells about a notification. Some is said once a day, and once after each attempt, however often it is so.
insert into timeline (tenant_id, notification_id, retention, id, at, event, reason, detail)
select $1, u.notification_id, u.retention, u.id, now(), u.event, u.reason, u.detail::jsonb
from unnest($2::uuid[], $3::smallint[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::boolean[])
     as u (notification_id, retention, id, event, reason, detail, once_a_day)
where not u.once_a_day or not exists (
    select from timeline t
    where t.tenant_id = $1 and t.notification_id = u.notification_id and t.retention = u.retention
      and t.event = u.event and t.reason = u.reason and t.at >= date_trunc('day', now(), 'UTC')
      and not exists (
          select from attempts a
          where a.tenant_id = $1 and a.notification_id = u.notification_id and a.retention = u.retention
            and a.started_at > t.at))
