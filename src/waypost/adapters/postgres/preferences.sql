-- name: topic
-- tenant: row
-- One topic by its key.
select key, title, description, category, opted_in, mandatory, position, channels, version, created_at, updated_at
from topics where tenant_id = $1 and key = $2

-- name: topic_for_change
-- tenant: row
-- The same, locked, so that versions never skip.
select key, title, description, category, opted_in, mandatory, position, channels, version, created_at, updated_at
from topics where tenant_id = $1 and key = $2 for update

-- name: topics
-- tenant: row
-- All topics of a tenant: there are a few hundred at most.
select key, title, description, category, opted_in, mandatory, position, channels, version, created_at, updated_at
from topics where tenant_id = $1 order by position, key

-- name: page_of_topics
-- tenant: row
-- The same in pages. They are so few that those of the tenant are read and sorted for each.
select key, title, description, category, opted_in, mandatory, position, channels, version, created_at, updated_at
from topics where tenant_id = $1 and (position, key) > ($2, $3) order by position, key limit $4

-- name: put_topic
-- tenant: row
-- Made, or changed by whoever holds its lock; of two who make it at once, the second changes it.
insert into topics as t (tenant_id, key, title, description, category, opted_in, mandatory, position, channels, version,
                         created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9::text::jsonb, $10, $11, $12)
on conflict (tenant_id, key) do update
set title = excluded.title, description = excluded.description, category = excluded.category,
    opted_in = excluded.opted_in, mandatory = excluded.mandatory, position = excluded.position,
    channels = excluded.channels, version = t.version + 1, updated_at = excluded.updated_at

-- name: delete_topic
-- tenant: row
-- What people have chosen about it stays: should it come back, an opt-out still holds.
delete from topics where tenant_id = $1 and key = $2 returning key

-- name: someone
-- tenant: row
-- A recipient by the caller's id; a merged id leads to the one that is left. (COALESCE is not leakproof, CASE is: only
-- so is the second one found by index behind the wall.)
select r.id, r.external_id, r.locale, r.timezone, r.erased_at is not null as erased
from recipients named
join recipients r on r.tenant_id = named.tenant_id and r.id = case when named.merged_into is null then named.id else named.merged_into end
where named.tenant_id = $1 and named.external_id = $2

-- name: someone_by_id
-- tenant: row
-- The same by our own id, which links carry for years.
select r.id, r.external_id, r.locale, r.timezone, r.erased_at is not null as erased
from recipients named
join recipients r on r.tenant_id = named.tenant_id and r.id = case when named.merged_into is null then named.id else named.merged_into end
where named.tenant_id = $1 and named.id = $2

-- name: choices
-- tenant: row
-- What a recipient has chosen.
select channels, quiet_start, quiet_end, version, updated_at
from recipient_preferences where tenant_id = $1 and recipient_id = $2

-- name: choices_for_change
-- tenant: row
-- The same, locked until the change is committed.
select channels, quiet_start, quiet_end, version, updated_at
from recipient_preferences where tenant_id = $1 and recipient_id = $2 for update

-- name: begin_choices
-- tenant: row
-- A blank row to lock; whoever comes second waits for the first.
insert into recipient_preferences (tenant_id, recipient_id, version, updated_at) values ($1, $2, 0, now())
on conflict (tenant_id, recipient_id) do nothing

-- name: put_choices
-- tenant: row
-- Written by whoever holds the lock.
update recipient_preferences
set channels = $3::text::jsonb, quiet_start = $4, quiet_end = $5, version = $6, updated_at = $7
where tenant_id = $1 and recipient_id = $2

-- name: delete_choices
-- tenant: row
-- Of people who were erased.
delete from recipient_preferences where tenant_id = $1 and recipient_id = any ($2::uuid[]) returning recipient_id

-- name: watch
-- tenant: row
-- What is queued for this person asks the whole gate again. Who has quiet hours is always asked about: infinity.
insert into gate_changes as g (tenant_id, recipient_id, changed_at)
values ($1, $2, case when $3 then 'infinity'::timestamptz else clock_timestamp() end)
on conflict (tenant_id, recipient_id) do update set changed_at = excluded.changed_at

-- name: policy
-- tenant: row
-- What the tenant decides for all.
select (settings -> 'preferences')::text from tenants where id = $1

-- name: policy_for_change
-- tenant: row
-- The same, locked until the change is committed.
select (settings -> 'preferences')::text from tenants where id = $1 for no key update

-- name: put_policy
-- tenant: row
-- Only its own section of the settings is touched.
update tenants set settings = settings || jsonb_build_object('preferences', $2::text::jsonb), updated_at = $3 where id = $1

-- name: lock_consents
-- tenant: row
-- Histories grow one row at a time: the recipient's row is the lock.
select id from recipients where tenant_id = $1 and id = $2 for no key update

-- name: last_consent
-- tenant: row
-- Where the next one is linked to.
select n, id, channel, topic, state, source, text_version, at, proof
from consents where tenant_id = $1 and recipient_id = $2 order by n desc limit 1

-- name: add_consent
-- tenant: row
-- One more word, and the new end of the history.
with added as (
    insert into consents (tenant_id, recipient_id, n, id, channel, topic, state, source, text_version, at, proof)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
)
insert into consent_heads as h (tenant_id, recipient_id, n, proof) values ($1, $2, $3, $12)
on conflict (tenant_id, recipient_id) do update set n = excluded.n, proof = excluded.proof

-- name: page_of_consents
-- tenant: row
-- What was said, newest first.
select n, id, channel, topic, state, source, text_version, at, proof
from consents where tenant_id = $1 and recipient_id = $2 and ($3::integer is null or n < $3) order by n desc limit $4

-- name: whole_history
-- tenant: row
-- From the beginning, to prove it.
select n, id, channel, topic, state, source, text_version, at, proof
from consents where tenant_id = $1 and recipient_id = $2 order by n

-- name: consent_head
-- tenant: row
-- Where the history says it ends.
select n, proof from consent_heads where tenant_id = $1 and recipient_id = $2

-- name: standing_consents
-- tenant: row
-- The last word about each channel and topic.
select distinct on (channel, topic) n, id, channel, topic, state, source, text_version, at, proof
from consents where tenant_id = $1 and recipient_id = $2 order by channel, topic, n desc
