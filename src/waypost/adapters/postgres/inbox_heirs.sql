-- name: inboxes_of
-- tenant: row
-- The inboxes in which a person has anything.
select inbox_id from inbox_members where tenant_id = $1 and recipient_id = $2 and n >= 0 order by inbox_id

-- name: data_keys
-- tenant: row
-- With which their copies are sealed.
select id, data_key from recipients where tenant_id = $1 and id = any ($2::uuid[]) and data_key is not null

-- name: make_place
-- tenant: row
-- The heir sees posts for everyone as ever.
insert into inbox_members (tenant_id, inbox_id, recipient_id, n, visible_from)
select $1, $2, r.id, 0, inbox_visible_from(r.created_at, coalesce(s.visible_since, 0))
from recipients r
left join inbox_settings s on s.tenant_id = $1
where r.tenant_id = $1 and r.id = $3
on conflict (tenant_id, inbox_id, recipient_id) do nothing

-- name: hold_both
-- tenant: row
-- By id, as posting holds people too, so that nobody waits in a circle.
select recipient_id from inbox_members
where tenant_id = $1 and inbox_id = $2 and recipient_id = any ($3::uuid[]) order by recipient_id for update

-- name: own_copies
-- tenant: row
-- What is sealed for its reader has to be sealed again; null where the post itself holds it.
select post_id, content from inbox_items
where tenant_id = $1 and inbox_id = $2 and recipient_id = $3 and not public and redacted_at is null

-- name: hand_over
-- tenant: row
-- As of the heir's next number. Read is what was read, also where only a mark below it says so. Of a copy that both had,
-- what was done first holds; whether the heir's own is read stays with the heir's marks unless the other had read it.
with numbered as (
    update inbox_members set n = n + 1 where tenant_id = $1 and inbox_id = $2 and recipient_id = $4 returning n)
insert into inbox_items as mine (tenant_id, inbox_id, recipient_id, post_id, public, is_notification, topic, content, n, as_of,
                                 expires_at, seen_at, read_at, archived_at, snoozed_until, pinned_at, clicked_at)
select $1, $2, $4, i.post_id, false, i.is_notification, i.topic, u.content, m.n, m.n, i.expires_at, i.seen_at,
       case when i.read_at is null then (
           select w.at from inbox_watermarks w
           where w.tenant_id = $1 and w.inbox_id = $2 and w.recipient_id = $3 and w.n > i.as_of and w.own_upto >= i.post_id
           order by w.n limit 1)
       else i.read_at end,
       i.archived_at, i.snoozed_until, i.pinned_at, i.clicked_at
from numbered m
cross join unnest($5::uuid[], $6::bytea[]) as u (post_id, content)
join inbox_items i on i.tenant_id = $1 and i.inbox_id = $2 and i.recipient_id = $3 and i.post_id = u.post_id
on conflict (tenant_id, inbox_id, recipient_id, post_id) do update
set n = excluded.n, as_of = case when excluded.read_at is null then mine.as_of else excluded.as_of end,
    seen_at = least(mine.seen_at, excluded.seen_at), read_at = least(mine.read_at, excluded.read_at),
    clicked_at = least(mine.clicked_at, excluded.clicked_at)

-- name: leave
-- tenant: row
-- Items and marks go with the place.
delete from inbox_members where tenant_id = $1 and inbox_id = $2 and recipient_id = $3
