-- name: put_list
-- tenant: row
-- Made, or its title changed; two calls that make the same one end with one.
insert into lists as l (tenant_id, id, key, title, version, created_at, updated_at)
values ($1, $2, $3, $4, 1, $5, $6)
on conflict (tenant_id, key) do update set title = excluded.title, updated_at = excluded.updated_at, version = l.version + 1
returning id, key, title, version, created_at, updated_at

-- name: find_list
-- tenant: row
-- One list by the key that callers know.
select id, key, title, version, created_at, updated_at from lists where tenant_id = $1 and key = $2

-- name: page_of_lists
-- tenant: row
-- In the order of keys.
select id, key, title, version, created_at, updated_at from lists where tenant_id = $1 and key > $2 order by key limit $3

-- name: remove_list
-- tenant: row
-- Its members go with it; the people stay.
delete from lists where tenant_id = $1 and id = $2

-- name: page_of_members
-- tenant: row
-- Newest recipients first. The offset keeps the plan to one look-up per member, whatever the statistics.
select m.recipient_id, r.external_id, m.added_at
from list_members m
cross join lateral (select external_id from recipients where tenant_id = m.tenant_id and id = m.recipient_id offset 0) r
where m.tenant_id = $1 and m.list_id = $2 and ($3::uuid is null or m.recipient_id < $3)
order by m.recipient_id desc limit $4

-- name: member_ids
-- tenant: row
-- For a message to the whole list.
select r.external_id
from list_members m
cross join lateral (select external_id from recipients where tenant_id = m.tenant_id and id = m.recipient_id offset 0) r
where m.tenant_id = $1 and m.list_id = $2
order by m.recipient_id limit $3

-- name: add_members
-- tenant: row
-- Being in it twice is being in it once.
insert into list_members (tenant_id, list_id, recipient_id, added_at)
select $1, $2, id, $4 from unnest($3::uuid[]) as id
on conflict do nothing

-- name: remove_members
-- tenant: row
-- Whoever was in it.
delete from list_members where tenant_id = $1 and list_id = $2 and recipient_id = any ($3::uuid[])

-- name: lists_of_recipient
-- tenant: row
-- Where someone is a member.
select l.id, l.key, l.title, l.version, l.created_at, l.updated_at
from list_members m join lists l on l.tenant_id = m.tenant_id and l.id = m.list_id
where m.tenant_id = $1 and m.recipient_id = $2 order by l.key
