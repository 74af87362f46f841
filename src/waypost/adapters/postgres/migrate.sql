-- name: lock
-- tenant: all the schema belongs to no tenant
-- Two processes that start at once migrate one after the other; the lock ends with the connection.
select pg_advisory_lock(hashtext('waypost migrate'))

-- name: make_ledger
-- tenant: all the schema belongs to no tenant
-- What has been applied: numbered migrations once, repeatable files (no number) by their revision.
create table if not exists waypost.migrations (
    name       text primary key,
    number     integer unique,
    revision   integer,
    checksum   text not null,
    applied_at timestamptz not null default now()
)

-- name: open_ledger
-- tenant: all the schema belongs to no tenant
-- Whoever may connect may know which schema this is.
grant select on waypost.migrations to waypost_api, waypost_worker, waypost_dba

-- name: applied
-- tenant: all the schema belongs to no tenant
-- The ledger, to compare with the files that this code ships.
select name, number, revision, checksum from waypost.migrations

-- name: record_migration
-- tenant: all the schema belongs to no tenant
-- In the transaction of the migration itself.
insert into waypost.migrations (name, number, checksum) values ($1, $2, $3)

-- name: record_state
-- tenant: all the schema belongs to no tenant
-- In the transaction of the migration itself, so that no code ever meets a schema it does not know about.
insert into waypost.schema_state (version, oldest_code) values ($1, $2)
on conflict (only_row) do update set version = excluded.version, oldest_code = excluded.oldest_code

-- name: record_repeatable
-- tenant: all the schema belongs to no tenant
-- In the transaction that applied the file.
insert into waypost.migrations (name, revision, checksum) values ($1, $2, $3)
on conflict (name) do update set revision = excluded.revision, checksum = excluded.checksum, applied_at = now()

-- name: has_state
-- tenant: all the schema belongs to no tenant
-- An empty database has no state yet.
select to_regclass('waypost.schema_state') is not null

-- name: state
-- tenant: all the schema belongs to no tenant
-- Which schema this is and which code may run on it.
select version, oldest_code from waypost.schema_state

-- name: invalid_indexes
-- tenant: all the schema belongs to no tenant
-- What an interrupted index build leaves behind: it costs every write and serves no read.
select format('%I.%I', n.nspname, c.relname) as name
from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'waypost' and not i.indisvalid
order by 1
