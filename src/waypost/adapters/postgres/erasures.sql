-- name: shred
-- tenant: row
-- The data keys are destroyed. What remains of a person is an id of ours; hashes of addresses stay for suppressions.
with people as (
    update recipients set external_id = '#' || id::text, locale = null, timezone = null, attributes = null, data_key = null,
        version = version + 1, updated_at = $3, erased_at = $3
    where tenant_id = $1 and id = any ($2::uuid[]) returning 1
), reachable as (
    update addresses set status = 'revoked', ciphertext = '', updated_at = $3
    where tenant_id = $1 and recipient_id = any ($2::uuid[]) returning 1
), tagged as (
    delete from recipient_tags where tenant_id = $1 and recipient_id = any ($2::uuid[]) returning 1
), listed as (
    delete from list_members where tenant_id = $1 and recipient_id = any ($2::uuid[]) returning 1
)
select (select count(*) from people) as data_keys, (select count(*) from reachable) as addresses,
       (select count(*) from tagged) as tags, (select count(*) from listed) as list_memberships

-- name: add_erasures
-- tenant: row
-- One for each id that the person had.
insert into erasures (tenant_id, id_hash, recipient_id, id, erased_at, certificate)
select $1, id_hash, recipient_id, id, erased_at, certificate
from unnest($2::text[], $3::uuid[], $4::uuid[], $5::timestamptz[], $6::text[])
    as new (id_hash, recipient_id, id, erased_at, certificate)
on conflict (tenant_id, id_hash) do nothing

-- name: of_keys
-- tenant: row
-- After a restore: whoever has a data key back that had been destroyed, also one that was merged into another since.
select id from recipients where tenant_id = $1 and data_key is not null and encode(sha256(data_key), 'hex') = any ($2::text[])

-- name: erasure_of
-- tenant: row
-- The erasure that covers an id, also one that had been merged into the id erased.
select m.id, m.id_hash, m.recipient_id, m.erased_at, m.certificate
from erasures e join erasures m on m.tenant_id = e.tenant_id and m.recipient_id = e.recipient_id
where e.tenant_id = $1 and e.id_hash = $2 and m.certificate is not null

-- name: page_of_erasures
-- tenant: row
-- Who was erased, the newest first.
select id, id_hash, recipient_id, erased_at, certificate from erasures
where tenant_id = $1 and certificate is not null and ($2::uuid is null or id < $2) order by id desc limit $3

-- name: waiting_messages
-- tenant: row
-- What has not gone out yet to someone who is leaving.
select n.id from notifications n
join queue q on q.tenant_id = n.tenant_id and q.id = n.id
where n.tenant_id = $1 and n.recipient_id = any ($2::uuid[]) and n.channel > 0

-- name: count_messages
-- tenant: row
-- Whose contents nobody can read any more.
select count(*) from notifications n where n.tenant_id = $1 and n.recipient_id = any ($2::uuid[]) and n.channel > 0

-- name: forget_letters
-- tenant: row
-- Copies that the catch-all kept.
delete from mailbox m using notifications n
where n.tenant_id = $1 and n.recipient_id = any ($2::uuid[]) and n.channel > 0
  and m.tenant_id = n.tenant_id and m.notification_id = n.id

-- name: blur_suppressions
-- tenant: row
-- A suppression holds by its hash; the masked spelling goes, unless someone else has the address too.
update suppressions s set masked = '***'
where s.tenant_id = $1 and s.channel = any ('{1,2,3,4,5,6,7}'::smallint[]) and s.hash = any ($3::text[]) and s.masked <> '***'
  and not exists (
    select from addresses a
    where a.tenant_id = s.tenant_id and a.hash = s.hash and a.channel = any ('{1,2,3,4,5,6,7}'::smallint[])
      and a.status <> 'revoked' and a.recipient_id <> all ($2::uuid[]))

-- name: drop_results
-- tenant: row
-- Exports made before may tell of the person; whoever needs one makes it anew.
delete from job_files where tenant_id = $1 and file = 'result'

-- name: mark_merged
-- tenant: row
-- All ids that ever led to the source lead to the target.
update recipients set merged_into = $3, updated_at = $4, version = version + 1
where tenant_id = $1 and (id = $2 or merged_into = $2)

-- name: copy_memberships
-- tenant: row
-- Wherever the one was, the other is.
insert into list_members (tenant_id, list_id, recipient_id, added_at)
select tenant_id, list_id, $3, added_at from list_members where tenant_id = $1 and recipient_id = $2
on conflict do nothing

-- name: end_memberships
-- tenant: row
-- The merged one is nowhere by itself any more, neither in a list nor under a tag.
with untagged as (delete from recipient_tags where tenant_id = $1 and recipient_id = $2)
delete from list_members where tenant_id = $1 and recipient_id = $2

-- name: was_written_to
-- tenant: row
-- Whether someone was ever sent anything.
select exists (select from notifications n where n.tenant_id = $1 and n.recipient_id = $2 and n.channel > 0)

-- name: move_places
-- tenant: row
-- What was sent to the merged one under a key counts as sent to the other. There is no index by person, which every
-- message would pay for: a merge walks the tenant's keys once. Where the other has a place of their own, it stays.
update notification_dedupe d set recipient_id = $3
where d.tenant_id = $1 and d.recipient_id = $2 and not exists (
    select from notification_dedupe o
    where o.tenant_id = $1 and o.dedupe_key = d.dedupe_key and o.recipient_id = $3 and o.channel = d.channel)

-- name: waiting_to_move
-- tenant: row
-- Messages to the merged one that still wait. A worker that takes one meanwhile has the old key to it, which stays.
select n.id, n.address_id, n.payload, n.secrets from queue q
join notifications n on n.tenant_id = q.tenant_id and n.id = q.id and n.retention = q.retention
where n.tenant_id = $1 and n.recipient_id = $2 and n.channel > 0 order by n.id

-- name: move_waiting
-- tenant: row
-- The same message, now to the one recipient left and sealed under that one's key.
update notifications n
set recipient_id = $2, address_id = new.address_id, payload = new.payload, secrets = new.secrets
from unnest($3::uuid[], $4::uuid[], $5::bytea[], $6::bytea[]) as new (id, address_id, payload, secrets)
where n.tenant_id = $1 and n.id = new.id
