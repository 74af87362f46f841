-- A scratch database whose time is told, not measured. Never run on any other.

-- name: install
-- tenant: all the time belongs to nobody
-- now() and clock_timestamp() of a schema that is searched before the server's own take their place.
do $$
declare
    one record;
begin
    create schema rehearsal;
    create table rehearsal.moment (at timestamptz not null);
    insert into rehearsal.moment values (pg_catalog.now());
    create function rehearsal.now() returns timestamptz language sql stable security definer
        set search_path = pg_catalog, pg_temp
        as 'select at from rehearsal.moment';
    create function rehearsal.clock_timestamp() returns timestamptz language sql stable security definer
        set search_path = pg_catalog, pg_temp
        as 'select at from rehearsal.moment';
    grant usage on schema rehearsal to waypost_api, waypost_worker, waypost_resolver, waypost_owner;
    for one in
        select p.oid::regprocedure as name from pg_catalog.pg_proc p
        join pg_catalog.pg_namespace n on n.oid = p.pronamespace
        where n.nspname = 'waypost' and p.proconfig::text like '%search_path%'
    loop
        execute pg_catalog.format(
            'alter %s %s set search_path = rehearsal, waypost, pg_catalog, pg_temp',
            case when (select prokind from pg_catalog.pg_proc where oid = one.name) = 'p' then 'procedure' else 'function' end,
            one.name);
    end loop;
    for one in
        select c.oid::regclass as relation, a.attname
        from pg_catalog.pg_attrdef d
        join pg_catalog.pg_class c on c.oid = d.adrelid
        join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        join pg_catalog.pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
        where n.nspname = 'waypost' and pg_catalog.pg_get_expr(d.adbin, d.adrelid) in ('now()', 'clock_timestamp()')
    loop
        execute pg_catalog.format('alter table %s alter column %I set default rehearsal.now()', one.relation, one.attname);
    end loop;
end
$$

-- name: tell
-- tenant: all the time belongs to nobody
-- It is this moment now, until another is told.
update rehearsal.moment set at = $1

-- name: ends
-- tenant: all one tenant's at a time, by whoever made the scratch database
-- How everything stands, and why: as `states` of delivery tells it.
select case when m.status >= 7 then m.status
            when q.id is not null then 2
            when a.n is null then m.status
            when a.outcome is null then 3
            when a.outcome = 1 then 4
            when a.outcome = 3 then 7
            when a.outcome = 5 then 11
            else 2 end::smallint as state,
       coalesce(case when m.status >= 7 then m.reason else a.reason end, '') as reason,
       count(*)::int as number
from waypost.notifications m
left join waypost.queue q on q.tenant_id = m.tenant_id and q.id = m.id
left join lateral (
    select a.n, a.outcome, a.reason from waypost.attempts a
    where a.tenant_id = m.tenant_id and a.notification_id = m.id and a.retention = m.retention
    order by a.n desc limit 1) a on true
where m.tenant_id = $1 group by 1, 2

-- name: attempts
-- tenant: all one tenant's at a time, by whoever made the scratch database
-- How many calls, how many of them were put off, and how many were not the first.
select count(*)::int as attempts,
       (count(*) filter (where outcome = $2))::int as deferrals,
       (count(*) filter (where n > 1))::int as retries
from waypost.attempts where tenant_id = $1

-- name: suppressed
-- tenant: all one tenant's at a time, by whoever made the scratch database
-- Who would not be written to again, apart from those who would not have been before.
select reason, count(*)::int as number from waypost.suppressions
where tenant_id = $1 and released_at is null and reason <> 'manual' group by 1
