-- revision: 1
-- One message to many people, made where they are: runs as whoever calls it (SECURITY INVOKER), under row level security.
-- Applied again whenever this file changes.
--
-- It decides nothing. Whatever the gate reads about a person makes them of a kind, told by a text; the caller has asked
-- the gate about each kind and names those that may be written to. Everybody else is handed back with what is known of
-- them: who is of a kind that nobody has asked about yet, and those of no kind, because something speaks against them or
-- they cannot be reached.
--
-- A message made here holds its inputs by reference (kernel/shared_payload.py): which shared ones, and as they lie now,
-- sealed under the person's own key, their address and their attributes.
create or replace function waypost.fan_out(
    p_people uuid[], p_channel smallint, p_word text, p_topic text, p_wants_consent boolean,
    p_house text, p_kinds text[], p_locales text[], p_inputs uuid[], p_key text, p_stem bytea, p_request uuid, p_asker uuid,
    p_retention smallint, p_category smallint, p_priority smallint, p_gate smallint, p_version uuid,
    p_send_at timestamptz, p_expires_at timestamptz
) returns table (
    external_id text, kind text, house text, tenant_active boolean, policy text, mandatory boolean, on_by_default boolean,
    locale text, timezone text, choice text, quiet_start smallint, quiet_end smallint, consent text
)
language plpgsql
set search_path = waypost, pg_temp
-- Everything is read by arrays of keys and put together by hashing, whatever the statistics say.
set enable_seqscan = off set enable_bitmapscan = off set enable_nestloop = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_tenant text := current_setting('app.tenant_id'); v_now timestamptz; v_active boolean; v_policy text;
    v_mandatory boolean; v_default boolean; v_house text; v_taken uuid[]; v_stopped text[];
begin
    select t.status = 'active', (t.settings -> 'preferences')::text into v_active, v_policy from tenants t where t.id = v_tenant;
    select t.mandatory, coalesce((t.channels ->> p_word)::boolean, t.opted_in) into v_mandatory, v_default
    from topics t where t.tenant_id = v_tenant and t.key = p_topic;
    v_house := row(v_active, v_policy, v_mandatory, v_default)::text;
    if v_house <> p_house then
        p_kinds := '{}';
    end if;
    v_taken := array(
        select d.recipient_id from notification_dedupe d
        where d.tenant_id = v_tenant and d.dedupe_key = p_key and d.channel = p_channel
          and d.recipient_id between p_people[1] and p_people[cardinality(p_people)]);
    perform from suppressions s where s.tenant_id = v_tenant and s.channel = p_channel and s.released_at is null limit 1;
    if not found then
        perform from platform_suppressions s where s.tenant_id = v_tenant and s.channel = p_channel limit 1;
    end if;
    if found then
        with hashes as materialized (
            select array_agg(a.hash) as those from addresses a
            where a.tenant_id = v_tenant and a.recipient_id = any (p_people) and (a.channel = p_channel) is true
              and a.status <> 'revoked'
        )
        select array_agg(s.hash) into v_stopped from (
            select s.hash from suppressions s
            where s.tenant_id = v_tenant and s.channel = p_channel and s.hash = any ((select those from hashes)::text[])
              and s.released_at is null
            union all
            select s.hash from platform_suppressions s
            where s.tenant_id = v_tenant and s.channel = p_channel and s.hash = any ((select those from hashes)::text[])) s;
    end if;
    v_stopped := coalesce(v_stopped, '{}');
    -- As waypost.enqueue has it: never due before what was seen while the lane was ours.
    perform pg_advisory_xact_lock_shared(lane_lock(v_tenant, p_channel, p_priority));
    v_now := clock_timestamp();

    return query
    with people as materialized (
        select r.id, encode(p_stem || int4send((row_number() over ())::integer), 'hex')::uuid as message_id, r.external_id,
               r.locale, r.timezone, p.choice, p.quiet_start, p.quiet_end, c.state, f.kind, a.id as address_id,
               k.locale as wording, k.kind is not null as known, k.kind is not null and r.id <> all (v_taken) as chosen,
               case when k.kind is not null
                    then '\x02'::bytea || uuid_send(k.inputs) || int2send(length(a.ciphertext)::smallint) || a.ciphertext
                         || coalesce(r.attributes, '') end as payload
        from recipients r
        left join (
            select distinct on (a.recipient_id) a.recipient_id, a.id, a.status, a.hash, a.ciphertext from addresses a
            where a.tenant_id = v_tenant and a.recipient_id = any (p_people) and (a.channel = p_channel) is true
              and a.status <> 'revoked'
            order by a.recipient_id, a.given_at desc, a.id desc) a on a.recipient_id = r.id
        left join (
            select p.recipient_id, (p.channels -> p_word)::text as choice, p.quiet_start, p.quiet_end
            from recipient_preferences p
            where p.tenant_id = v_tenant and p.recipient_id = any (p_people)) p on p.recipient_id = r.id
        left join (
            select distinct on (c.recipient_id) c.recipient_id, c.state from consents c
            where p_wants_consent and c.tenant_id = v_tenant and c.recipient_id = any (p_people) and c.channel = p_channel
              and (c.topic = '' or c.topic = p_topic)
            order by c.recipient_id, c.n desc) c on c.recipient_id = r.id
        cross join lateral (
            select case when a.status = 'active' and a.hash <> all (v_stopped)
                        then coalesce(r.locale, '') || e'\x1f' || coalesce(r.timezone, '') || e'\x1f' || coalesce(p.choice, '')
                             || e'\x1f' || coalesce(p.quiet_start || '-' || p.quiet_end, '') || e'\x1f' || coalesce(c.state, '')
                   end as kind) f
        left join unnest(p_kinds, p_locales, p_inputs) as k (kind, locale, inputs) on k.kind = f.kind
        where r.tenant_id = v_tenant and r.id = any (p_people) and r.erased_at is null and r.merged_into is null
    ), placed as (
        insert into notification_dedupe (tenant_id, dedupe_key, recipient_id, channel, notification_id)
        select v_tenant, p_key, p.id, p_channel, p.message_id from people p where p.chosen
    ), made as (
        insert into notifications (tenant_id, id, retention, request_id, recipient_id, address_id, channel, category, topic,
                                   priority, status, gate, version_id, locale, send_at, expires_at, payload)
        select v_tenant, p.message_id, p_retention, p_request, p.id, p.address_id, p_channel, p_category, p_topic, p_priority, 2,
               p_gate, p_version, p.wording, p_send_at, p_expires_at, p.payload
        from people p where p.chosen
    ), queued as (
        insert into queue (tenant_id, channel, priority, due, id, retention)
        select v_tenant, p_channel, p_priority, greatest(p_send_at, v_now), p.message_id, p_retention
        from people p where p.chosen
    ), noted as (
        insert into requests (tenant_id, id, key_id, notification_ids)
        select v_tenant, p_request, p_asker, array_agg(p.message_id) from people p where p.chosen having count(*) > 0
    )
    select p.external_id, p.kind, v_house, v_active, v_policy, v_mandatory, v_default, p.locale, p.timezone, p.choice,
           p.quiet_start, p.quiet_end, p.state
    from people p where not p.known;

    if cardinality(p_kinds) > 0 then
        perform wake_lane(p_channel, p_priority, greatest(p_send_at, v_now));
    end if;
end
$$;

revoke execute on function waypost.fan_out from public;
grant execute on function waypost.fan_out to waypost_api, waypost_worker;
