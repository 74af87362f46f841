-- name: put
-- tenant: row
-- One place for each of the owner's opt-outs and one for all other reasons: taken, raised to the graver reason, made to last
-- longer, or taken anew when its time has run out. Nothing is returned where what stands is at least as grave and lasts as long.
insert into suppressions as s (tenant_id, id, channel, hash, masked, reason, source, notification_id, created_at, expires_at,
                               topic, notes, sealed)
values ($1, $2, $3, $4, $5, $6, $7, $8, now(), $9, $11, $12, $13)
on conflict (tenant_id, channel, hash, (reason = 'opt_out'), topic) where released_at is null do update
set id = excluded.id, masked = excluded.masked, created_at = excluded.created_at, spared = '{}', notes = excluded.notes,
    sealed = excluded.sealed, source = excluded.source, notification_id = excluded.notification_id,
    reason = case when s.expires_at <= now()
                    or array_position($10::text[], excluded.reason) > array_position($10::text[], s.reason)
                  then excluded.reason else s.reason end,
    expires_at = case when s.expires_at <= now() then excluded.expires_at
                      else nullif(greatest(coalesce(excluded.expires_at, 'infinity'), coalesce(s.expires_at, 'infinity')), 'infinity') end
where s.expires_at <= now() or s.spared <> '{}'
   or array_position($10::text[], excluded.reason) > array_position($10::text[], s.reason)
   or coalesce(excluded.expires_at, 'infinity') > coalesce(s.expires_at, 'infinity')
returning id, channel, masked, reason, source, notification_id, created_at, expires_at, released_at, released_by, topic, notes

-- name: standing
-- tenant: row
-- What is in force in the place of a reason.
select id, channel, masked, reason, source, notification_id, created_at, expires_at, released_at, released_by, topic, notes
from suppressions
where tenant_id = $1 and channel = $2 and hash = $3 and (reason = 'opt_out') = ($4 = 'opt_out') and topic = $5
  and released_at is null

-- name: has_ended_so_often
-- tenant: row
-- Whether messages to the address of a notification have lately ended for the same reason as it so many times, it included.
select count(*) >= $5 from (
    select 1 from notifications this
    join notifications n on n.tenant_id = this.tenant_id and n.recipient_id = this.recipient_id and n.channel > 0
        and n.id >= $4 and n.address_id = $3 and n.status in (7, 10) and n.reason = this.reason
    where this.tenant_id = $1 and this.id = $2
    limit $5
) ended

-- name: put_bounced
-- tenant: row
-- The vendor says that the address of a notification is dead, or has said too often that it is of no use now. A graver reason
-- that stands is kept.
insert into suppressions as s (tenant_id, id, channel, hash, masked, reason, source, notification_id, created_at, expires_at)
select $1, $2, a.channel, a.hash, $5, $7, 'delivery', $3, now(), now() + $8::interval
from addresses a where a.tenant_id = $1 and a.id = $4
on conflict (tenant_id, channel, hash, (reason = 'opt_out'), topic) where released_at is null do update
set id = excluded.id, masked = excluded.masked, reason = excluded.reason, source = excluded.source,
    notification_id = excluded.notification_id, created_at = excluded.created_at, expires_at = excluded.expires_at
where s.expires_at <= now() or array_position($6::text[], excluded.reason) > array_position($6::text[], s.reason)
returning id, channel, hash

-- name: mark_people
-- tenant: row
-- Everyone with that address is asked about again before the next message goes out. One telephone number serves all channels
-- that dial it.
insert into gate_changes as g (tenant_id, recipient_id, changed_at)
select distinct $1, a.recipient_id, clock_timestamp() from addresses a
where a.tenant_id = $1 and a.channel = case when $2 in (3, 6) then 2 else $2 end and a.hash = $3
order by a.recipient_id
on conflict (tenant_id, recipient_id) do update set changed_at = greatest(g.changed_at, excluded.changed_at)

-- name: find
-- tenant: row
-- Locked, so that two releases do not both believe they were first.
select id, channel, masked, reason, source, notification_id, created_at, expires_at, released_at, released_by, topic, notes
from suppressions where tenant_id = $1 and id = $2 for update

-- name: release
-- tenant: row
-- The row stays as a record of who took it back and when.
update suppressions set released_at = now(), released_by = $3, sealed = null
where tenant_id = $1 and id = $2 and released_at is null
returning id, channel, hash, masked, reason, source, notification_id, created_at, expires_at, released_at, released_by, topic, notes

-- name: page
-- tenant: row
-- What is in force, newest first; of one channel or for one reason, where these are named.
select id, channel, masked, reason, source, notification_id, created_at, expires_at, released_at, released_by, topic, notes
from suppressions
where tenant_id = $1 and id < $2 and released_at is null and (expires_at is null or expires_at > now())
  and ($4::smallint is null or channel = $4) and ($5::text is null or reason = $5)
order by id desc limit $3

-- name: of_address
-- tenant: row
-- What is in force against one address: one reason and some opt-outs at most.
select id, channel, masked, reason, source, notification_id, created_at, expires_at, released_at, released_by, topic, notes
from suppressions
where tenant_id = $1 and id < $2 and channel = $4 and hash = $6 and released_at is null
  and (expires_at is null or expires_at > now()) and ($5::text is null or reason = $5)
order by id desc limit $3

-- name: of_recipient
-- tenant: row
-- What stands against one person's addresses. All channels are named, because a telephone number serves several.
select distinct s.id, s.channel, s.masked, s.reason, s.source, s.notification_id, s.created_at, s.expires_at, s.released_at,
       s.released_by, s.topic, s.notes
from recipients r
join addresses a on a.tenant_id = r.tenant_id and a.recipient_id = r.id and a.status <> 'revoked'
join suppressions s on s.tenant_id = a.tenant_id and s.channel = any ('{1,2,3,4,5,6,7}'::smallint[]) and s.hash = a.hash
where r.tenant_id = $1 and r.external_id = $2 and s.released_at is null and (s.expires_at is null or s.expires_at > now())
order by s.id desc

-- name: release_opt_out
-- tenant: row
-- The recipient takes back an opt-out from one thing.
update suppressions set released_at = now(), released_by = $5
where tenant_id = $1 and channel = $2 and hash = any ($3::text[]) and reason = 'opt_out' and topic = $4 and released_at is null
returning id, hash

-- name: spare_topic
-- tenant: row
-- Someone who has opted out of all marketing wants one topic after all; everything else stays stopped.
update suppressions set spared = spared || $4::text
where tenant_id = $1 and channel = $2 and hash = any ($3::text[]) and reason = 'opt_out' and topic = '' and released_at is null
  and not $4 = any (spared)
returning id, hash

-- name: reach_of
-- tenant: row
-- The addresses of a person on a channel, and the one a link was sent to, wherever that belongs by now.
select a.id, a.hash, a.ciphertext, a.recipient_id, r.data_key
from (
    select * from addresses where tenant_id = $1 and recipient_id = $2 and channel = $3 and status <> 'revoked'
    union
    select * from addresses where tenant_id = $1 and id = $4 and channel = $3
) a
join recipients r on r.tenant_id = a.tenant_id and r.id = a.recipient_id
