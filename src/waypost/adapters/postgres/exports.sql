-- name: people_after
-- tenant: row
-- Everyone, in the order in which they were made.
select id, external_id, kind, locale, timezone, attributes, data_key, version, created_at, updated_at, erased_at, merged_into
from recipients
where tenant_id = $1 and id > $2 and erased_at is null and merged_into is null
order by id limit $3

-- name: people_with_tag_after
-- tenant: row
-- Those with a tag. The offset keeps the plan to one look-up per row, whatever the statistics.
select r.id, r.external_id, r.kind, r.locale, r.timezone, r.attributes, r.data_key, r.version, r.created_at, r.updated_at,
       r.erased_at, r.merged_into
from recipient_tags t
cross join lateral (select * from recipients where tenant_id = t.tenant_id and id = t.recipient_id offset 0) r
where t.tenant_id = $1 and t.recipient_id > $2 and t.tag = $4 and r.erased_at is null and r.merged_into is null
order by t.recipient_id limit $3

-- name: people_in_list_after
-- tenant: row
-- The members of a list.
select r.id, r.external_id, r.kind, r.locale, r.timezone, r.attributes, r.data_key, r.version, r.created_at, r.updated_at,
       r.erased_at, r.merged_into
from list_members m
cross join lateral (select * from recipients where tenant_id = m.tenant_id and id = m.recipient_id offset 0) r
where m.tenant_id = $1 and m.recipient_id > $2 and m.list_id = $4 and r.erased_at is null and r.merged_into is null
order by m.recipient_id limit $3

-- name: count_people
-- tenant: row
-- For the progress of an export; some may go meanwhile.
select count(*) from recipients where tenant_id = $1

-- name: count_with_tag
-- tenant: row
-- For the progress of an export.
select count(*) from recipient_tags where tenant_id = $1 and tag = $2

-- name: count_in_list
-- tenant: row
-- For the progress of an export.
select count(*) from list_members where tenant_id = $1 and list_id = $2
