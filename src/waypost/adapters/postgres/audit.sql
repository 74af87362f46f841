-- name: add_entry
-- tenant: row
-- Entries are only ever added: no role of the application may change or delete one.
insert into audit (tenant_id, id, actor, acting_as, action, subject, detail, request_id)
values ($1, $2, $3, $4, $5, $6, $7::jsonb, $8)

-- name: page_of_entries
-- tenant: row
-- The tenant's log, newest first.
select id, actor, acting_as, action, subject, detail, request_id
from audit where tenant_id = $1 and ($2::uuid is null or id < $2) order by id desc limit $3
