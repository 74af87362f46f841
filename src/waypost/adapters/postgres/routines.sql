-- revision: 2
-- Routines that run as whoever calls them (SECURITY INVOKER), under row level security: enqueue, claim and settle.
-- Applied again, by the owner, whenever this file changes; raise the revision with every change that is released, so
-- that an older process starting beside a newer one does not bring the old text back.
--
-- Their plans must not depend on statistics: each forbids the scans and joins that are good only for what the tables
-- happened to hold, and is planned once. `= any (ids)` finds the rows, the range beside it the partitions (which an
-- array parameter cannot), and width_bucket, a binary search, the row's place in the sorted array.
--
-- How a lane falls asleep without losing a row: whoever inserts into a lane holds its advisory lock shared until commit;
-- the claim puts a lane's `due` or `head` later only when it gets that lock alone, and looks again after getting it.
-- So either the row is seen, or the inserter sees the sleeping lane and wakes it. A lane that is already due is not
-- written by inserters at all. The claim itself never waits for anybody.

create or replace function waypost.lane_lock(p_tenant text, p_channel smallint, p_priority smallint) returns bigint
language sql immutable strict parallel safe
return hashtextextended(p_tenant, 7265110 + p_channel * 8 + p_priority);

-- What a message costs its lane: urgent gets four times the share of normal, normal four times that of low.
create or replace function waypost.lane_stride(p_priority smallint) returns bigint
language sql immutable strict parallel safe
return (array[1, 4, 16])[p_priority + 1];

create or replace function waypost.enqueue(
    p_ids uuid[], p_channels smallint[], p_priorities smallint[], p_dues timestamptz[], p_retentions smallint[],
    p_attempts smallint[], p_claims smallint[]
) returns void
language plpgsql
set search_path = waypost, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
    v_tenant text := current_setting('app.tenant_id'); v_now timestamptz; lane record;
begin
    for lane in
        select u.channel, u.priority from unnest(p_channels, p_priorities) as u (channel, priority)
        group by u.channel, u.priority order by u.channel, u.priority
    loop
        perform pg_advisory_xact_lock_shared(lane_lock(v_tenant, lane.channel, lane.priority));
    end loop;

    -- Never due in the past: what comes later lies behind every head that was set before the lock was ours.
    v_now := clock_timestamp();
    insert into queue (tenant_id, channel, priority, due, id, retention, attempt, claims)
    select v_tenant, u.channel, u.priority, greatest(u.due, v_now), u.id, u.retention, u.attempt, u.claims
    from unnest(p_ids, p_channels, p_priorities, p_dues, p_retentions, p_attempts, p_claims)
         as u (id, channel, priority, due, retention, attempt, claims)
    order by u.id
    on conflict (tenant_id, id) do nothing;

    for lane in
        select u.channel, u.priority, min(greatest(u.due, v_now)) as due
        from unnest(p_channels, p_priorities, p_dues, p_claims) as u (channel, priority, due, claims)
        where u.claims < 2
        group by u.channel, u.priority order by u.channel, u.priority
    loop
        perform wake_lane(lane.channel, lane.priority, lane.due);
    end loop;
end
$$;

-- A column of a batch. Where all rows say the same, it may come as that one value.
create or replace function waypost.spread(p_column anyarray, p_rows integer) returns anyarray
language sql immutable parallel safe
as $$ select case when cardinality(p_column) = 1 then array_fill(p_column[1], array[p_rows]) else p_column end $$;

-- What a batch of calls made, in one round trip: each place (key, recipient, channel) is taken once, each request names
-- all of its own, new notifications are stored, and those with a due time queued. p_drafts is what the requests stand
-- for, one after the other, p_counts of them each; the other arrays are about the rows that want to be new, one value for
-- each or one for all. Answers with
-- those whose place was taken before, and by whom. Places are taken in order, so that two calls wait for each other and
-- never in a ring.
create or replace function waypost.accept(
    p_requests uuid[], p_askers uuid[], p_counts integer[], p_drafts uuid[], p_ids uuid[], p_request_ids uuid[],
    p_keys text[], p_key_channels smallint[],
    p_kept_until timestamptz[], p_dues timestamptz[], p_retentions smallint[], p_recipients uuid[], p_addresses uuid[],
    p_channels smallint[], p_categories smallint[], p_topics text[], p_priorities smallint[], p_statuses smallint[],
    p_reasons text[], p_gates smallint[], p_versions uuid[], p_locales text[], p_send_at timestamptz[],
    p_expires_at timestamptz[], p_payloads bytea[], p_secrets bytea[]
) returns table (wanted uuid, owner uuid)
language plpgsql
set search_path = waypost, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_tenant text := current_setting('app.tenant_id'); v_wanted uuid[]; v_owners uuid[]; v_keyed integer;
    v_taken integer := 0; v_done integer := 0;
    v_rows integer := cardinality(p_ids);
begin
    if v_rows > 1 then
        p_request_ids := spread(p_request_ids, v_rows);
        p_keys := spread(p_keys, v_rows);
        p_key_channels := spread(p_key_channels, v_rows);
        p_kept_until := spread(p_kept_until, v_rows);
        p_dues := spread(p_dues, v_rows);
        p_retentions := spread(p_retentions, v_rows);
        p_recipients := spread(p_recipients, v_rows);
        p_addresses := spread(p_addresses, v_rows);
        p_channels := spread(p_channels, v_rows);
        p_categories := spread(p_categories, v_rows);
        p_topics := spread(p_topics, v_rows);
        p_priorities := spread(p_priorities, v_rows);
        p_statuses := spread(p_statuses, v_rows);
        p_reasons := spread(p_reasons, v_rows);
        p_gates := spread(p_gates, v_rows);
        p_versions := spread(p_versions, v_rows);
        p_locales := spread(p_locales, v_rows);
        p_send_at := spread(p_send_at, v_rows);
        p_expires_at := spread(p_expires_at, v_rows);
        p_secrets := spread(p_secrets, v_rows);
    end if;
    v_keyed := cardinality(array_remove(p_keys, null));
    if v_keyed > 0 then
        insert into notification_dedupe (tenant_id, dedupe_key, recipient_id, channel, notification_id, kept_until)
        select v_tenant, d.key, d.recipient_id, d.channel, d.id, d.kept_until
        from unnest(p_keys, p_recipients, p_key_channels, p_ids, p_kept_until) as d (key, recipient_id, channel, id, kept_until)
        where d.key is not null
        order by d.key, d.recipient_id, d.channel
        on conflict (tenant_id, dedupe_key, recipient_id, channel) do update
            set notification_id = excluded.notification_id, kept_until = excluded.kept_until
            where notification_dedupe.kept_until < now();
        get diagnostics v_taken = row_count;
        if v_taken < v_keyed then
            select array_agg(d.id), array_agg(o.notification_id) into v_wanted, v_owners
            from unnest(p_keys, p_recipients, p_key_channels, p_ids) as d (key, recipient_id, channel, id)
            cross join lateral (
                select e.notification_id from notification_dedupe e
                where e.tenant_id = v_tenant and e.dedupe_key = d.key and e.recipient_id = d.recipient_id
                  and e.channel = d.channel offset 0) o
            where d.key is not null and o.notification_id <> d.id;
        end if;
    end if;
    if v_wanted is not null then
        p_drafts := array(select coalesce(v_owners[array_position(v_wanted, d.id)], d.id)
                          from unnest(p_drafts) with ordinality as d (id, place) order by d.place);
    end if;
    for v_number in 1 .. cardinality(p_requests) loop
        insert into requests (tenant_id, id, key_id, notification_ids)
        values (v_tenant, p_requests[v_number], p_askers[v_number], p_drafts[v_done + 1 : v_done + p_counts[v_number]]);
        v_done := v_done + p_counts[v_number];
    end loop;
    insert into notifications (tenant_id, id, retention, request_id, recipient_id, address_id, channel, category, topic,
                               priority, status, reason, gate, version_id, locale, send_at, expires_at, payload, secrets)
    select v_tenant, n.id, n.retention, n.request_id, n.recipient_id, n.address_id, n.channel, n.category, n.topic,
           n.priority, n.status, n.reason, n.gate, n.version_id, n.locale, n.send_at, n.expires_at, n.payload, n.secrets
    from unnest(p_ids, p_request_ids, p_retentions, p_recipients, p_addresses, p_channels, p_categories, p_topics, p_priorities,
                p_statuses, p_reasons, p_gates, p_versions, p_locales, p_send_at, p_expires_at, p_payloads, p_secrets)
         as n (id, request_id, retention, recipient_id, address_id, channel, category, topic, priority, status, reason, gate,
               version_id, locale, send_at, expires_at, payload, secrets)
    where v_wanted is null or n.id <> all (v_wanted);
    if v_wanted is null and array_position(p_dues, null) is null then
        perform enqueue(p_ids, p_channels, p_priorities, p_dues, p_retentions,
                        array_fill(0::smallint, array[cardinality(p_ids)]),
                        array_fill(0::smallint, array[cardinality(p_ids)]));
    else
        perform enqueue(array_agg(q.id), array_agg(q.channel), array_agg(q.priority), array_agg(q.due),
                        array_agg(q.retention), array_agg(0::smallint), array_agg(0::smallint))
        from unnest(p_ids, p_channels, p_priorities, p_dues, p_retentions) as q (id, channel, priority, due, retention)
        where q.due is not null and (v_wanted is null or q.id <> all (v_wanted))
        having count(*) > 0;
    end if;
    return query select t.wanted, t.owner from unnest(v_wanted, v_owners) as t (wanted, owner);
end
$$;

-- Is a pause of the tenant or of this channel in force?
create or replace function waypost.is_lane_paused(p_tenant text, p_channel smallint) returns boolean
language sql stable
return exists (
    select from waypost.pauses p
    where p.tenant_id = p_tenant and p.resumed_at is null
      and (p.scope = 'tenant' or p.scope = 'channel' and p.subject = p_channel::text));

-- A lane of the tenant has a row that is due then. Writes nothing where the lane already knows.
create or replace function waypost.wake_lane(p_channel smallint, p_priority smallint, p_due timestamptz) returns void
language plpgsql
as $$
declare
    v_tenant text := current_setting('app.tenant_id');
begin
    update lanes l
    set due = least(l.due, p_due),
        head_id = case when l.head < p_due then l.head_id else '00000000-0000-0000-0000-000000000000' end,
        head = least(l.head, p_due)
    where l.tenant_id = v_tenant and l.channel = p_channel and l.priority = p_priority
      and (l.due > p_due and l.due > now() or l.head >= p_due);
    if not found then
        perform from lanes l where l.tenant_id = v_tenant and l.channel = p_channel and l.priority = p_priority;
        if not found then
            insert into lanes as l (tenant_id, channel, priority, due, paused)
            values (v_tenant, p_channel, p_priority, p_due, is_lane_paused(v_tenant, p_channel))
            on conflict (tenant_id, channel, priority) do update set due = least(l.due, excluded.due);
        end if;
    end if;
end
$$;

-- After a lane's turn: what it has consumed, when it is next due, and from where the next claim looks.
create or replace function waypost.book_turn(
    p_tenant text, p_channel smallint, p_priority smallint, p_start bigint, p_rows integer
) returns void
language plpgsql
as $$
declare
    v_alone boolean; v_head timestamptz; v_head_id uuid; v_due timestamptz; v_id uuid;
begin
    perform set_config('app.tenant_id', p_tenant, true);
    select l.head, l.head_id into v_head, v_head_id from lanes l
    where l.tenant_id = p_tenant and l.channel = p_channel and l.priority = p_priority
    for update skip locked;
    if not found then
        return;  -- another claim has it, and keeps its books
    end if;
    v_alone := pg_try_advisory_xact_lock(lane_lock(p_tenant, p_channel, p_priority));
    select q.due, q.id into v_due, v_id from queue q
    where q.tenant_id = p_tenant and q.channel = p_channel and q.priority = p_priority
      and (q.due, q.id) >= (v_head, v_head_id) and q.claims < 2
    order by q.due, q.id limit 1;
    if v_alone then
        v_head := coalesce(v_due, now());
        v_head_id := coalesce(v_id, '00000000-0000-0000-0000-000000000000');
    elsif v_due is null or v_due > now() then
        -- Somebody is inserting: look again in a moment, for what they insert may be due at once.
        v_due := least(v_due, now() + interval '25 milliseconds');
    end if;
    update lanes l
    set vtime = case when p_rows > 0 then p_start + p_rows * lane_stride(p_priority) else l.vtime end,
        ready = coalesce(v_due <= now(), false), due = coalesce(v_due, 'infinity'), head = v_head, head_id = v_head_id
    where l.tenant_id = p_tenant and l.channel = p_channel and l.priority = p_priority;
end
$$;

-- The rows of a claim, with all that is needed to send them. The tenant must be set; p_ids is sorted.
create or replace function waypost.claimed_rows(
    p_ids uuid[], p_attempts smallint[], p_claims smallint[], p_least smallint, p_most smallint
) returns setof waypost.claimed_row
language plpgsql
as $$
#variable_conflict use_column
declare
    v_tenant text := current_setting('app.tenant_id');
    v_first uuid := p_ids[1]; v_last uuid := p_ids[cardinality(p_ids)];
    -- The nil recipient stands for everyone: what the tenant has changed for all. Who has limits is always asked about.
    v_everyone timestamptz := (
        select case when exists (select from rate_limits l where l.tenant_id = v_tenant) then 'infinity' else (
            select g.changed_at from gate_changes g
            where g.tenant_id = v_tenant and g.recipient_id = '00000000-0000-0000-0000-000000000000') end);
begin
    return query
    select m.tenant_id, m.id, m.retention, (p_attempts[width_bucket(m.id, (select p_ids))] + 1)::smallint,
           p_claims[width_bucket(m.id, (select p_ids))], m.channel, m.category, m.priority, m.expires_at, m.recipient_id,
           m.address_id, m.version_id, m.locale, m.payload, m.secrets, r.data_key,
           -- The driver has no word for infinity that can be compared.
           case when coalesce(g.changed_at, v_everyone) is not null
                then least(greatest(g.changed_at, v_everyone), '9999-01-01 00:00:00+00') end, m.topic
    from notifications m
    left join recipients r on r.tenant_id = v_tenant and r.id = m.recipient_id
    left join gate_changes g on g.tenant_id = v_tenant and g.recipient_id = m.recipient_id
    where m.tenant_id = v_tenant and m.id = any (p_ids) and m.id between v_first and v_last
      and m.retention between p_least and p_most;
end
$$;

-- Up to p_at_most due rows, from as many lanes as it takes, in the order of due_lanes: off the queue, attempts opened,
-- one claims row per lane. Lanes held by another claim are passed over; only when nothing else is due are rows taken
-- from them too, without their lane's lock. Ends with no tenant set.
create or replace function waypost.claim(p_worker uuid, p_batch uuid, p_at_most integer)
returns setof waypost.claimed_row
language plpgsql
set search_path = waypost, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_material = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    lane record; v_lock boolean; v_passed_over boolean := false; v_head timestamptz; v_head_id uuid;
    v_ids uuid[]; v_retentions smallint[]; v_attempts smallint[]; v_claims smallint[]; v_opened uuid[];
    v_least smallint; v_most smallint; v_rows integer; v_got integer := 0; v_clock bigint := -1;
    v_tenants text[]; v_channels smallint[]; v_priorities smallint[]; v_starts bigint[]; v_counts integer[];
begin
    perform from workers w where w.id = p_worker and w.lease_until > now();
    if not found then
        raise exception 'This worker has no lease.' using errcode = 'WP001';
    end if;

    foreach v_lock in array array[true, false] loop
        exit when v_got > 0 or not (v_lock or v_passed_over);
        for lane in select * from due_lanes(p_at_most) loop
            exit when v_got >= p_at_most;
            perform set_config('app.tenant_id', lane.tenant_id, true);
            if v_lock then
                select l.head, l.head_id into v_head, v_head_id from lanes l
                where l.tenant_id = lane.tenant_id and l.channel = lane.channel and l.priority = lane.priority
                for update skip locked;
                if not found then
                    v_passed_over := true;
                    continue;
                end if;
                if not lane.active then
                    update lanes l set due = now() + interval '30 seconds', ready = false
                    where l.tenant_id = lane.tenant_id and l.channel = lane.channel and l.priority = lane.priority;
                    continue;
                end if;
            else
                continue when not lane.active;
                select l.head, l.head_id into v_head, v_head_id from lanes l
                where l.tenant_id = lane.tenant_id and l.channel = lane.channel and l.priority = lane.priority;
            end if;

            -- An array, because it is made once: a join may ask for the due rows again for each row it compares, and
            -- then finds the next ones.
            with taken as (
                delete from queue q
                where q.tenant_id = lane.tenant_id and q.id = any (array(
                    select w.id from queue w
                    where w.tenant_id = lane.tenant_id and w.channel = lane.channel and w.priority = lane.priority
                      and w.due <= now() and (w.due, w.id) >= (v_head, v_head_id) and w.claims < 2
                    order by w.due, w.id limit p_at_most - v_got
                    for update skip locked))
                returning q.id, q.retention, q.attempt, q.claims
            )
            select array_agg(t.id), array_agg(t.retention), array_agg(t.attempt), array_agg(t.claims),
                   min(t.retention), max(t.retention)
            into v_ids, v_retentions, v_attempts, v_claims, v_least, v_most
            from (select * from taken order by id) t;
            -- A row whose attempt is already there was queued twice, and is dropped. Attempts are opened only by who
            -- took the row off the queue, so none of these can come into being meanwhile: to ask once for all is
            -- enough, and costs less than to prepare each insert for a conflict.
            v_opened := array(
                select a.notification_id from attempts a
                where a.tenant_id = lane.tenant_id and a.notification_id = any (v_ids)
                  and a.notification_id between v_ids[1] and v_ids[cardinality(v_ids)]
                  and a.retention between v_least and v_most
                  and a.n = v_attempts[width_bucket(a.notification_id, (select v_ids))] + 1);
            if cardinality(v_opened) > 0 then
                select array_agg(u.id order by u.id), array_agg(u.retention order by u.id),
                       array_agg(u.attempt order by u.id), array_agg(u.claims order by u.id)
                into v_ids, v_retentions, v_attempts, v_claims
                from unnest(v_ids, v_retentions, v_attempts, v_claims) as u (id, retention, attempt, claims)
                where u.id <> all (v_opened);
            end if;
            insert into attempts (tenant_id, notification_id, retention, n, claims, worker_id, started_at)
            select lane.tenant_id, u.id, u.retention, u.attempt + 1, u.claims, p_worker, now()
            from unnest(v_ids, v_retentions, v_attempts, v_claims) as u (id, retention, attempt, claims);
            v_rows := coalesce(cardinality(v_ids), 0);
            if v_rows > 0 then
                insert into claims (tenant_id, id, worker_id, channel, priority, ids)
                values (lane.tenant_id, p_batch, p_worker, lane.channel, lane.priority, v_ids);
                return query select * from claimed_rows(v_ids, v_attempts, v_claims, v_least, v_most);
                v_clock := greatest(v_clock, lane.start);
            end if;
            v_got := v_got + v_rows;
            v_tenants := v_tenants || lane.tenant_id;
            v_channels := v_channels || lane.channel;
            v_priorities := v_priorities || lane.priority;
            v_starts := v_starts || lane.start;
            v_counts := v_counts || v_rows;
        end loop;
    end loop;

    -- At the end, so that inserters wait for a lane's lock only as long as the books and the commit take.
    for i in 1 .. coalesce(cardinality(v_tenants), 0) loop
        perform book_turn(v_tenants[i], v_channels[i], v_priorities[i], v_starts[i], v_counts[i]);
    end loop;
    if v_clock > (select c.last_value from lane_clock c) then
        perform setval('lane_clock', v_clock);
    end if;
    perform set_config('app.tenant_id', '', true);
end
$$;

-- One due row that was claimed without a word before: it goes alone.
create or replace function waypost.claim_suspect(p_worker uuid, p_batch uuid)
returns setof waypost.claimed_row
language plpgsql
set search_path = waypost, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    suspect record;
    v_row queue;
begin
    perform from workers w where w.id = p_worker and w.lease_until > now();
    if not found then
        raise exception 'This worker has no lease.' using errcode = 'WP001';
    end if;
    for suspect in select * from due_suspects(100) loop
        perform set_config('app.tenant_id', suspect.tenant_id, true);
        perform from tenants t where t.id = suspect.tenant_id and t.status = 'active';
        continue when not found;
        select * into v_row from queue q
        where q.tenant_id = suspect.tenant_id and q.id = suspect.id and q.claims >= 2 for update skip locked;
        continue when not found;
        delete from queue q where q.tenant_id = suspect.tenant_id and q.id = suspect.id;
        insert into attempts (tenant_id, notification_id, retention, n, claims, worker_id, started_at)
        values (v_row.tenant_id, v_row.id, v_row.retention, v_row.attempt + 1, v_row.claims, p_worker, now())
        on conflict do nothing;
        continue when not found;
        insert into claims (tenant_id, id, worker_id, channel, priority, ids)
        values (v_row.tenant_id, p_batch, p_worker, v_row.channel, v_row.priority, array[v_row.id]);
        return query select * from claimed_rows(
            array[v_row.id], array[v_row.attempt], array[v_row.claims], v_row.retention, v_row.retention);
        exit;
    end loop;
    perform set_config('app.tenant_id', '', true);
end
$$;

-- Writes how a batch ended, tenant by tenant (p_bounds: where each tenant's rows end; each tenant's ids are sorted).
-- An outcome of null takes the attempt back: no call was made. Every write is fenced by (n, worker, still open), so it
-- can be repeated; returns those rows that were not this worker's any more: nothing else may be done about them.
-- A worker that was taken for lost puts the truth on its own attempt; where nobody has carried the notification on
-- meanwhile, that truth counts as if it had come in time.
-- Where all rows say the same, these columns may come as that one value: p_ns, p_outcomes, p_codes, p_kinds.
create or replace function waypost.settle(
    p_worker uuid, p_batch uuid, p_whole boolean, p_tenants text[], p_bounds integer[], p_ids uuid[],
    p_least smallint, p_most smallint, p_ns smallint[], p_outcomes smallint[], p_latencies integer[], p_codes integer[],
    p_reasons text[], p_references text[], p_replies bytea[], p_kinds smallint[], p_accounts uuid[], p_tallies smallint[]
) returns table (tenant_id text, id uuid)
language plpgsql
set search_path = waypost, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_tenant text; v_from integer := 1; v_to integer; v_first uuid; v_last uuid; v_done uuid[]; v_more uuid[];
    v_ids uuid[]; v_ns smallint[]; v_outcomes smallint[]; v_latencies integer[]; v_codes integer[]; v_reasons text[];
    v_references text[]; v_replies bytea[]; v_kinds smallint[]; v_in_time integer; v_accounts uuid[]; v_tallies smallint[];
    v_all integer := cardinality(p_ids);
begin
    p_ns := spread(p_ns, v_all); p_outcomes := spread(p_outcomes, v_all);
    p_codes := spread(p_codes, v_all); p_kinds := spread(p_kinds, v_all);
    for i in 1 .. cardinality(p_tenants) loop
        v_tenant := p_tenants[i];
        v_to := p_bounds[i];
        v_ids := p_ids[v_from:v_to]; v_ns := p_ns[v_from:v_to]; v_outcomes := p_outcomes[v_from:v_to];
        v_latencies := p_latencies[v_from:v_to]; v_codes := p_codes[v_from:v_to]; v_reasons := p_reasons[v_from:v_to];
        v_references := p_references[v_from:v_to]; v_replies := p_replies[v_from:v_to]; v_kinds := p_kinds[v_from:v_to];
        v_accounts := p_accounts[v_from:v_to]; v_tallies := p_tallies[v_from:v_to];
        v_first := v_ids[1]; v_last := v_ids[cardinality(v_ids)];
        v_from := v_to + 1;
        perform set_config('app.tenant_id', v_tenant, true);

        -- `(select v_ids)` is laid out once; a variable would be copied whole for every row that is looked up in it.
        with closed as (
            update attempts a
            set outcome = v_outcomes[width_bucket(a.notification_id, (select v_ids))],
                latency_ms = v_latencies[width_bucket(a.notification_id, (select v_ids))],
                code = v_codes[width_bucket(a.notification_id, (select v_ids))],
                reason = v_reasons[width_bucket(a.notification_id, (select v_ids))],
                reference = v_references[width_bucket(a.notification_id, (select v_ids))],
                reply = v_replies[width_bucket(a.notification_id, (select v_ids))],
                account_id = v_accounts[width_bucket(a.notification_id, (select v_ids))]
            where a.tenant_id = v_tenant and a.notification_id = any (v_ids)
              and a.notification_id between v_first and v_last and a.retention between p_least and p_most
              and a.worker_id = p_worker and a.outcome is null
              and a.n = v_ns[width_bucket(a.notification_id, (select v_ids))]
              and v_outcomes[width_bucket(a.notification_id, (select v_ids))] is not null
            returning a.notification_id as id, a.n, v_kinds[width_bucket(a.notification_id, (select v_ids))] as kind
        ), told as (
            insert into outbox (tenant_id, kind, subject_id, n)
            select v_tenant, c.kind, c.id, c.n from closed c where c.kind is not null
        )
        select coalesce(array_agg(c.id), '{}') into v_done from closed c;

        v_in_time := cardinality(v_done);
        if v_in_time < cardinality(v_ids) then
            with undone as (
                delete from attempts a
                where a.tenant_id = v_tenant and a.notification_id = any (v_ids)
                  and a.notification_id between v_first and v_last and a.retention between p_least and p_most
                  and a.worker_id = p_worker and (a.outcome is null or a.outcome = 5 and a.reason = 'worker_lost'
                                                  and not was_carried_on(a.notification_id, a.retention, a.n))
                  and a.n = v_ns[width_bucket(a.notification_id, v_ids)]
                  and v_outcomes[width_bucket(a.notification_id, v_ids)] is null
                returning a.notification_id as id, a.n, v_kinds[width_bucket(a.notification_id, v_ids)] as kind
            ), told as (
                insert into outbox (tenant_id, kind, subject_id, n)
                select v_tenant, c.kind, c.id, c.n from undone c where c.kind is not null
            )
            select v_done || coalesce(array_agg(c.id), '{}') into v_done from undone c;

            with late as (
                update attempts a
                set (outcome, latency_ms, code, reason, reference, reply, account_id) = (
                    select coalesce(v_outcomes[i], 4::smallint), v_latencies[i], v_codes[i],
                           case when v_outcomes[i] is null then 'not_sent' else v_reasons[i] end, v_references[i],
                           v_replies[i], v_accounts[i]
                    from width_bucket(a.notification_id, v_ids) i)
                where a.tenant_id = v_tenant and a.notification_id = any (v_ids)
                  and a.notification_id between v_first and v_last and a.retention between p_least and p_most
                  and a.worker_id = p_worker and a.outcome = 5 and a.reason = 'worker_lost'
                  and a.n = v_ns[width_bucket(a.notification_id, v_ids)]
                  and v_reasons[width_bucket(a.notification_id, v_ids)] is distinct from 'worker_lost'
                returning a.notification_id as id, a.n, v_kinds[width_bucket(a.notification_id, v_ids)] as kind,
                          was_carried_on(a.notification_id, a.retention, a.n) as carried_on
            ), told as (
                insert into outbox (tenant_id, kind, subject_id, n)
                select v_tenant, l.kind, l.id, l.n from late l where l.kind is not null and not l.carried_on
            )
            select v_done || coalesce(array_agg(l.id), '{}') into v_done from late l where not l.carried_on;

            -- What had been given up as unconfirmed is not any more.
            v_more := v_done[v_in_time + 1:];
            update notifications m set status = 2, reason = null
            where m.tenant_id = v_tenant and m.id = any (v_more) and m.id between v_first and v_last and m.status = 11;
        end if;

        if p_tallies is not null then
            perform settle_capacity(p_batch, v_ids, v_tallies);
        end if;
        if p_whole then
            delete from claims c where c.tenant_id = v_tenant and c.id = p_batch;
        else
            update claims c set ids = array(select unnest(c.ids) except select unnest(v_ids))
            where c.tenant_id = v_tenant and c.id = p_batch;
            delete from claims c where c.tenant_id = v_tenant and c.id = p_batch and c.ids = '{}';
        end if;
        if cardinality(v_done) < cardinality(v_ids) then
            return query select v_tenant, u.id from unnest(v_ids) as u (id) where u.id <> all (v_done);
        end if;
    end loop;
    perform set_config('app.tenant_id', '', true);
end
$$;

-- What a batch did with the capacity of sender accounts it was given. Only what is still reserved counts, and then it is
-- reserved no more: whoever settles again, or settles for a worker that comes back, counts nothing twice.
-- 1 sent, 2 bounced, 3 refused, 4 in doubt (the server may have counted these); 5 deferred, 6 server away, 7 not used.
-- A server that was away was away once, however many messages waited for it. The tenant must be set; p_ids is sorted.
create or replace function waypost.settle_capacity(p_batch uuid, p_ids uuid[], p_tallies smallint[]) returns void
language plpgsql
as $$
declare
    v_tenant text := current_setting('app.tenant_id'); used record; v_errors integer;
begin
    perform from sender_states s
    where s.tenant_id = v_tenant and s.account_id = any (array(
        select r.account_id from sender_reservations r where r.tenant_id = v_tenant and r.batch_id = p_batch))
    order by s.account_id for update;
    for used in
        select r.account_id, r.day, array_agg(held.id) filter (where s.tally is null) as remaining,
               count(*) filter (where s.tally = 1) as sent, count(*) filter (where s.tally = 2) as bounced,
               count(*) filter (where s.tally in (3, 4)) as refused, count(*) filter (where s.tally = 5) as deferred,
               count(*) filter (where s.tally = 6) as away, count(*) filter (where s.tally in (5, 6, 7)) as unused
        from sender_reservations r
        cross join lateral unnest(r.ids) as held (id)
        left join lateral (
            select p_tallies[width_bucket(held.id, p_ids)] as tally
            where p_ids[width_bucket(held.id, p_ids)] = held.id) s on true
        where r.tenant_id = v_tenant and r.batch_id = p_batch
        group by r.account_id, r.day order by r.account_id
    loop
        v_errors := used.refused + least(used.away, 1);
        update sender_days d
        set reserved = greatest(d.reserved - used.unused, 0), sent = d.sent + used.sent, bounced = d.bounced + used.bounced,
            errors = d.errors + v_errors, deferred = d.deferred + used.deferred
        where d.tenant_id = v_tenant and d.account_id = used.account_id and d.day = used.day;
        if v_errors > 0 or used.sent + used.bounced + used.deferred > 0 then
            update sender_states s
            set consecutive_errors = case when used.sent + used.bounced + used.deferred > 0 then 0
                                          else s.consecutive_errors + v_errors end
            where s.tenant_id = v_tenant and s.account_id = used.account_id
              and (v_errors > 0 or s.consecutive_errors > 0);
        end if;
        if used.remaining is null then
            delete from sender_reservations r
            where r.tenant_id = v_tenant and r.batch_id = p_batch and r.account_id = used.account_id;
        else
            update sender_reservations r set ids = used.remaining
            where r.tenant_id = v_tenant and r.batch_id = p_batch and r.account_id = used.account_id;
        end if;
    end loop;
end
$$;

-- Whether somebody has taken a notification further than attempt p_n, or is about to. The tenant must be set.
create or replace function waypost.was_carried_on(p_id uuid, p_retention smallint, p_n smallint) returns boolean
language plpgsql stable
as $$
declare
    v_tenant text := current_setting('app.tenant_id');
begin
    return exists (select from queue q where q.tenant_id = v_tenant and q.id = p_id)
        or exists (select from attempts a where a.tenant_id = v_tenant and a.notification_id = p_id
                   and a.retention = p_retention and a.n = p_n + 1);
end
$$;

-- The lowest id of a post for everyone that a newcomer sees: those of so many seconds before joining, all for -1.
create or replace function waypost.inbox_visible_from(p_joined timestamptz, p_seconds_before integer) returns uuid
language sql immutable strict parallel safe
return case when p_seconds_before < 0 then '00000000-0000-0000-0000-000000000000'::uuid
       else (lpad(to_hex(greatest(floor(extract(epoch from p_joined) * 1000) - p_seconds_before * 1000::bigint, 0)::bigint), 12, '0')
             || repeat('0', 20))::uuid end;
revoke execute on function waypost.inbox_visible_from from public;
grant execute on function waypost.inbox_visible_from to waypost_api, waypost_worker;

-- News is marked as unread for whoever wants to be told: the tenant's own endpoints (reader 0), the operator's publishers.
-- Where nobody does, it costs two look-ups per statement. Without a tenant (an administrator's insert) nothing is told.
create or replace function waypost.mark_unread() returns trigger
language plpgsql
set search_path = waypost, pg_temp
as $$
declare
    v_tenant text := current_setting('app.tenant_id', true); v_readers smallint[];
begin
    select array(select p.reader from publishers p) into v_readers;
    perform from webhook_endpoints e where e.tenant_id = v_tenant and e.status = 'enabled' limit 1;
    if found then
        v_readers := v_readers || 0::smallint;
    end if;
    if cardinality(v_readers) > 0 and v_tenant <> '' then
        insert into outbox_unread (tenant_id, reader, ids)
        select v_tenant, r.reader, (select array_agg(n.id) from news n) from unnest(v_readers) as r (reader)
        where exists (select from news);
    end if;
    return null;
end
$$;
create or replace trigger mark_unread after insert on outbox
    referencing new table as news for each statement execute function waypost.mark_unread();

revoke execute on function waypost.accept, waypost.spread, waypost.lane_lock, waypost.lane_stride, waypost.enqueue, waypost.wake_lane,
    waypost.is_lane_paused, waypost.book_turn,
    waypost.claimed_rows, waypost.claim, waypost.claim_suspect, waypost.settle, waypost.settle_capacity,
    waypost.was_carried_on, waypost.mark_unread from public;
grant execute on function waypost.lane_lock, waypost.lane_stride, waypost.enqueue, waypost.wake_lane, waypost.book_turn,
    waypost.claimed_rows, waypost.claim, waypost.claim_suspect, waypost.settle, waypost.settle_capacity,
    waypost.was_carried_on to waypost_worker;
grant execute on function waypost.is_lane_paused to waypost_api, waypost_worker;
grant execute on function waypost.lane_lock, waypost.enqueue, waypost.wake_lane, waypost.accept, waypost.spread to waypost_api;
grant execute on function waypost.accept, waypost.spread to waypost_worker;
