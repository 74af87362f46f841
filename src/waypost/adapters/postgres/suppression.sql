-- name: put
-- tenant: row
-- One place for the owner's opt-out and one for all other reasons: taken, raised to the graver reason, or taken anew when
-- its time has run out; nothing is returned where what stands is at least as grave and lasts at least as long.
insert into suppressions as s (tenant_id, id, channel, hash, masked, reason, source, notification_id, created_at, expires_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, now(), $9)
on conflict (tenant_id, channel, hash, (reason = 'opt_out')) where released_at is null do update
set id = excluded.id, masked = excluded.masked, reason = excluded.reason, source = excluded.source,
    notification_id = excluded.notification_id, created_at = excluded.created_at, expires_at = excluded.expires_at
where s.expires_at <= now()
   or array_position($10::text[], excluded.reason) > array_position($10::text[], s.reason)
   or excluded.reason = s.reason and coalesce(excluded.expires_at, 'infinity') > coalesce(s.expires_at, 'infinity')
returning id, channel, masked, reason, source, notification_id, created_at, expires_at, released_at, released_by

-- name: standing
-- tenant: row
-- What is in force in the place of a reason.
select id, channel, masked, reason, source, notification_id, created_at, expires_at, released_at, released_by
from suppressions
where tenant_id = $1 and channel = $2 and hash = $3 and (reason = 'opt_out') = ($4 = 'opt_out') and released_at is null

-- name: put_bounced
-- tenant: row
-- The vendor says that the address of a notification is dead. A graver reason that stands is kept.
insert into suppressions as s (tenant_id, id, channel, hash, masked, reason, source, notification_id, created_at)
select $1, $2, a.channel, a.hash, $5, 'hard_bounce', 'delivery', $3, now()
from addresses a where a.tenant_id = $1 and a.id = $4
on conflict (tenant_id, channel, hash, (reason = 'opt_out')) where released_at is null do update
set id = excluded.id, masked = excluded.masked, reason = excluded.reason, source = excluded.source,
    notification_id = excluded.notification_id, created_at = excluded.created_at, expires_at = null
where s.expires_at <= now() or array_position($6::text[], excluded.reason) > array_position($6::text[], s.reason)
returning id, channel, hash

-- name: mark_people
-- tenant: row
-- Everyone with that address is asked about again before the next message goes out.
insert into gate_changes as g (tenant_id, recipient_id, changed_at)
select distinct $1, a.recipient_id, clock_timestamp() from addresses a
where a.tenant_id = $1 and a.channel = $2 and a.hash = $3
order by a.recipient_id
on conflict (tenant_id, recipient_id) do update set changed_at = greatest(g.changed_at, excluded.changed_at)

-- name: find
-- tenant: row
-- Locked, so that two releases do not both believe they were first.
select id, channel, masked, reason, source, notification_id, created_at, expires_at, released_at, released_by
from suppressions where tenant_id = $1 and id = $2 for update

-- name: release
-- tenant: row
-- The row stays as a record of who took it back and when.
update suppressions set released_at = now(), released_by = $3
where tenant_id = $1 and id = $2 and released_at is null
returning id, channel, hash, masked, reason, source, notification_id, created_at, expires_at, released_at, released_by

-- name: page
-- tenant: row
-- What is in force, newest first.
select id, channel, masked, reason, source, notification_id, created_at, expires_at, released_at, released_by
from suppressions
where tenant_id = $1 and id < $2 and released_at is null and (expires_at is null or expires_at > now())
order by id desc limit $3

-- name: of_recipient
-- tenant: row
-- What stands against one person's addresses. All channels are named, because a telephone number serves several.
select distinct s.id, s.channel, s.masked, s.reason, s.source, s.notification_id, s.created_at, s.expires_at, s.released_at,
       s.released_by
from recipients r
join addresses a on a.tenant_id = r.tenant_id and a.recipient_id = r.id and a.status <> 'revoked'
join suppressions s on s.tenant_id = a.tenant_id and s.channel = any ('{1,2,3,4,5,6,7}'::smallint[]) and s.hash = a.hash
where r.tenant_id = $1 and r.external_id = $2 and s.released_at is null and (s.expires_at is null or s.expires_at > now())
order by s.id desc
