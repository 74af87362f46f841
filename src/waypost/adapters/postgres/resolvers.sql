-- revision: 1
-- Every SECURITY DEFINER function there is: the only places that look across tenants. Each answers one question, with a
-- fixed search path and qualified names, and only the role that needs it may ask. They belong to waypost_resolver, whose
-- policies and column rights in the migrations show what they can read at all. Applied again whenever this file changes.

grant create on schema waypost to waypost_resolver;
set local role waypost_resolver;
alter default privileges revoke execute on functions from public;

-- What an earlier revision made goes first, so that a changed signature leaves nothing behind.
do $$
declare
    old regprocedure;
begin
    for old in select oid::regprocedure from pg_proc where proowner = 'waypost_resolver'::regrole loop
        execute format('drop function %s', old);
    end loop;
end
$$;

-- Whose API key is this? Asked with the hash of a secret before any tenant is known; at most one row.
create function waypost.api_key_owner(p_secret_hash bytea)
returns table (tenant_id text, key_id uuid, scopes text[], expires_at timestamptz, revoked_at timestamptz,
               tenant_status text, tenant_mode text)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    select k.tenant_id, k.id, k.scopes, k.expires_at, k.revoked_at, t.status, t.mode
    from waypost.api_keys k join waypost.tenants t on t.id = k.tenant_id
    where k.secret_hash = p_secret_hash
    order by k.id limit 1
$$;

-- Which tenants are there? For the platform's own list; without keys and without the platform's pseudo-tenant.
create function waypost.tenant_directory(p_after text, p_page integer, p_status text)
returns table (id text, name text, mode text, status text, settings jsonb, version integer,
               created_at timestamptz, updated_at timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    select t.id, t.name, t.mode, t.status, t.settings, t.version, t.created_at, t.updated_at
    from waypost.tenants t
    where t.id > coalesce(p_after, '') and t.id <> '_platform' and (p_status is null or t.status = p_status)
    order by t.id limit least(p_page, 1000)
$$;

-- Which tenant does a notification belong to? For news that names nothing else, such as mail in the catch-all.
-- One look-up per tenant: an index on the id alone would cost every insert.
create function waypost.tenant_of_notification(p_id uuid)
returns text
language sql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
    select t.id from waypost.tenants t
    cross join lateral (select from waypost.notifications n where n.tenant_id = t.id and n.id = p_id limit 1) found
    limit 1
$$;

-- Which lanes have work that is due, fairest first? A lane still waiting joins at the lanes' clock, so idling saves up nothing.
create function waypost.due_lanes(p_at_most integer)
returns table (tenant_id text, channel smallint, priority smallint, start bigint, active boolean)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_clock bigint := (select c.last_value from waypost.lane_clock c);
begin
    return query
    select l.tenant_id, l.channel, l.priority, l.start,
           coalesce((select t.status = 'active' from waypost.tenants t where t.id = l.tenant_id), false)
    from (
        (select r.tenant_id, r.channel, r.priority, r.vtime as start, r.due from waypost.lanes r
         where r.ready and not r.paused order by r.vtime limit p_at_most)
        union all
        select w.tenant_id, w.channel, w.priority, greatest(w.vtime, v_clock), w.due
        from (values (0::smallint), (1::smallint), (2::smallint)) as p (priority)
        cross join lateral (
            select * from waypost.lanes x
            where x.priority = p.priority and not x.ready and x.due <= now() and x.due < 'infinity' and not x.paused
            order by x.due limit p_at_most) w
    ) l
    order by l.start, l.priority, l.due limit 2 * p_at_most;
end
$$;

-- When is the next lane due that is not due yet? So that an idle worker sleeps exactly until then.
create function waypost.next_lane_due()
returns timestamptz
language sql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
    select min(w.due)
    from (values (0::smallint), (1::smallint), (2::smallint)) as p (priority)
    cross join lateral (
        select x.due from waypost.lanes x
        where x.priority = p.priority and not x.ready and x.due > now() and x.due < 'infinity' and not x.paused
        order by x.due limit 1) w
$$;

-- Which lanes sleep longer than their queue says, or look past its first row? The repair sweep wakes them; it finds
-- nothing unless something went wrong. Walks from lane to lane along the index, never through a lane's rows.
create function waypost.sleeping_lanes()
returns table (tenant_id text, channel smallint, priority smallint, due timestamptz, id uuid)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
    with recursive first_row as (
        (select q.tenant_id, q.channel, q.priority, q.due, q.id from waypost.queue q
         where q.claims < 2
         order by q.tenant_id, q.channel, q.priority, q.due, q.id limit 1)
        union all
        select n.tenant_id, n.channel, n.priority, n.due, n.id from first_row f
        cross join lateral (
            select q.tenant_id, q.channel, q.priority, q.due, q.id from waypost.queue q
            where (q.tenant_id, q.channel, q.priority) > (f.tenant_id, f.channel, f.priority) and q.claims < 2
            order by q.tenant_id, q.channel, q.priority, q.due, q.id limit 1) n
    )
    select f.tenant_id, f.channel, f.priority, f.due, f.id from first_row f
    left join waypost.lanes l
        on l.tenant_id = f.tenant_id and l.channel = f.channel and l.priority = f.priority
    where f.priority < 8
      and (l.tenant_id is null or l.due > greatest(f.due, now()) or (l.head, l.head_id) > (f.due, f.id));
end
$$;

-- Which rows have killed their workers before and are due again? They go alone, oldest first; not those of who is paused.
create function waypost.due_suspects(p_at_most integer)
returns table (tenant_id text, id uuid, channel smallint, priority smallint, due timestamptz, claims smallint)
language sql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
    select q.tenant_id, q.id, q.channel, q.priority, q.due, q.claims from waypost.queue q
    where q.claims >= 2 and q.due <= now() and not exists (
        select from waypost.pauses p
        where p.tenant_id = q.tenant_id and p.resumed_at is null
          and (p.scope = 'tenant' or p.scope = 'channel' and p.subject = q.channel::text))
    order by q.due limit p_at_most
$$;

-- Whose sender accounts have changed since then, when last, and was that so lately that more may be on its way? Every other
-- tenant sends the installation's own way.
create function waypost.changed_senders(p_since timestamptz)
returns table (tenant_id text, changed_at timestamptz, lately boolean)
language sql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
    select a.tenant_id, max(a.changed_at), max(a.changed_at) > now() - interval '60 seconds'
    from waypost.sender_accounts a where a.changed_at > p_since group by a.tenant_id
$$;

-- How much waits in the queue, and since when where nobody has paused it? For metrics: sums over all tenants, each
-- counted to p_at_most.
create function waypost.queue_standing(p_at_most integer)
returns table (channel smallint, priority smallint, waiting bigint, oldest_due timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
    select l.channel, l.priority, least(sum(c.rows), p_at_most)::bigint,
           coalesce(min(l.due) filter (where not l.paused), now())
    from waypost.lanes l
    cross join lateral (
        select count(*) as rows from (
            select from waypost.queue q
            where q.tenant_id = l.tenant_id and q.channel = l.channel and q.priority = l.priority
            limit p_at_most) counted) c
    where l.due < 'infinity'
    group by l.channel, l.priority
$$;

-- What is paused? For the book that every worker keeps.
create function waypost.pauses_in_force()
returns table (tenant_id text, scope text, subject text)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    select p.tenant_id, p.scope, p.subject from waypost.pauses p where p.resumed_at is null
$$;

-- Which pauses have still something to do to the queue?
create function waypost.pauses_at_work()
returns table (tenant_id text, id uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    select p.tenant_id, p.id from waypost.pauses p where p.place is not null order by p.tenant_id, p.id
$$;

-- Whose lanes do not say what their pauses say? Finds nobody unless a lane was made in the moment of a pause.
create function waypost.tenants_with_wrong_lanes()
returns table (tenant_id text)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    select distinct l.tenant_id from waypost.lanes l
    where l.paused and not exists (
        select from waypost.pauses p
        where p.tenant_id = l.tenant_id and p.resumed_at is null
          and (p.scope = 'tenant' or p.scope = 'channel' and p.subject = l.channel::text))
    union
    select distinct p.tenant_id from waypost.pauses p
    join waypost.lanes l on l.tenant_id = p.tenant_id and not l.paused
    where p.resumed_at is null and (p.scope = 'tenant' or p.scope = 'channel' and p.subject = l.channel::text)
$$;

-- Who has rows that a pause holds, when does the first of them expire, and is there a pause at all? Walks from lane to lane
-- along the index, never through a lane's rows.
create function waypost.tenants_with_held_rows()
returns table (tenant_id text, first_expires timestamptz, stranded boolean)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
    with recursive first_row as (
        (select q.tenant_id, q.channel, q.priority, q.due from waypost.queue q
         where q.claims < 2
         order by q.tenant_id, q.channel, q.priority, q.due, q.id limit 1)
        union all
        select n.tenant_id, n.channel, n.priority, n.due from first_row f
        cross join lateral (
            select q.tenant_id, q.channel, q.priority, q.due from waypost.queue q
            where (q.tenant_id, q.channel, q.priority) > (f.tenant_id, f.channel, f.priority) and q.claims < 2
            order by q.tenant_id, q.channel, q.priority, q.due, q.id limit 1) n
    )
    select f.tenant_id, min(f.due), not exists (select from waypost.pauses p where p.tenant_id = f.tenant_id)
    from first_row f where f.priority >= 8 group by f.tenant_id;
end
$$;

-- How does the whole queue stand? For the platform: sums over all tenants, each lane counted to p_at_most.
create function waypost.queue_totals(p_at_most integer)
returns table (channel smallint, priority smallint, waiting bigint, scheduled bigint, held bigint, in_flight bigint,
               oldest_due timestamptz, capped boolean)
language sql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
    select l.channel, l.priority, sum(w.rows)::bigint, sum(s.rows)::bigint, sum(h.rows)::bigint, sum(f.rows)::bigint,
           min(o.due), bool_or(greatest(w.rows, s.rows, h.rows) >= p_at_most)
    from waypost.lanes l
    cross join lateral (
        select count(*) as rows from (
            select from waypost.queue q where q.tenant_id = l.tenant_id and q.channel = l.channel and q.priority = l.priority
              and q.claims < 2 and q.due <= now() limit p_at_most) c) w
    cross join lateral (
        select count(*) as rows from (
            select from waypost.queue q where q.tenant_id = l.tenant_id and q.channel = l.channel and q.priority = l.priority
              and q.claims < 2 and q.due > now() limit p_at_most) c) s
    cross join lateral (
        select count(*) as rows from (
            select from waypost.queue q where q.tenant_id = l.tenant_id and q.channel = l.channel
              and q.priority = l.priority + 8 and q.claims < 2 limit p_at_most) c) h
    cross join lateral (
        select coalesce(sum(cardinality(x.ids)), 0) as rows from waypost.claims x
        where x.tenant_id = l.tenant_id and x.channel = l.channel and x.priority = l.priority) f
    left join lateral (
        select q.due from waypost.queue q
        where q.tenant_id = l.tenant_id and q.channel = l.channel and q.priority = l.priority and q.claims < 2
          and q.due <= now() and not l.paused
        order by q.due limit 1) o on true
    group by l.channel, l.priority
$$;

-- How many workers have a lease in force?
create function waypost.workers_alive()
returns bigint
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    select count(*) from waypost.workers w where w.lease_until > now()
$$;

-- Whose work has been due since before a moment, though nobody has paused it? Longest waiting first.
create function waypost.stalled_lanes(p_before timestamptz, p_at_most integer)
returns table (tenant_id text, channel smallint, oldest_due timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    select l.tenant_id, l.channel, min(l.due) from waypost.lanes l
    where l.due < p_before and not l.paused
      and exists (select from waypost.tenants t where t.id = l.tenant_id and t.status = 'active')
    group by l.tenant_id, l.channel order by min(l.due) limit least(p_at_most, 1000)
$$;

-- To whom has much gone wrong lately?
create function waypost.recent_troubles(p_since timestamptz)
returns table (tenant_id text, trouble text, count bigint)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    select c.tenant_id, c.trouble, sum(c.count)::bigint from waypost.trouble_counts c
    where c.slot >= p_since group by c.tenant_id, c.trouble
$$;

-- Whose alerts are to be told now?
create function waypost.tenants_to_alert(p_now timestamptz, p_at_most integer)
returns table (tenant_id text)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    select u.tenant_id from (
        select a.tenant_id from waypost.alerts a where a.tell_at <= p_now
        union
        select t.tenant_id from waypost.alert_tellings t where t.due <= p_now) u
    order by u.tenant_id limit least(p_at_most, 1000)
$$;

-- Who has alerts of these kinds open?
create function waypost.tenants_with_open_alerts(p_kinds text[])
returns table (tenant_id text)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    select distinct a.tenant_id from waypost.alerts a where a.closed_at is null and a.kind = any (p_kinds)
$$;

-- Which workers are gone, by the database's clock? Nobody within one lease of the server's start: until then a living
-- worker may still be on its way back with outcomes that only it knows.
create function waypost.lost_workers(p_lease interval)
returns table (worker_id uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    select l.id
    from (
        select w.id from waypost.workers w where w.lease_until < now()
        union
        select c.worker_id from waypost.claims c
        where not exists (select from waypost.workers w where w.id = c.worker_id)
    ) l
    where now() > pg_postmaster_start_time() + p_lease
$$;

-- What did a worker hold? Each is then taken up again inside its own tenant.
create function waypost.abandoned_claims(p_worker uuid)
returns table (tenant_id text, id uuid, channel smallint, priority smallint)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    select c.tenant_id, c.id, c.channel, c.priority from waypost.claims c
    where c.worker_id = p_worker order by c.tenant_id, c.id, c.channel, c.priority
$$;

-- Whose timers are due, each tenant once and in order? Where few are due they are looked at one by one. Where more are
-- due than p_sample, it walks from tenant to tenant along the index: one tenant's million never hides another's one.
create function waypost.tenants_with_due_timers(p_at timestamptz, p_after text, p_at_most integer, p_sample integer)
returns table (tenant_id text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_due integer := (select count(*) from (
        select from waypost.timers d where d.state = 'waiting' and d.due <= p_at order by d.due limit p_sample + 1) s);
begin
    if v_due <= p_sample then
        return query
        select distinct d.tenant_id from waypost.timers d
        where d.state = 'waiting' and d.due <= p_at and d.tenant_id > coalesce(p_after, '')
          and exists (select from waypost.tenants t where t.id = d.tenant_id and t.status = 'active')
        order by 1 limit p_at_most;
        return;
    end if;
    return query
    with recursive first_timer as (
        (select d.tenant_id, d.due from waypost.timers d
         where d.state = 'waiting' and d.tenant_id > coalesce(p_after, '')
         order by d.tenant_id, d.due limit 1)
        union all
        select n.tenant_id, n.due from first_timer f
        cross join lateral (
            select d.tenant_id, d.due from waypost.timers d
            where d.state = 'waiting' and d.tenant_id > f.tenant_id
            order by d.tenant_id, d.due limit 1) n
    )
    select f.tenant_id from first_timer f
    where f.due <= p_at and exists (select from waypost.tenants t where t.id = f.tenant_id and t.status = 'active')
    limit p_at_most;
end
$$;

-- Of whose news has a reader not been told everything, or is something due again for a broker? From one tenant on, then
-- round, so that nobody is always last. Walks from tenant to tenant along the index, never through their rows.
create function waypost.unread_news(p_reader integer, p_now timestamptz, p_after text, p_at_most integer)
returns table (tenant_id text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
    with recursive one as (
        (select u.tenant_id from waypost.outbox_unread u where u.reader = p_reader order by u.tenant_id limit 1)
        union all
        select n.tenant_id from one o
        cross join lateral (
            select u.tenant_id from waypost.outbox_unread u
            where u.reader = p_reader and u.tenant_id > o.tenant_id order by u.tenant_id limit 1) n
    ), wanted as (
        select o.tenant_id from one o
        union
        select b.tenant_id from (
            select x.tenant_id from waypost.publish_backlog x where x.reader = p_reader and x.due <= p_now
            order by x.due limit 1000) b
    )
    select w.tenant_id from wanted w order by w.tenant_id <= p_after, w.tenant_id limit least(p_at_most, 1000);
end
$$;

-- Which endpoints of active tenants have something due and a free place? Longest waiting first.
create function waypost.due_webhooks(p_now timestamptz, p_at_most integer)
returns table (tenant_id text, endpoint_id uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
    select l.tenant_id, l.endpoint_id from waypost.webhook_lanes l
    where l.due < 'infinity' and l.due <= p_now and least(l.busy_a, l.busy_b) <= p_now
      and exists (select from waypost.tenants t where t.id = l.tenant_id and t.status = 'active')
    order by l.due limit least(p_at_most, 1000)
$$;

-- Which tenants have a replay to go on with?
create function waypost.open_replays(p_at_most integer)
returns table (tenant_id text)
language sql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
    select distinct r.tenant_id from waypost.webhook_replays r where not r.done limit least(p_at_most, 1000)
$$;

-- How far are the readers behind? For metrics: batches over all tenants, counted to p_at_most, and the oldest of each.
create function waypost.relay_standing(p_now timestamptz, p_at_most integer)
returns table (reader smallint, waiting bigint, oldest timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    (select u.reader, count(*), min(u.at)
     from (select x.reader, x.at from waypost.outbox_unread x limit least(p_at_most, 100000)) u group by u.reader)
    union all
    (select (-1)::smallint, count(*), min(l.due)
     from (select x.due from waypost.webhook_lanes x where x.due < 'infinity' and x.due <= p_now
           limit least(p_at_most, 100000)) l having count(*) > 0)
$$;

-- Which tenants keep rows past their time? The purge then deletes them tenant by tenant. Looks at the oldest rows only.
create function waypost.tenants_to_purge(p_kind text, p_before timestamptz, p_at_most integer)
returns table (tenant_id text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    case p_kind
        when 'idempotency_keys' then
            return query select distinct o.tenant_id from (
                select k.tenant_id from waypost.idempotency_keys k where k.created_at < p_before
                order by k.created_at limit 10000) o limit p_at_most;
        when 'gate_changes' then
            return query select distinct o.tenant_id from (
                select g.tenant_id from waypost.gate_changes g where g.changed_at < p_before
                order by g.changed_at limit 10000) o limit p_at_most;
        when 'notification_dedupe' then
            return query select distinct o.tenant_id from (
                select d.tenant_id from waypost.notification_dedupe d where d.kept_until < p_before
                order by d.kept_until limit 10000) o limit p_at_most;
        when 'outbox' then
            -- No index by age, which every send would pay for: a tenant's first row is its oldest.
            return query select t.id from waypost.tenants t cross join lateral (
                select b.at from waypost.outbox b where b.tenant_id = t.id order by b.id limit 1) first
                where first.at < p_before limit p_at_most;
        when 'consumed_events' then
            return query select distinct o.tenant_id from (
                select e.tenant_id from waypost.consumed_events e where e.received_at < p_before
                order by e.received_at limit 10000) o limit p_at_most;
        when 'event_failures' then
            return query select distinct o.tenant_id from (
                select e.tenant_id from waypost.event_failures e where e.failed_at < p_before
                order by e.failed_at limit 10000) o limit p_at_most;
        when 'timers' then
            return query select distinct o.tenant_id from (
                select d.tenant_id from waypost.timers d where d.ended_at < p_before
                order by d.ended_at limit 10000) o limit p_at_most;
        when 'timer_news' then
            return query select distinct o.tenant_id from (
                select n.tenant_id from waypost.timer_news n where n.kept_until < p_before
                order by n.kept_until limit 10000) o limit p_at_most;
        when 'throttles' then
            return query select distinct o.tenant_id from (
                select h.tenant_id from waypost.throttles h where h.touched_at < p_before
                order by h.touched_at limit 10000) o limit p_at_most;
        when 'blobs' then
            return query select distinct o.tenant_id from (
                select b.tenant_id from waypost.blobs b where b.kept_until < p_before
                order by b.kept_until limit 10000) o limit p_at_most;
        when 'outbox_unread' then
            return query select distinct u.tenant_id from waypost.outbox_unread u where u.at < p_before limit p_at_most;
        when 'publish_backlog' then
            return query select distinct b.tenant_id from waypost.publish_backlog b where b.at < p_before limit p_at_most;
        when 'webhook_deliveries' then
            -- By the id's own time: a tenant's first delivery is its oldest.
            return query select t.id from waypost.tenants t cross join lateral (
                select d.id from waypost.webhook_deliveries d where d.tenant_id = t.id order by d.id limit 1) first
                where first.id < (lpad(to_hex((extract(epoch from p_before) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
                limit p_at_most;
        when 'dead_letters' then
            return query select distinct o.tenant_id from (
                select d.tenant_id from waypost.dead_letters d where d.at < p_before order by d.at limit 10000) o limit p_at_most;
        when 'trouble_counts' then
            return query select distinct c.tenant_id from waypost.trouble_counts c where c.slot < p_before limit p_at_most;
        when 'alerts' then
            return query select distinct a.tenant_id from waypost.alerts a where a.closed_at < p_before limit p_at_most;
    end case;
end
$$;

-- Whose long work waits, or was left by a worker that is gone? Who waited longest comes first.
create function waypost.due_jobs(p_at_most integer)
returns table (tenant_id text, id uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    select j.tenant_id, j.id from waypost.jobs j
    where j.state in ('waiting', 'running') and (j.state = 'waiting' or j.lease_until < now())
    order by j.served_at limit p_at_most
$$;

-- Which dispatch batches have a step to do? The one that waits longest first.
create function waypost.due_batches(p_at timestamptz, p_at_most integer)
returns table (tenant_id text, id uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    select b.tenant_id, b.id from waypost.dispatch_batches b
    where b.next_step_at <= p_at order by b.next_step_at limit p_at_most
$$;

-- Whose jobs keep files past their time?
create function waypost.jobs_to_tidy(p_at_most integer)
returns table (tenant_id text, id uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    select j.tenant_id, j.id from waypost.jobs j where j.files_until < now() order by j.files_until limit p_at_most
$$;

-- Which tenants have something in an inbox that has expired, or that is to wake? Two or three look-ups for each tenant.
create function waypost.inbox_tenants_due(p_now timestamptz, p_at_most integer)
returns table (tenant_id text)
language sql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
    select t.id from waypost.tenants t
    where exists (select from waypost.inbox_items i where i.tenant_id = t.id and i.expires_at <= p_now
                  and i.expires_at > '-infinity')
       or exists (select from waypost.inbox_posts p where p.tenant_id = t.id and p.expires_at <= p_now
                  and p.expires_at > '-infinity')
       or exists (select from waypost.inbox_items i where i.tenant_id = t.id and i.snoozed_until <= p_now)
    limit p_at_most
$$;
grant execute on function waypost.inbox_tenants_due(timestamptz, integer) to waypost_worker;

-- Does another tenant hold this domain? Says yes or no, and never who. One that is being deleted holds nothing.
create function waypost.domain_is_taken(p_name text)
returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    select exists (
        select from waypost.domains d join waypost.tenants t on t.id = d.tenant_id
        where d.name = p_name and d.state in ('verified', 'failing') and t.status <> 'deleting'
          and d.tenant_id is distinct from current_setting('app.tenant_id', true))
$$;
grant execute on function waypost.domain_is_taken(text) to waypost_api, waypost_worker;

-- Which domains are to be looked at again? The longest waiting first, and none of a tenant on its way out.
create function waypost.due_domains(p_at timestamptz, p_at_most integer)
returns table (tenant_id text, id uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
    select d.tenant_id, d.id from waypost.domains d join waypost.tenants t on t.id = d.tenant_id
    where d.next_check_at <= p_at and t.status <> 'deleting' order by d.next_check_at limit p_at_most
$$;
grant execute on function waypost.due_domains(timestamptz, integer) to waypost_worker;

grant execute on function waypost.api_key_owner(bytea), waypost.tenant_directory(text, integer, text),
    waypost.tenant_of_notification(uuid) to waypost_api;
grant execute on function waypost.due_jobs(integer), waypost.jobs_to_tidy(integer),
    waypost.due_batches(timestamptz, integer), waypost.changed_senders(timestamptz) to waypost_worker;
grant execute on function waypost.queue_totals(integer) to waypost_api;
grant execute on function waypost.pauses_in_force(), waypost.pauses_at_work(), waypost.tenants_with_wrong_lanes(),
    waypost.tenants_with_held_rows() to waypost_worker;
grant execute on function waypost.workers_alive(), waypost.stalled_lanes(timestamptz, integer),
    waypost.recent_troubles(timestamptz), waypost.tenants_to_alert(timestamptz, integer),
    waypost.tenants_with_open_alerts(text[]) to waypost_api, waypost_worker;
grant execute on function waypost.due_lanes(integer), waypost.next_lane_due(), waypost.sleeping_lanes(),
    waypost.due_suspects(integer), waypost.queue_standing(integer), waypost.lost_workers(interval), waypost.abandoned_claims(uuid),
    waypost.tenants_with_due_timers(timestamptz, text, integer, integer),
    waypost.unread_news(integer, timestamptz, text, integer), waypost.due_webhooks(timestamptz, integer), waypost.open_replays(integer),
    waypost.relay_standing(timestamptz, integer),
    waypost.tenants_to_purge(text, timestamptz, integer) to waypost_worker;

reset role;
revoke create on schema waypost from waypost_resolver;

-- ── maintenance: belongs to the owner, which makes tables but, under FORCE, sees no tenant's rows ───────────────────

-- Makes the monthly partitions from this month (UTC) to so many months ahead, and never touches one that is there.
-- Answers with what it made, and with what it could not make and why: a row in the DEFAULT partition that belongs into
-- a new one, or a lock that did not come. The table is made aside and attached, so writers of the parent do not wait.
create or replace function waypost.ensure_partitions(p_months_ahead integer)
returns table (name text, problem text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s'
as $$
declare
    v_parent text;
    v_month timestamp;
    v_from uuid;
    v_to uuid;
begin
    perform pg_advisory_xact_lock(hashtext('waypost partitions'));
    for ahead in 0 .. p_months_ahead loop
        v_month := date_trunc('month', now() at time zone 'UTC') + make_interval(months => ahead);
        v_from := waypost.first_id_of(v_month);
        v_to := waypost.first_id_of(v_month + interval '1 month');
        foreach v_parent in array array['requests', 'notifications_standard', 'notifications_marketing',
            'attempts_standard', 'attempts_marketing', 'timeline_standard', 'timeline_marketing',
            'tracking_events_standard', 'tracking_events_marketing']
        loop
            name := v_parent || to_char(v_month, '_YYYY_MM');
            problem := null;
            continue when to_regclass('waypost.' || quote_ident(name)) is not null;
            begin
                execute format('create table waypost.%I (like waypost.%I including all)%s', name, v_parent,
                               case when v_parent like 'attempts%' then ' with (fillfactor = 50)' else '' end);
                execute format('grant select, insert, update, delete on waypost.%I to waypost_dba', name);
                execute format('alter table waypost.%I attach partition waypost.%I for values from (%L) to (%L)',
                               v_parent, name, v_from, v_to);
            exception
                when check_violation then problem := 'rows in the default partition belong here';
                when lock_not_available then problem := 'the default partition is in use';
            end;
            return next;
        end loop;
    end loop;
end
$$;

-- The lowest id of a moment (UTC): the first six bytes of a ULID are its milliseconds.
create or replace function waypost.first_id_of(p_moment timestamp)
returns uuid
language sql immutable strict parallel safe security invoker set search_path = pg_catalog, pg_temp
as $$
    select (lpad(to_hex((extract(epoch from p_moment) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

-- How many rows have fallen into DEFAULT partitions (counted to 1,000)? Any is a broken clock, and an alarm.
create or replace function waypost.default_partition_rows()
returns table (name text, rows bigint)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
begin
    for name in
        select c.relname from pg_class c
        where c.relnamespace = 'waypost'::regnamespace and c.relkind = 'r'
          and pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT'
        order by c.relname
    loop
        execute format('select count(*) from (select from waypost.%I limit 1000) counted', name) into rows;
        return next;
    end loop;
end
$$;

revoke execute on function waypost.ensure_partitions(integer), waypost.first_id_of(timestamp),
    waypost.default_partition_rows() from public;
grant execute on function waypost.ensure_partitions(integer) to waypost_worker;
grant execute on function waypost.default_partition_rows() to waypost_api, waypost_worker, waypost_dba;
