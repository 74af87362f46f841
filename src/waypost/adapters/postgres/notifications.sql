-- name: insert_request
-- tenant: row
-- A request, and the notifications it stands for: new ones, and those that were made before under the same key.
insert into requests (tenant_id, id, key_id, notification_ids)
values ($1, $2, $3, $4);

-- name: accept
-- tenant: row
-- What a batch of calls made: places taken, requests, notifications and queue in one round trip (see routines.sql).
select wanted, owner from waypost.accept($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
                                         $19, $20, $21, $22, $23, $24, $25, $26)

-- name: insert_timeline
-- tenant: row
-- What the gate said at submit about those it stopped.
insert into timeline (tenant_id, notification_id, retention, id, at, event, reason, detail)
select $1, t.notification_id, t.retention, t.id, $2, t.event, t.reason, t.detail::jsonb
from unnest($3::uuid[], $4::smallint[], $5::uuid[], $6::text[], $7::text[], $8::text[])
     as t (notification_id, retention, id, event, reason, detail);

-- name: request
-- tenant: row
-- A request by its id; the id alone finds the partition.
select id, key_id, notification_ids from requests where tenant_id = $1 and id = $2;

-- name: resend_of
-- tenant: row
-- What a notification is a copy of, as its own timeline tells; the id alone finds the partition.
select t.detail ->> 'resend_of' from timeline t
where t.tenant_id = $1 and t.notification_id = $2 and t.event = 'resend_of' limit 1;

-- name: by_ids
-- tenant: row
-- Notifications with the words people know them by: the recipient's own id and the template's key.
select n.id, n.retention, n.request_id, n.recipient_id, n.address_id, n.channel, n.category, n.topic, n.priority, n.version_id, n.locale,
       n.send_at, n.expires_at, n.payload, n.secrets,
       coalesce(u.external_id, r.external_id) as external_id, r.data_key, t.key as template_key
from notifications n
join recipients r on r.tenant_id = n.tenant_id and r.id = n.recipient_id
left join recipients u on u.tenant_id = r.tenant_id and u.id = r.merged_into
join template_versions v on v.tenant_id = any (array[n.tenant_id, '_platform']) and v.id = n.version_id
left join templates t on t.tenant_id = v.tenant_id and t.id = v.template_id
where n.tenant_id = $1 and n.id = any ($2::uuid[]);

-- name: recipient_ids
-- tenant: row
-- The recipient a list is filtered by, and all that became part of it: messages of earlier days name those.
with who as (select coalesce(merged_into, id) as id from recipients where tenant_id = $1 and external_id = $2)
select id from who
union all
select r.id from who join recipients r on r.tenant_id = $1 and r.merged_into = who.id;

-- name: page_all
-- tenant: row
-- The newest notifications of the tenant; filters on channel and category are checked on the way.
select n.id from notifications n
where n.tenant_id = $1 and n.id < $2 and n.id >= $3
  and ($4::smallint is null or n.channel = $4) and ($5::smallint is null or n.category = $5)
order by n.id desc limit $6;

-- name: page_of_recipient
-- tenant: row
-- One person's notifications, newest first; each id the person ever had is walked along the index by itself.
select n.id from unnest($7::uuid[]) as who (id)
cross join lateral (
    select n.id from notifications n
    where n.tenant_id = $1 and n.id < $2 and n.id >= $3
      and ($4::smallint is null or n.channel = $4) and ($5::smallint is null or n.category = $5)
      and n.recipient_id = who.id and n.channel > 0
    order by n.id desc limit $6) n
order by n.id desc limit $6;

-- name: page_ended
-- tenant: row
-- Those that ended in one of the stored ends (failed, suppressed, cancelled, expired, unconfirmed): few, and indexed.
select n.id from notifications n
where n.tenant_id = $1 and n.id < $2 and n.id >= $3
  and ($4::smallint is null or n.channel = $4) and ($5::smallint is null or n.category = $5)
  and n.status = $7 and n.status >= 7 and ($8::uuid[] is null or n.recipient_id = any ($8))
order by n.id desc limit $6;

-- name: page_queued
-- tenant: row
-- Live work, read from the queue, which holds nothing else: $7 true for scheduled, false for queued.
select n.id from queue q
join notifications n on n.tenant_id = q.tenant_id and n.id = q.id and n.retention = q.retention
where q.tenant_id = $1 and q.id < $2 and q.id >= $3
  and ($4::smallint is null or n.channel = $4) and ($5::smallint is null or n.category = $5)
  and (q.attempt = 0 and q.due > now()) = $7 and ($8::uuid[] is null or n.recipient_id = any ($8))
order by q.id desc limit $6;

-- name: page_dispatched
-- tenant: row
-- Those a vendor has accepted: the usual end, so the newest page is found after a few rows.
select n.id from notifications n
where n.tenant_id = $1 and n.id < $2 and n.id >= $3
  and ($4::smallint is null or n.channel = $4) and ($5::smallint is null or n.category = $5)
  and n.status < 7 and ($7::uuid[] is null or n.recipient_id = any ($7))
  and exists (select from attempts a
              where a.tenant_id = n.tenant_id and a.notification_id = n.id and a.retention = n.retention and a.outcome = 1)
order by n.id desc limit $6;

-- name: page_dispatching
-- tenant: row
-- What workers hold right now, by their claims.
select distinct n.id from claims c
cross join lateral unnest(c.ids) as held (id)
join notifications n on n.tenant_id = c.tenant_id and n.id = held.id
where c.tenant_id = $1 and n.id < $2 and n.id >= $3
  and ($4::smallint is null or n.channel = $4) and ($5::smallint is null or n.category = $5)
  and n.status < 7 and ($7::uuid[] is null or n.recipient_id = any ($7))
  and exists (select from attempts a
              where a.tenant_id = n.tenant_id and a.notification_id = n.id and a.retention = n.retention and a.outcome is null)
order by n.id desc limit $6;
