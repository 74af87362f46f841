-- name: by_external_ids
-- tenant: row
-- The recipients a call names, erased ones too: their ids stay taken.
select id, external_id, kind, locale, timezone, attributes, data_key, version, created_at, updated_at, erased_at,
       merged_into
from recipients where tenant_id = $1 and external_id = any($2::text[])

-- name: look_up
-- tenant: row
-- Everyone a call may mean, with the addresses in use: by id (erased ones too: their ids stay taken; a merged id means
-- the one it became) and by address. The offsets keep the plan to one look-up for each, whatever the statistics. And
-- whether anybody was ever erased, in one row where nobody is found: most tenants have erased nobody, and only the
-- others need a closer look at ids that are new. Moments only for those who ask: they cost the caller most of all.
with named as (
    select r.external_id as asked, coalesce(r.merged_into, r.id) as id
    from recipients r where r.tenant_id = $1 and r.external_id = any($2::text[])
), found as (
    select n.id, n.asked from named n
    union all
    select a.recipient_id, null from unnest($3::smallint[], $4::text[]) as spot (channel, hash)
    cross join lateral (
        select recipient_id from addresses
        where tenant_id = $1 and channel = spot.channel and hash = spot.hash and status <> 'revoked' offset 0) a
), meant as (
    select f.id, min(f.asked) as asked,
           case when count(f.asked) > 1 then array_agg(f.asked) filter (where f.asked is not null) end as asked_often
    from found f group by f.id
)
select e.has_erased, r.id, r.external_id, r.kind, r.locale, r.timezone, r.attributes, r.data_key, r.version,
       case when $5 then r.created_at end, case when $5 then r.updated_at end, r.erased_at, r.merged_into,
       m.asked, m.asked_often,
       a.address_id, a.channel, a.hash, a.ciphertext, a.verified, a.status, case when $5::boolean then a.given_at end,
       case when $5 then a.address_created_at end, case when $5 then a.address_updated_at end
from (select exists (select from erasures where tenant_id = $1) as has_erased) e
left join (meant m
cross join lateral (
    select id, external_id, kind, locale, timezone, attributes, data_key, version, created_at, updated_at, erased_at,
           merged_into
    from recipients where tenant_id = $1 and id = m.id and merged_into is null offset 0) r
left join lateral (
    select id as address_id, channel, hash, ciphertext, verified, status, given_at, created_at as address_created_at,
           updated_at as address_updated_at
    from addresses where tenant_id = $1 and recipient_id = m.id and status <> 'revoked' offset 0) a on true) on true
order by r.id, a.given_at desc, a.address_id desc

-- name: lock_recipients
-- tenant: row
-- In the order of ids, so that two calls about the same people wait for each other and never in a ring.
select id, external_id, kind, locale, timezone, attributes, data_key, version, created_at, updated_at, erased_at,
       merged_into
from recipients where tenant_id = $1 and id = any($2::uuid[]) order by id for no key update

-- name: add_recipients
-- tenant: row
-- Sorted by external id by the caller; a taken id is left alone, after waiting for whoever is taking it. A column of one
-- element says the same of all: most newcomers are alike, and every element costs the caller.
with added as (
    insert into recipients
        (tenant_id, id, external_id, kind, locale, timezone, attributes, data_key, version, created_at, updated_at)
    select $1, id, external_id, coalesce(kind, ($4::text[])[1]), nullif(coalesce(locale, ($5::text[])[1]), ''),
           nullif(coalesce(timezone, ($6::text[])[1]), ''), attributes, data_key, coalesce(version, ($9::int[])[1]),
           coalesce(created_at, ($10::timestamptz[])[1]), coalesce(updated_at, ($11::timestamptz[])[1])
    from unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[], $8::bytea[], $9::int[],
                $10::timestamptz[], $11::timestamptz[])
        as new (id, external_id, kind, locale, timezone, attributes, data_key, version, created_at, updated_at)
    on conflict (tenant_id, external_id) do nothing
    returning id
), reachable as (
    insert into addresses
        (tenant_id, id, recipient_id, channel, hash, ciphertext, verified, status, given_at, created_at, updated_at)
    select $1, new.id, new.recipient_id, coalesce(channel, ($14::smallint[])[1]), hash, ciphertext,
           coalesce(verified, ($17::boolean[])[1]), coalesce(status, ($18::text[])[1]),
           coalesce(given_at, ($19::timestamptz[])[1]), coalesce(created_at, ($20::timestamptz[])[1]),
           coalesce(updated_at, ($21::timestamptz[])[1])
    from unnest($12::uuid[], $13::uuid[], $14::smallint[], $15::text[], $16::bytea[], $17::boolean[], $18::text[],
                $19::timestamptz[], $20::timestamptz[], $21::timestamptz[])
        as new (id, recipient_id, channel, hash, ciphertext, verified, status, given_at, created_at, updated_at)
    where new.recipient_id in (select id from added)
)
select id from added

-- name: change_recipients
-- tenant: row
-- The merged state of people whose rows the transaction holds.
update recipients r
set kind = new.kind, locale = new.locale, timezone = new.timezone, attributes = new.attributes,
    version = new.version, updated_at = new.updated_at
from unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::int[], $8::timestamptz[])
    as new (id, kind, locale, timezone, attributes, version, updated_at)
where r.tenant_id = $1 and r.id = new.id

-- name: by_ids
-- tenant: row
-- The recipients that others were merged into, or that a list holds.
select id, external_id, kind, locale, timezone, attributes, data_key, version, created_at, updated_at, erased_at,
       merged_into
from recipients where tenant_id = $1 and id = any($2::uuid[])

-- name: page_of_recipients
-- tenant: row
-- Newest first, without the erased and the merged.
select id, external_id, kind, locale, timezone, attributes, data_key, version, created_at, updated_at, erased_at,
       merged_into
from recipients
where tenant_id = $1 and ($2::uuid is null or id < $2) and erased_at is null and merged_into is null
order by id desc limit $3

-- name: page_by_prefix
-- tenant: row
-- By the beginning of the caller's own id, in the order of these ids: what the index of ids is sorted by.
select id, external_id, kind, locale, timezone, attributes, data_key, version, created_at, updated_at, erased_at,
       merged_into
from recipients
where tenant_id = $1 and external_id ^@ $2 and external_id > $3 and erased_at is null and merged_into is null
order by external_id limit $4

-- name: page_by_tag
-- tenant: row
-- Those with a tag, newest first. The offset keeps the plan to one look-up per row, whatever the statistics.
select r.id, r.external_id, r.kind, r.locale, r.timezone, r.attributes, r.data_key, r.version, r.created_at, r.updated_at,
       r.erased_at, r.merged_into
from recipient_tags t
cross join lateral (
    select * from recipients where tenant_id = t.tenant_id and id = t.recipient_id
    offset 0
) r
where t.tenant_id = $1 and t.tag = $2 and ($3::uuid is null or t.recipient_id < $3) and r.erased_at is null
  and r.merged_into is null
order by t.recipient_id desc limit $4

-- name: page_by_list
-- tenant: row
-- The members of a list, newest first.
select r.id, r.external_id, r.kind, r.locale, r.timezone, r.attributes, r.data_key, r.version, r.created_at, r.updated_at,
       r.erased_at, r.merged_into
from list_members m
cross join lateral (
    select * from recipients where tenant_id = m.tenant_id and id = m.recipient_id
    offset 0
) r
where m.tenant_id = $1 and m.list_id = $2 and ($3::uuid is null or m.recipient_id < $3) and r.erased_at is null
  and r.merged_into is null
order by m.recipient_id desc limit $4

-- name: merged_into
-- tenant: row
-- All that these recipients were: messages of earlier days name them.
select id, merged_into from recipients where tenant_id = $1 and merged_into = any($2::uuid[]) order by id

-- name: erased_among
-- tenant: row
-- Ids that stay taken by people who were erased, known by their keyed hash.
select id_hash from erasures where tenant_id = $1 and id_hash = any($2::text[])

-- name: note_gate_changes
-- tenant: row
-- What is queued for these people asks the whole gate again; ids come sorted, so writers never wait in a ring.
insert into gate_changes (tenant_id, recipient_id, changed_at)
select $1, id, $3 from unnest($2::uuid[]) as id
on conflict (tenant_id, recipient_id) do update set changed_at = greatest(gate_changes.changed_at, excluded.changed_at)

-- name: addresses_of_recipients
-- tenant: row
-- Addresses in use, the newest given first.
select id, recipient_id, channel, hash, ciphertext, verified, status, given_at, created_at, updated_at
from addresses where tenant_id = $1 and recipient_id = any($2::uuid[]) and status <> 'revoked'
order by recipient_id, given_at desc, id desc

-- name: hold_newcomers
-- tenant: row
-- Locks by bucket of address, not by address: a call may bring a thousand newcomers and the lock table is small.
select pg_advisory_xact_lock($1::int, bucket) from unnest($2::int[]) as bucket

-- name: add_addresses
-- tenant: row
-- New addresses of people whose rows the transaction made or holds. A column of one element says the same of all.
insert into addresses
    (tenant_id, id, recipient_id, channel, hash, ciphertext, verified, status, given_at, created_at, updated_at)
select $1, id, recipient_id, coalesce(channel, ($4::smallint[])[1]), hash, ciphertext,
       coalesce(verified, ($7::boolean[])[1]), coalesce(status, ($8::text[])[1]),
       coalesce(given_at, ($9::timestamptz[])[1]), coalesce(created_at, ($10::timestamptz[])[1]),
       coalesce(updated_at, ($11::timestamptz[])[1])
from unnest($2::uuid[], $3::uuid[], $4::smallint[], $5::text[], $6::bytea[], $7::boolean[], $8::text[],
            $9::timestamptz[], $10::timestamptz[], $11::timestamptz[])
    as new (id, recipient_id, channel, hash, ciphertext, verified, status, given_at, created_at, updated_at)

-- name: put_in_front
-- tenant: row
-- A known address that was given again is the one used from now on.
update addresses a set given_at = new.given_at
from unnest($2::uuid[], $3::timestamptz[]) as new (id, given_at)
where a.tenant_id = $1 and a.id = new.id

-- name: revoke_addresses
-- tenant: row
-- No longer this person's; the ciphertext goes with it, the hash stays for suppressions.
update addresses set status = 'revoked', ciphertext = '', updated_at = $3
where tenant_id = $1 and id = any($2::uuid[]) and status <> 'revoked'

-- name: mark_verified
-- tenant: row
-- Whoever has shown that an address is theirs, or that it is not.
update addresses set verified = $3, updated_at = $4 where tenant_id = $1 and id = $2

-- name: suppressed_among
-- tenant: row
-- Which addresses nothing is sent to at all. All channels are named, because a telephone number serves several.
select distinct s.hash from suppressions s
where s.tenant_id = $1 and s.channel = any ('{1,2,3,4,5,6,7}'::smallint[]) and s.hash = any ($2::text[])
  and s.released_at is null and (s.expires_at is null or s.expires_at > now()) and s.reason <> 'opt_out'

-- name: tags_of
-- tenant: row
-- The tags of many people.
select recipient_id, tag from recipient_tags where tenant_id = $1 and recipient_id = any ($2::uuid[]) order by recipient_id, tag

-- name: add_tags
-- tenant: row
-- Given twice is given once.
insert into recipient_tags (tenant_id, recipient_id, tag)
select $1, recipient_id, tag from unnest($2::uuid[], $3::text[]) as new (recipient_id, tag)
on conflict do nothing

-- name: remove_tags
-- tenant: row
-- Pairs of recipient and tag.
delete from recipient_tags t using unnest($2::uuid[], $3::text[]) as gone (recipient_id, tag)
where t.tenant_id = $1 and t.recipient_id = gone.recipient_id and t.tag = gone.tag
