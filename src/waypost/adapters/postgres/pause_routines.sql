-- revision: 3
-- What pauses do to the queue, and how dead letters go back into it, by whoever calls (SECURITY INVOKER), under row level
-- security. Applied again whenever this file changes.
--
-- A paused tenant or channel keeps its lanes out of the claim (lanes.paused). What is held by a pause of an account, a
-- broadcast or a category stays in the queue, eight priorities lower, where no lane is: so it counts as queued everywhere,
-- can be cancelled, and costs the claim nothing. Its due time is when it expires.

-- Which of these rows are held by what they are? Sorted ids. The tenant must be set.
create or replace function waypost.held_ids(p_ids uuid[]) returns uuid[]
language plpgsql stable
set search_path = waypost, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
    v_tenant text := current_setting('app.tenant_id'); v_keys text[]; v_categories text[];
    v_first uuid := p_ids[1]; v_last uuid := p_ids[cardinality(p_ids)];
begin
    select array_agg('brd:' || p.subject) filter (where p.scope = 'broadcast'),
           array_agg(p.subject) filter (where p.scope = 'category')
    into v_keys, v_categories
    from pauses p where p.tenant_id = v_tenant and p.resumed_at is null and p.scope in ('broadcast', 'category');
    if v_keys is null and v_categories is null then
        return '{}';
    end if;
    return array(
        select m.id from notifications m
        where m.tenant_id = v_tenant and m.id = any (p_ids) and m.id between v_first and v_last
          and (m.category::text = any (v_categories) or exists (
              select from notification_dedupe d
              where d.tenant_id = v_tenant and d.dedupe_key = any (v_keys) and d.recipient_id = m.recipient_id
                and d.notification_id = m.id))
        order by m.id);
end
$$;

-- Puts rows that a worker had claimed where pauses hold them; those whose pause has ended meanwhile go back to their lane.
-- The pauses stay locked until the commit, so that whoever ends one finds what it held. p_ids is sorted.
create or replace function waypost.hold(
    p_ids uuid[], p_channels smallint[], p_priorities smallint[], p_dues timestamptz[], p_retentions smallint[],
    p_attempts smallint[], p_claims smallint[], p_accounts uuid[]
) returns void
language plpgsql
set search_path = waypost, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
    v_tenant text := current_setting('app.tenant_id'); v_held uuid[];
    v_first uuid := p_ids[1]; v_last uuid := p_ids[cardinality(p_ids)];
begin
    perform from pauses p where p.tenant_id = v_tenant and p.resumed_at is null order by p.id for share;
    v_held := held_ids(p_ids) || array(
        select u.id from unnest(p_ids, p_accounts) as u (id, account)
        where u.account is not null and exists (
            select from pauses p where p.tenant_id = v_tenant and p.resumed_at is null and p.scope = 'account'
              and p.subject = replace(u.account::text, '-', '')));
    insert into queue (tenant_id, channel, priority, due, id, retention, attempt, claims)
    select v_tenant, u.channel, u.priority + 8, m.expires_at, u.id, u.retention, u.attempt, u.claims
    from unnest(p_ids, p_channels, p_priorities, p_retentions, p_attempts, p_claims)
         as u (id, channel, priority, retention, attempt, claims)
    cross join lateral (
        select n.expires_at from notifications n
        where n.tenant_id = v_tenant and n.id = u.id and n.id between v_first and v_last limit 1) m
    where u.id = any (v_held)
    order by u.id
    on conflict (tenant_id, id) do nothing;
    perform enqueue(array_agg(u.id), array_agg(u.channel), array_agg(u.priority), array_agg(u.due), array_agg(u.retention),
                    array_agg(u.attempt), array_agg(u.claims))
    from unnest(p_ids, p_channels, p_priorities, p_dues, p_retentions, p_attempts, p_claims)
         as u (id, channel, priority, due, retention, attempt, claims)
    where u.id <> all (v_held)
    having count(*) > 0;
end
$$;

-- These rows of the queue, which the caller has locked, are due now: those that were held are in their lanes again, and the
-- lanes are awake.
create or replace function waypost.make_due(p_ids uuid[]) returns void
language plpgsql
set search_path = waypost, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
    v_tenant text := current_setting('app.tenant_id'); v_now timestamptz; lane record;
begin
    for lane in
        select q.channel, (q.priority % 8)::smallint as priority from queue q
        where q.tenant_id = v_tenant and q.id = any (p_ids) group by 1, 2 order by 1, 2
    loop
        perform pg_advisory_xact_lock_shared(lane_lock(v_tenant, lane.channel, lane.priority));
    end loop;
    v_now := clock_timestamp();
    for lane in
        with called as (
            update queue q set priority = q.priority % 8, due = v_now
            where q.tenant_id = v_tenant and q.id = any (p_ids) returning q.channel, q.priority
        )
        select c.channel, c.priority from called c group by c.channel, c.priority order by c.channel, c.priority
    loop
        perform wake_lane(lane.channel, lane.priority, v_now);
    end loop;
end
$$;

-- Brings held rows that no pause holds any more back to their lanes: a walk through the tenant's queue by id, of which
-- this is one step. Answers where the next begins, null at the end.
create or replace function waypost.bring_back(p_place uuid, p_at_most integer) returns uuid
language plpgsql
set search_path = waypost, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
    v_tenant text := current_setting('app.tenant_id'); v_walked uuid[]; v_ids uuid[];
begin
    v_walked := array(select q.id from queue q where q.tenant_id = v_tenant and q.id >= p_place order by q.id limit p_at_most);
    v_ids := array(
        select q.id from queue q where q.tenant_id = v_tenant and q.id = any (v_walked) and q.priority >= 8
        order by q.id for update);
    if cardinality(v_ids) > 0 then
        v_ids := array(select u.id from unnest(v_ids) as u (id) where u.id <> all (held_ids(v_ids)));
    end if;
    perform make_due(v_ids);
    return case when cardinality(v_walked) = p_at_most then v_walked[p_at_most] end;
end
$$;

-- Something about the tenant's sender accounts has changed: what waits for one to have room, or because the server of this
-- one could not be entered, is due now. What waits for anything else stays. A walk through the tenant's queue by id, of
-- which this is one step; with the first, the days and moments that were promised are forgotten, for all are asked anew.
-- Answers where the next begins, null at the end.
create or replace function waypost.call_up(p_account uuid, p_place uuid, p_at_most integer) returns uuid
language plpgsql
set search_path = waypost, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
    v_tenant text := current_setting('app.tenant_id'); v_walked uuid[]; v_ids uuid[];
    -- Only workers write down how fast providers are written to, so only they call up what waits for that.
    v_is_worker boolean := has_column_privilege('waypost.sender_paces', 'plan_at', 'update');
begin
    if p_place = '00000000-0000-0000-0000-000000000000' then
        -- In the order in which workers lock them.
        perform from sender_states s where s.tenant_id = v_tenant order by s.account_id for update;
        update sender_states s set plan_at = null, plan_day = null, planned = 0
        where s.tenant_id = v_tenant and (s.plan_at is not null or s.plan_day is not null);
        if v_is_worker then
            update sender_paces p set plan_at = null where p.tenant_id = v_tenant and p.plan_at is not null;
        end if;
    end if;
    v_walked := array(select q.id from queue q where q.tenant_id = v_tenant and q.id >= p_place order by q.id limit p_at_most);
    -- Skipped: what somebody else is claiming or taking back.
    v_ids := array(
        select q.id from queue q
        where q.tenant_id = v_tenant and q.id = any (v_walked) and q.priority < 8 and q.due > now()
        order by q.id for update skip locked);
    v_ids := array(
        select q.id from queue q
        left join lateral (
            select t.at, t.event, t.reason from timeline t
            where t.tenant_id = v_tenant and t.notification_id = q.id and t.retention = q.retention
            order by t.id desc limit 1) said on true
        left join lateral (
            select a.started_at, a.outcome, a.account_id from attempts a
            where a.tenant_id = v_tenant and a.notification_id = q.id and a.retention = q.retention
            order by a.n desc limit 1) tried on true
        where q.tenant_id = v_tenant and q.id = any (v_ids) and case
            when said.at is not null and (tried.started_at is null or tried.started_at <= said.at)
            then said.event = 'deferred'
                 and (said.reason = any ('{sender_limit,sender_pace,sender_paused}'::text[])
                      or said.reason = 'provider_pace' and v_is_worker)
            else tried.outcome = 4 and tried.account_id = p_account end);
    perform make_due(v_ids);
    return case when cardinality(v_walked) = p_at_most then v_walked[p_at_most] end;
end
$$;

-- One step of what a pause has to do to the queue: hold what is due and belongs to it, or, once it has ended, bring back
-- what it held; then it is gone. False when there is nothing more to do, or somebody else is at it.
create or replace function waypost.pause_step(p_pause uuid, p_at_most integer) returns boolean
language plpgsql
set search_path = waypost, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
    v_tenant text := current_setting('app.tenant_id'); v_pause pauses; v_walked uuid[]; v_ids uuid[]; v_place uuid;
begin
    select * into v_pause from pauses p where p.tenant_id = v_tenant and p.id = p_pause for update skip locked;
    if not found or v_pause.place is null then
        return false;
    end if;
    -- A walk for a changed account was never a pause. It comes a little later than the change, and so finds also what a
    -- worker was just putting off by what it knew before.
    if v_pause.created_at = v_pause.resumed_at and v_pause.resumed_at > now() - interval '10 seconds' then
        return false;
    end if;
    if v_pause.resumed_at is not null then
        v_place := bring_back(v_pause.place, p_at_most);
        if v_pause.scope = 'account' then
            v_place := least(v_place, call_up(v_pause.subject::uuid, v_pause.place, p_at_most));
        end if;
        if v_place is null then
            delete from pauses p where p.tenant_id = v_tenant and p.id = p_pause;
            return false;
        end if;
        update pauses p set place = v_place where p.tenant_id = v_tenant and p.id = p_pause;
        return true;
    end if;

    if v_pause.scope = 'broadcast' then
        -- A person stands here once for each channel, so the walk gets on although it begins where it ended.
        select array_agg(w.notification_id), array_agg(w.recipient_id) into v_ids, v_walked
        from (select d.notification_id, d.recipient_id from notification_dedupe d
              where d.tenant_id = v_tenant and d.dedupe_key = 'brd:' || v_pause.subject and d.recipient_id >= v_pause.place
              order by d.recipient_id, d.channel limit p_at_most) w;
    else
        v_walked := array(
            select q.id from queue q where q.tenant_id = v_tenant and q.id >= v_pause.place order by q.id limit p_at_most);
        v_ids := v_walked;
    end if;
    v_ids := array(
        select q.id from queue q
        where q.tenant_id = v_tenant and q.id = any (v_ids) and q.priority < 8 and q.due <= now()
        order by q.id for update skip locked);
    if cardinality(v_ids) > 0 then
        v_ids := held_ids(v_ids);
        update queue q set priority = q.priority + 8, due = (
            select m.expires_at from notifications m
            where m.tenant_id = v_tenant and m.id = q.id and m.retention = q.retention)
        where q.tenant_id = v_tenant and q.id = any (v_ids);
    end if;
    v_place := case when cardinality(v_walked) = p_at_most then v_walked[p_at_most] end;
    update pauses p set place = v_place where p.tenant_id = v_tenant and p.id = p_pause;
    return v_place is not null;
end
$$;

-- Makes the tenant's lanes say what its pauses say. A lane that goes on joins the others where they are now.
create or replace function waypost.mark_paused_lanes() returns void
language plpgsql
set search_path = waypost, pg_temp
as $$
declare
    v_tenant text := current_setting('app.tenant_id'); lane record;
begin
    for lane in
        select l.channel, l.priority, l.paused from lanes l
        where l.tenant_id = v_tenant order by l.channel, l.priority for update
    loop
        if lane.paused <> is_lane_paused(v_tenant, lane.channel) then
            update lanes l set paused = not lane.paused, ready = false
            where l.tenant_id = v_tenant and l.channel = lane.channel and l.priority = lane.priority;
        end if;
    end loop;
end
$$;

-- Puts dead letters back into the queue, where it can be done, and says of each what came of it. Its attempts go on
-- counting. p_until: what a message that has expired gets instead; null refuses it. p_notes: an id for each entry.
create or replace function waypost.redrive(p_ids uuid[], p_notes uuid[], p_until timestamptz)
returns table (id uuid, result text)
language plpgsql
set search_path = waypost, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_tenant text := current_setting('app.tenant_id'); v_ids uuid[]; v_results text[]; v_back uuid[];
begin
    select array_agg(f.id), array_agg(f.result) into v_ids, v_results from (
        select d.id, case when m.id is null or m.status not in (7, 10) then 'gone'
                          when m.data_key is null then 'erased'
                          when d.spent then 'secrets_gone'
                          when m.expires_at <= now() and p_until is null then 'expired'
                          else 'redriven' end as result
        from (select x.id, x.retention, x.spent from dead_letters x
              where x.tenant_id = v_tenant and x.id = any (p_ids) order by x.id for update) d
        left join lateral (
            select n.id, n.status, n.expires_at, r.data_key from notifications n
            left join recipients r on r.tenant_id = v_tenant and r.id = n.recipient_id
            where n.tenant_id = v_tenant and n.id = d.id and n.retention = d.retention limit 1) m on true
        order by d.id) f;
    v_back := array(select u.id from unnest(v_ids, v_results) as u (id, result) where u.result = 'redriven');
    update notifications m
    set status = 2, reason = null, expires_at = case when m.expires_at <= now() then p_until else m.expires_at end
    where m.tenant_id = v_tenant and m.id = any (v_back) and m.id between v_back[1] and v_back[cardinality(v_back)];
    perform enqueue(array_agg(q.id), array_agg(q.channel), array_agg(q.priority), array_agg(now()), array_agg(q.retention),
                    array_agg(q.attempt), array_agg(0::smallint))
    from (select m.id, m.channel, m.priority, m.retention, coalesce((
              select a.n from attempts a
              where a.tenant_id = v_tenant and a.notification_id = m.id and a.retention = m.retention
              order by a.n desc limit 1), 0)::smallint as attempt
          from notifications m
          where m.tenant_id = v_tenant and m.id = any (v_back) and m.id between v_back[1] and v_back[cardinality(v_back)]) q
    having count(*) > 0;
    insert into timeline (tenant_id, notification_id, retention, id, at, event, detail)
    select v_tenant, d.id, d.retention, p_notes[array_position(p_ids, d.id)], now(), 'redriven', '{}'
    from dead_letters d where d.tenant_id = v_tenant and d.id = any (v_back);
    delete from dead_letters d where d.tenant_id = v_tenant and d.id = any (
        v_back || array(select u.id from unnest(v_ids, v_results) as u (id, result) where u.result = 'gone'));
    return query select u.id, u.result from unnest(v_ids, v_results) as u (id, result);
end
$$;

revoke execute on function waypost.held_ids, waypost.hold, waypost.make_due, waypost.bring_back, waypost.call_up,
    waypost.pause_step, waypost.mark_paused_lanes, waypost.redrive from public;
grant execute on function waypost.held_ids, waypost.make_due, waypost.bring_back, waypost.call_up, waypost.pause_step,
    waypost.mark_paused_lanes, waypost.redrive to waypost_api, waypost_worker;
grant execute on function waypost.hold to waypost_worker;
