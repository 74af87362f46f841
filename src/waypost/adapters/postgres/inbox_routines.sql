-- revision: 3
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

-- One page of a person's feed. The first row is the reader, with their data key for content; the messages follow: their
-- own copies and the posts for everyone, merged by id, with what they did with each. No row at all where inbox or person do
-- not exist. Whoever has never marked everything read has no watermarks to be looked for, message by message.
create or replace function waypost.inbox_page(
    p_tenant text, p_key text, p_recipient uuid, p_before uuid, p_now timestamptz, p_limit integer, p_topic text,
    p_unread boolean, p_archived boolean, p_snoozed boolean, p_pinned boolean
) returns table (
    id uuid, public boolean, is_notification boolean, topic text, content bytea, is_shared boolean, expires_at timestamptz,
    seen_at timestamptz, read_at timestamptz, archived_at timestamptz, snoozed_until timestamptz, pinned_at timestamptz,
    clicked_at timestamptz
)
language plpgsql stable
set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off
as $$
#variable_conflict use_column
declare
    v_inbox uuid;
    v_visible_from uuid;
    v_marked bigint;
begin
    select b.id, r.data_key, m.visible_from, m.marked into v_inbox, content, v_visible_from, v_marked
    from waypost.inboxes b
    join waypost.recipients r on r.tenant_id = p_tenant and r.id = p_recipient and r.erased_at is null
    left join waypost.inbox_members m on m.tenant_id = p_tenant and m.inbox_id = b.id and m.recipient_id = p_recipient
    where b.tenant_id = p_tenant and b.key = p_key;
    if not found then
        return;
    end if;
    id := p_recipient;
    return next;
    if v_visible_from is null then
        v_visible_from := waypost.inbox_newcomer_sees(p_tenant, p_recipient);
    end if;
    if v_marked > 0 then
        return query
        select f.id, f.public, f.is_notification, f.topic, f.content, f.is_shared, f.expires_at, f.seen_at, f.read_at,
               f.archived_at, f.snoozed_until, f.pinned_at, f.clicked_at
        from (
            select m.id, m.public, m.is_notification, m.topic, m.content, m.is_shared, m.expires_at, m.seen_at,
                   case when m.read_at is null and m.as_of < v_marked then (
                       select x.at from waypost.inbox_watermarks x
                       where x.tenant_id = p_tenant and x.inbox_id = v_inbox and x.recipient_id = p_recipient
                         and x.n > m.as_of and case when m.public then x.public_upto else x.own_upto end >= m.id
                       order by x.n limit 1)
                   else m.read_at end as read_at,
                   m.archived_at, m.snoozed_until, m.pinned_at, m.clicked_at
            from waypost.inbox_merged(p_tenant, v_inbox, p_recipient, v_visible_from, p_before, p_now, p_topic, p_archived,
                                      p_snoozed, p_pinned) m
            order by m.id desc offset 0) f
        where not p_unread or f.read_at is null
        order by f.id desc limit p_limit;
    else
        return query
        select f.id, f.public, f.is_notification, f.topic, f.content, f.is_shared, f.expires_at, f.seen_at, f.read_at,
               f.archived_at, f.snoozed_until, f.pinned_at, f.clicked_at
        from waypost.inbox_merged(p_tenant, v_inbox, p_recipient, v_visible_from, p_before, p_now, p_topic, p_archived,
                                  p_snoozed, p_pinned) f
        where not p_unread or f.read_at is null
        order by f.id desc limit p_limit;
    end if;
end
$$;

-- What each of these people has. A row that names somebody says how far they are; those after it, which name nobody, are
-- theirs and to be added up by topic. Their own rows are counted as they are now, from an index that holds all that is
-- asked; posts for everyone come from the counters: the sum of all for whoever sees all of them, else whole runs of places
-- and the rest of a run one by one, less what has expired and is not swept away yet.
create or replace function waypost.inbox_counts(
    p_tenant text, p_key text, p_recipients uuid[], p_now timestamptz
) returns table (recipient_id uuid, own_n bigint, public_n bigint, topic text, total bigint, unread bigint)
language plpgsql stable
set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off
as $$
#variable_conflict use_column
declare
    c_first constant uuid := '00000000-0000-0000-0000-000000000000';
    c_all constant bigint := -1;
    v_who uuid;
    v_inbox uuid;
    v_first_post uuid;
    v_visible_from uuid;
    v_read_upto uuid;
    v_marked bigint;
    v_is_unread boolean;
    v_seen_from bigint;
    v_seen_run bigint;
    v_seen_last bigint;
    v_unread_from bigint;
    v_unread_run bigint;
begin
    foreach v_who in array p_recipients loop
        select b.id, b.first_post, b.n, coalesce(m.n, 0), m.visible_from, coalesce(m.read_upto, c_first), coalesce(m.marked, 0)
        into v_inbox, v_first_post, public_n, own_n, v_visible_from, v_read_upto, v_marked
        from waypost.inboxes b
        left join waypost.inbox_members m on m.tenant_id = p_tenant and m.inbox_id = b.id and m.recipient_id = v_who
        where b.tenant_id = p_tenant and b.key = p_key;
        if v_visible_from is null then
            v_visible_from := waypost.inbox_newcomer_sees(p_tenant, v_who);
            -- There is no such inbox, or nobody of that id.
            continue when v_inbox is null or v_visible_from is null;
        end if;
        recipient_id := v_who;
        return next;
        return query
        select null::uuid, null::bigint, null::bigint, i.topic,
               sum(case when i.public then -(f.is_hidden::integer) else (not f.is_hidden)::integer end),
               sum((not f.is_hidden and not f.is_read)::integer
                   - (case when i.public and i.post_id > v_read_upto then 1 else 0 end))
        from waypost.inbox_items i
        cross join lateral (
            select i.archived_at is not null or coalesce(i.snoozed_until > p_now, false) as is_hidden,
                   i.read_at is not null or v_marked > i.as_of and exists (
                       select from waypost.inbox_watermarks w
                       where w.tenant_id = p_tenant and w.inbox_id = v_inbox and w.recipient_id = v_who and w.n > i.as_of
                         and case when i.public then w.public_upto else w.own_upto end >= i.post_id) as is_read) f
        where i.tenant_id = p_tenant and i.inbox_id = v_inbox and i.recipient_id = v_who and i.as_of > 0
          and i.expires_at > p_now and i.redacted_at is null
          and case when i.public then i.post_id >= v_visible_from and (
              select q.redacted_at from waypost.inbox_posts q
              where q.tenant_id = p_tenant and q.inbox_id = v_inbox and q.id = i.post_id) is null else true end
        group by i.topic;
        -- Posts for everyone, as far as they are seen, and whether no mark has read any of them.
        if v_visible_from <= v_first_post then
            v_seen_from := 0;
            v_seen_run := c_all;
            v_seen_last := c_all;
        else
            select f.place, f.run into v_seen_from, v_seen_run
            from waypost.inbox_first_place(p_tenant, v_inbox, v_visible_from, c_first) f;
            v_seen_last := 9223372036854775807;
        end if;
        v_is_unread := v_read_upto < greatest(v_first_post, v_visible_from);
        v_unread_from := v_seen_from;
        if not v_is_unread then
            select f.place, f.run into v_unread_from, v_unread_run
            from waypost.inbox_first_place(p_tenant, v_inbox, v_visible_from, v_read_upto) f;
            return query
            select null::uuid, null::bigint, null::bigint, c.topic, 0::bigint, c.live::bigint
            from waypost.inbox_counters c
            where c.tenant_id = p_tenant and c.inbox_id = v_inbox and c.run >= v_unread_run;
            return query
            select null::uuid, null::bigint, null::bigint, q.topic, 0::bigint, 1::bigint from waypost.inbox_posts q
            where q.tenant_id = p_tenant and q.inbox_id = v_inbox and q.audience = 'everyone' and q.redacted_at is null
              and q.place > 0 and q.place >= v_unread_from and q.place < v_unread_run * 512;
        end if;
        if v_seen_from > 0 then
            return query
            select null::uuid, null::bigint, null::bigint, q.topic, 1::bigint, v_is_unread::integer::bigint
            from waypost.inbox_posts q
            where q.tenant_id = p_tenant and q.inbox_id = v_inbox and q.audience = 'everyone' and q.redacted_at is null
              and q.place > 0 and q.place >= v_seen_from and q.place < v_seen_run * 512;
        end if;
        return query
        select null::uuid, null::bigint, null::bigint, c.topic, c.live::bigint, case when v_is_unread then c.live else 0 end::bigint
        from waypost.inbox_counters c
        where c.tenant_id = p_tenant and c.inbox_id = v_inbox and c.run >= v_seen_run and c.run <= v_seen_last
        union all
        select null, null, null, q.topic, case when q.place >= v_seen_from then -1 else 0 end,
               case when q.place >= v_unread_from then -1 else 0 end
        from waypost.inbox_posts q
        where q.tenant_id = p_tenant and q.inbox_id = v_inbox and q.audience = 'everyone' and q.redacted_at is null
          and q.expires_at <= p_now and q.expires_at > '-infinity';
    end loop;
end
$$;

revoke execute on function waypost.inbox_page, waypost.inbox_counts, waypost.inbox_newcomer_sees,
    waypost.inbox_first_place, waypost.inbox_merged from public;
grant execute on function waypost.inbox_page, waypost.inbox_counts, waypost.inbox_newcomer_sees,
    waypost.inbox_first_place, waypost.inbox_merged to waypost_api, waypost_worker;
