-- Questions of `waypost doctor`, asked as waypost_dba. Answers hold numbers and names of ours, never a tenant's data.

-- name: server
-- tenant: all asks the server about itself
-- Which version runs, and what time it has.
select current_setting('server_version') as version, clock_timestamp() as now

-- name: roles
-- tenant: all roles belong to no tenant
-- A superuser or a role that passes row level security by mistake would hide broken policies.
select rolname as name, rolsuper as superuser, rolbypassrls as bypasses
from pg_roles where rolname in ('waypost_owner', 'waypost_resolver', 'waypost_api', 'waypost_worker', 'waypost_dba')

-- name: unguarded
-- tenant: all reads the catalogue
-- Tables with a tenant's rows must enable and force row level security; partitions are reached through their parents.
select c.relname as name from pg_class c
where c.relnamespace = 'waypost'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped)
  and not (c.relrowsecurity and c.relforcerowsecurity)
order by c.relname

-- name: furthest_partitions
-- tenant: all reads the catalogue
-- How many months ahead of this one each cut table already has its partitions.
select parent.relname as name,
       count(*) filter (where child.relname > parent.relname || to_char(now() at time zone 'UTC', '_YYYY_MM')) as ahead
from pg_inherits i
join pg_class parent on parent.oid = i.inhparent and parent.relnamespace = 'waypost'::regnamespace
join pg_class child on child.oid = i.inhrelid
where child.relname ~ '_[0-9]{4}_[0-9]{2}$'
group by parent.relname order by parent.relname

-- name: strays
-- tenant: all counts through a definer function, and shows numbers only
-- Rows in a DEFAULT partition come from a broken clock.
select name from waypost.default_partition_rows() where rows > 0

-- name: workers
-- tenant: all workers serve every tenant
-- Whether anybody delivers.
select count(*) from waypost.workers where lease_until > now()

-- name: oldest_due
-- tenant: all asks for an age over all lanes
-- How long the oldest work that is due has been waiting, in seconds.
select coalesce(extract(epoch from now() - min(due)), 0)::float8 from waypost.lanes where due <= now() and not paused
