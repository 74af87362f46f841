-- name: notifications
-- tenant: row
-- What events about notifications are made of; the range beside the ids finds the partitions.
select m.id, m.request_id, m.recipient_id, r.external_id, m.channel, m.category, m.reason, m.send_at, m.expires_at,
       m.payload, r.data_key
from notifications m
join recipients r on r.tenant_id = m.tenant_id and r.id = m.recipient_id
where m.tenant_id = $1 and m.id = any ($2::uuid[]) and m.id between $3 and $4

-- name: attempt_reasons
-- tenant: row
-- Why attempts ended as they did.
select a.notification_id, a.n, a.reason from attempts a
where a.tenant_id = $1 and a.notification_id = any ($2::uuid[]) and a.notification_id between $3 and $4

-- name: suppressions
-- tenant: row
-- What events about suppressions are made of.
select id, channel, reason, source, notification_id, created_at, expires_at, released_at
from suppressions where tenant_id = $1 and id = any ($2::uuid[])

-- name: link_targets
-- tenant: row
-- Where links of messages lead, as far as it is the same for everybody: one event of each link tells.
select distinct on (e.notification_id, e.link) e.notification_id, e.link, e.id, e.target from tracking_events e
where e.tenant_id = $1 and e.notification_id = any ($2::uuid[]) and e.notification_id between $3 and $4
  and e.target is not null
order by e.notification_id, e.link, e.id

-- name: sender_accounts
-- tenant: row
-- What events about sender accounts are made of.
select id, name, status, status_reason from sender_accounts where tenant_id = $1 and id = any ($2::uuid[])

-- name: domains
-- tenant: row
-- What events about domains are made of.
select d.id, d.name, d.failing_since,
       array(select c ->> 'name' from jsonb_array_elements(d.checks) c
             where c ->> 'result' = 'failed' and (c ->> 'required')::boolean) as failed
from domains d where d.tenant_id = $1 and d.id = any ($2::uuid[])
