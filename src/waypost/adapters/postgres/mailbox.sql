-- name: add_letters
-- tenant: row
-- All that arrived together for one tenant.
insert into mailbox (tenant_id, id, summary, raw, notification_id)
select $1, new.id, new.summary, new.raw, new.notification_id
from unnest($2::uuid[], $3::bytea[], $4::bytea[], $5::uuid[]) as new (id, summary, raw, notification_id)

-- name: make_room
-- tenant: row
-- Only the newest are kept. The first one too many is found on the primary key, and what is older goes by a range of it.
delete from mailbox
where tenant_id = $1
  and id <= (select id from mailbox where tenant_id = $1 order by id desc offset $2 limit 1)

-- name: page_of_letters
-- tenant: row
-- Summaries, newest first; the messages themselves stay where they are.
select id, summary
from mailbox
where tenant_id = $1 and ($2::uuid is null or id < $2)
order by id desc
limit $3

-- name: raw_letter
-- tenant: row
-- One whole message.
select raw from mailbox where tenant_id = $1 and id = $2
