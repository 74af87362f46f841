-- revision: 2
-- How feeds are read, by whoever calls (SECURITY INVOKER), under row level security. They are routines so that they are
-- planned once for each connection: making the plan costs ten times the reading. What is ordered comes from an index,
-- also where statistics make a sort look cheap. Applied again whenever this file changes.

-- From which post for everyone on somebody sees them who has not been in the inbox before; null where there is nobody.
create or replace function waypost.inbox_newcomer_sees(p_tenant text, p_recipient uuid) returns uuid
language sql stable
set search_path = waypost, pg_temp
as $$
    select inbox_visible_from(r.created_at, coalesce(s.visible_since, 0))
    from recipients r left join inbox_settings s on s.tenant_id = p_tenant
    where r.tenant_id = p_tenant and r.id = p_recipient and r.erased_at is null
$$;

-- The place of the first post for everyone from one id on and after another, and the first run of 512 places of which
-- nothing lies before it. It has no settings of its own, so that it becomes part of whatever asks.
create or replace function waypost.inbox_first_place(p_tenant text, p_inbox uuid, p_from uuid, p_after uuid)
returns table (place bigint, run bigint)
language sql stable
as $$
    select q.place, q.place / 512 + (case when exists (
               select from waypost.inbox_posts e
               where e.tenant_id = p_tenant and e.inbox_id = p_inbox and e.audience = 'everyone' and e.redacted_at is null
                 and e.place > 0 and e.place >= q.place / 512 * 512 and e.place < q.place) then 1 else 0 end)
    from waypost.inbox_posts q
    where q.tenant_id = p_tenant and q.inbox_id = p_inbox and q.audience = 'everyone' and q.redacted_at is null
      and q.id >= p_from and q.id > p_after
    order by q.id limit 1
$$;

-- A person's own copies and the posts for everyone that they see, merged by id, newest first. `read_at` is what is written
-- on the message itself. It has no settings of its own, so that it becomes part of whatever asks.
create or replace function waypost.inbox_merged(
    p_tenant text, p_inbox uuid, p_recipient uuid, p_visible_from uuid, p_before uuid, p_now timestamptz, p_topic text,
    p_archived boolean, p_snoozed boolean, p_pinned boolean
) returns table (
    id uuid, public boolean, is_notification boolean, topic text, content bytea, is_shared boolean, as_of bigint,
    expires_at timestamptz, seen_at timestamptz, read_at timestamptz, archived_at timestamptz, snoozed_until timestamptz,
    pinned_at timestamptz, clicked_at timestamptz
)
language sql stable
as $$
    (select i.post_id, false, i.is_notification, i.topic,
            case when i.content is null then (
                select q.content from waypost.inbox_posts q
                where q.tenant_id = p_tenant and q.inbox_id = p_inbox and q.id = i.post_id)
            else i.content end,
            i.content is null, i.as_of, i.expires_at, i.seen_at, i.read_at, i.archived_at, i.snoozed_until, i.pinned_at,
            i.clicked_at
     from waypost.inbox_items i
     where i.tenant_id = p_tenant and i.inbox_id = p_inbox and i.recipient_id = p_recipient and not i.public
       and i.post_id < p_before and i.expires_at > p_now and i.redacted_at is null and (p_topic is null or i.topic = p_topic)
       and (i.archived_at is not null) = p_archived and coalesce(i.snoozed_until > p_now, false) = p_snoozed
       and (not p_pinned or i.pinned_at is not null)
     order by i.post_id desc)
    union all
    (select q.id, true, false, q.topic, q.content, true, coalesce(i.as_of, 0), q.expires_at, i.seen_at, i.read_at,
            i.archived_at, i.snoozed_until, i.pinned_at, i.clicked_at
     from waypost.inbox_posts q
     left join waypost.inbox_items i on i.tenant_id = p_tenant and i.inbox_id = p_inbox and i.recipient_id = p_recipient
        and i.post_id = q.id
     where q.tenant_id = p_tenant and q.inbox_id = p_inbox and q.audience = 'everyone' and q.redacted_at is null
       and q.id < p_before and q.id >= p_visible_from and q.expires_at > p_now and (p_topic is null or q.topic = p_topic)
       and (i.archived_at is not null) = p_archived and coalesce(i.snoozed_until > p_now, false) = p_snoozed
       and (not p_pinned or i.pinned_at is not null)
     order by q.id desc)
$$;

-- One page of a person's feed: their own copies and the posts for everyone, merged by id, with what they did with each.
-- One row without a message where there is none, no row at all where inbox or person do not exist. Whoever has never
-- marked everything read has no watermarks to be looked for, message by message.
create or replace function waypost.inbox_page(
    p_tenant text, p_key text, p_recipient uuid, p_before uuid, p_now timestamptz, p_limit integer, p_topic text,
    p_unread boolean, p_archived boolean, p_snoozed boolean, p_pinned boolean
) returns table (
    data_key bytea, recipient_id uuid, id uuid, public boolean, is_notification boolean, topic text, content bytea,
    is_shared boolean, expires_at timestamptz, seen_at timestamptz, read_at timestamptz, archived_at timestamptz,
    snoozed_until timestamptz, pinned_at timestamptz, clicked_at timestamptz
)
language plpgsql stable
set search_path = waypost, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_sort = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_inbox uuid;
    v_data_key bytea;
    v_visible_from uuid;
    v_has_marks boolean;
begin
    select b.id, r.data_key, m.visible_from, exists (
               select from inbox_watermarks x
               where x.tenant_id = p_tenant and x.inbox_id = b.id and x.recipient_id = p_recipient)
    into v_inbox, v_data_key, v_visible_from, v_has_marks
    from inboxes b
    join recipients r on r.tenant_id = p_tenant and r.id = p_recipient and r.erased_at is null
    left join inbox_members m on m.tenant_id = p_tenant and m.inbox_id = b.id and m.recipient_id = p_recipient
    where b.tenant_id = p_tenant and b.key = p_key;
    if not found then
        return;
    end if;
    if v_visible_from is null then
        v_visible_from := inbox_newcomer_sees(p_tenant, p_recipient);
    end if;
    if v_has_marks then
        return query
        select v_data_key, p_recipient, f.id, f.public, f.is_notification, f.topic, f.content, f.is_shared, f.expires_at,
               f.seen_at, f.read_at, f.archived_at, f.snoozed_until, f.pinned_at, f.clicked_at
        from (
            select m.id, m.public, m.is_notification, m.topic, m.content, m.is_shared, m.expires_at, m.seen_at,
                   case when m.read_at is null then (
                       select x.at from inbox_watermarks x
                       where x.tenant_id = p_tenant and x.inbox_id = v_inbox and x.recipient_id = p_recipient
                         and x.n > m.as_of and case when m.public then x.public_upto else x.own_upto end >= m.id
                       order by x.n limit 1)
                   else m.read_at end as read_at,
                   m.archived_at, m.snoozed_until, m.pinned_at, m.clicked_at
            from inbox_merged(p_tenant, v_inbox, p_recipient, v_visible_from, p_before, p_now, p_topic, p_archived, p_snoozed,
                              p_pinned) m
            order by m.id desc offset 0) f
        where not p_unread or f.read_at is null
        order by f.id desc limit p_limit;
    else
        return query
        select v_data_key, p_recipient, f.id, f.public, f.is_notification, f.topic, f.content, f.is_shared, f.expires_at,
               f.seen_at, f.read_at, f.archived_at, f.snoozed_until, f.pinned_at, f.clicked_at
        from inbox_merged(p_tenant, v_inbox, p_recipient, v_visible_from, p_before, p_now, p_topic, p_archived, p_snoozed,
                          p_pinned) f
        where not p_unread or f.read_at is null
        order by f.id desc limit p_limit;
    end if;
    if not found then
        return query select v_data_key, p_recipient, null::uuid, null::boolean, null::boolean, null::text, null::bytea,
                            null::boolean, null::timestamptz, null::timestamptz, null::timestamptz, null::timestamptz,
                            null::timestamptz, null::timestamptz, null::timestamptz;
    end if;
end
$$;

-- What each of these people has, by topic; a row without a topic for whoever has nothing. Their own rows are counted as
-- they are now; posts for everyone come from the counters: whole runs of places, the rest of a run one by one, less what
-- has expired and is not swept away yet.
create or replace function waypost.inbox_counts(
    p_tenant text, p_key text, p_recipients uuid[], p_now timestamptz
) returns table (recipient_id uuid, own_n bigint, public_n bigint, topic text, total bigint, unread bigint)
language plpgsql stable
set search_path = waypost, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_sort = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_inbox uuid;
    v_public_n bigint;
    v_recipient uuid;
    v_own_n bigint;
    v_visible_from uuid;
    v_read_upto uuid;
    v_has_marks boolean;
    v_seen_from bigint;
    v_seen_run bigint;
    v_unread_from bigint;
    v_unread_run bigint;
begin
    foreach v_recipient in array p_recipients loop
        select b.id, b.n, coalesce(m.n, 0), m.visible_from, coalesce(m.read_upto, '00000000-0000-0000-0000-000000000000'), exists (
                   select from inbox_watermarks x
                   where x.tenant_id = p_tenant and x.inbox_id = b.id and x.recipient_id = v_recipient)
        into v_inbox, v_public_n, v_own_n, v_visible_from, v_read_upto, v_has_marks
        from inboxes b
        left join inbox_members m on m.tenant_id = p_tenant and m.inbox_id = b.id and m.recipient_id = v_recipient
        where b.tenant_id = p_tenant and b.key = p_key;
        if v_visible_from is null then
            v_visible_from := inbox_newcomer_sees(p_tenant, v_recipient);
            -- There is no such inbox, or nobody of that id.
            continue when v_inbox is null or v_visible_from is null;
        end if;
        select f.place, f.run into v_seen_from, v_seen_run
        from inbox_first_place(p_tenant, v_inbox, v_visible_from, '00000000-0000-0000-0000-000000000000') f;
        v_unread_from := v_seen_from;
        v_unread_run := v_seen_run;
        if v_read_upto >= v_visible_from then
            select f.place, f.run into v_unread_from, v_unread_run
            from inbox_first_place(p_tenant, v_inbox, v_visible_from, v_read_upto) f;
        end if;
        return query
        select v_recipient, v_own_n, v_public_n, a.topic, sum(a.total), sum(a.unread)
        from (
            select i.topic,
                   case when i.public then -(f.is_hidden::integer) else (not f.is_hidden)::integer end as total,
                   (not f.is_hidden and not f.is_read)::integer
                       - (case when i.public and i.post_id > v_read_upto then 1 else 0 end) as unread
            from inbox_items i
            cross join lateral (
                select i.archived_at is not null or coalesce(i.snoozed_until > p_now, false) as is_hidden,
                       i.read_at is not null or v_has_marks and exists (
                           select from inbox_watermarks w
                           where w.tenant_id = p_tenant and w.inbox_id = v_inbox and w.recipient_id = v_recipient
                             and w.n > i.as_of and case when i.public then w.public_upto else w.own_upto end >= i.post_id) as is_read) f
            where i.tenant_id = p_tenant and i.inbox_id = v_inbox and i.recipient_id = v_recipient and i.expires_at > p_now
              and i.redacted_at is null and (not i.public or i.post_id >= v_visible_from and not exists (
                  select from inbox_posts q
                  where q.tenant_id = p_tenant and q.inbox_id = v_inbox and q.id = i.post_id and q.audience = 'everyone'
                    and q.redacted_at is not null))
            union all
            select c.topic, c.live, case when c.run >= v_unread_run then c.live else 0 end
            from inbox_counters c
            where c.tenant_id = p_tenant and c.inbox_id = v_inbox and c.run >= v_seen_run
            union all
            select q.topic, 1, 0 from inbox_posts q
            where q.tenant_id = p_tenant and q.inbox_id = v_inbox and q.audience = 'everyone' and q.redacted_at is null
              and q.place > 0 and q.place >= v_seen_from and q.place < v_seen_run * 512
            union all
            select q.topic, 0, 1 from inbox_posts q
            where q.tenant_id = p_tenant and q.inbox_id = v_inbox and q.audience = 'everyone' and q.redacted_at is null
              and q.place > 0 and q.place >= v_unread_from and q.place < v_unread_run * 512
            union all
            select q.topic, case when q.place >= v_seen_from then -1 else 0 end,
                   case when q.place >= v_unread_from then -1 else 0 end
            from inbox_posts q
            where q.tenant_id = p_tenant and q.inbox_id = v_inbox and q.audience = 'everyone' and q.redacted_at is null
              and q.expires_at <= p_now and q.expires_at > '-infinity') a
        group by a.topic;
        if not found then
            return query select v_recipient, v_own_n, v_public_n, null::text, 0::bigint, 0::bigint;
        end if;
    end loop;
end
$$;

revoke execute on function waypost.inbox_page, waypost.inbox_counts, waypost.inbox_newcomer_sees,
    waypost.inbox_first_place, waypost.inbox_merged from public;
grant execute on function waypost.inbox_page, waypost.inbox_counts, waypost.inbox_newcomer_sees,
    waypost.inbox_first_place, waypost.inbox_merged to waypost_api, waypost_worker;
