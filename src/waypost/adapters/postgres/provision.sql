-- What the administrator does once per server and database. Every block may run again, and beside another process.
-- Passwords come as SCRAM verifiers in settings of the transaction, so that no log ever sees one.

-- name: lock
-- tenant: all roles and schemas belong to no tenant
-- Two processes that start at once provision one after the other.
select pg_advisory_xact_lock(hashtext('waypost provision'))

-- name: fingerprint
-- tenant: all roles and schemas belong to no tenant
-- Which installation's passwords the roles carry: null while there are no roles, empty when nobody has said.
select coalesce(shobj_description(oid, 'pg_authid'), '') from pg_roles where rolname = 'waypost_owner'

-- name: remember
-- tenant: all roles and schemas belong to no tenant
-- The next blocks read these settings; they end with the transaction.
select set_config('waypost.verifier_' || role, verifier, true)
from unnest($1::text[], $2::text[]) as given (role, verifier)

-- name: mark
-- tenant: all roles and schemas belong to no tenant
-- Leaves the fingerprint on the owner, for the next start and for another installation on the same server.
select set_config('waypost.fingerprint', $1, true)

-- name: roles
-- tenant: all roles and schemas belong to no tenant
-- Creates the five roles, whichever are missing; only waypost_dba may pass row level security, where we may allow it.
do $$
declare
    me record;
    wanted record;
begin
    select rolsuper or rolbypassrls as may_bypass, rolsuper into me from pg_roles where rolname = current_user;
    for wanted in
        select * from (values
            ('waypost_owner', true), ('waypost_resolver', false), ('waypost_api', true),
            ('waypost_worker', true), ('waypost_dba', true)) as roles (name, login)
    loop
        if not exists (select from pg_roles where rolname = wanted.name) then
            execute format('create role %I %s nosuperuser nocreatedb nocreaterole noinherit', wanted.name,
                           case when wanted.login then 'login' else 'nologin' end);
        end if;
    end loop;
    if me.may_bypass then
        alter role waypost_dba bypassrls;
    end if;
    -- The owner becomes the resolver only to hand it functions, and inherits nothing: it stays blind to rows.
    grant waypost_resolver to waypost_owner with inherit false, set true;
    if not me.rolsuper then
        execute format('grant waypost_owner to %I with inherit true, set true', current_user);
    end if;
end
$$

-- name: passwords
-- tenant: all roles and schemas belong to no tenant
-- Gives the login roles their passwords and marks whose they are.
do $$
declare
    name text;
begin
    foreach name in array array['waypost_owner', 'waypost_api', 'waypost_worker', 'waypost_dba'] loop
        execute format('alter role %I password %L', name, current_setting('waypost.verifier_' || name));
    end loop;
    execute format('comment on role waypost_owner is %L', current_setting('waypost.fingerprint'));
end
$$

-- name: database
-- tenant: all roles and schemas belong to no tenant
-- The schema belongs to the owner; nobody else may create anything, make temporary tables or even connect.
do $$
declare
    here text := current_database();
begin
    if not exists (select from pg_namespace where nspname = 'waypost') then
        create schema waypost authorization waypost_owner;
    end if;
    execute format('revoke create, temporary, connect on database %I from public', here);
    execute format('grant connect on database %I to waypost_owner, waypost_api, waypost_worker, waypost_dba', here);
    grant usage on schema waypost to waypost_resolver, waypost_api, waypost_worker, waypost_dba;
    if exists (select from pg_namespace where nspname = 'public') then
        begin
            revoke create on schema public from public;
        exception when insufficient_privilege then
            null;  -- an upgraded database may keep its public schema to another role
        end;
    end if;
end
$$
