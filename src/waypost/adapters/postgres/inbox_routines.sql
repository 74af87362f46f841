-- revision: 1
-- How feeds are read, by whoever calls (SECURITY INVOKER), under row level security. They are routines so that they are
-- planned once for each connection: making the plan costs ten times the reading. What is ordered comes from an index,
-- also where statistics make a sort look cheap. Applied again whenever this file changes.

-- One page of a person's feed: their own copies and the posts for everyone, merged by id, with what they did with each.
-- One row without a message where there is none, no row at all where inbox or person do not exist.
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
begin
    return query
    with who as materialized (
        select b.id as inbox_id, r.id as recipient_id, r.data_key,
               coalesce(m.visible_from, inbox_visible_from(r.created_at, coalesce(s.visible_since, 0))) as visible_from
        from inboxes b
        join recipients r on r.tenant_id = p_tenant and r.id = p_recipient and r.erased_at is null
        left join inbox_settings s on s.tenant_id = p_tenant
        left join inbox_members m on m.tenant_id = p_tenant and m.inbox_id = b.id and m.recipient_id = r.id
        where b.tenant_id = p_tenant and b.key = p_key
    )
    select who.data_key, who.recipient_id, f.id, f.public, f.is_notification, f.topic, f.content, f.is_shared, f.expires_at,
           f.seen_at, coalesce(f.read_at, w.at) as read_at, f.archived_at,
           f.snoozed_until, f.pinned_at, f.clicked_at
    from who
    left join lateral (
        (select i.post_id as id, false as public, i.is_notification, i.topic, i.content is null as is_shared,
                case when i.content is null then (
                    select q.content from inbox_posts q
                    where q.tenant_id = p_tenant and q.inbox_id = i.inbox_id and q.id = i.post_id)
                else i.content end as content, i.as_of, i.expires_at, i.seen_at, i.read_at, i.archived_at, i.snoozed_until,
                i.pinned_at, i.clicked_at
         from inbox_items i
         where i.tenant_id = p_tenant and i.inbox_id = who.inbox_id and i.recipient_id = who.recipient_id and not i.public
           and i.post_id < p_before and i.expires_at > p_now and i.redacted_at is null
           and (p_topic::text is null or i.topic = p_topic)
           and (i.archived_at is not null) = p_archived and coalesce(i.snoozed_until > p_now, false) = p_snoozed
           and (not p_pinned or i.pinned_at is not null)
           and (not p_unread or i.read_at is null and not exists (
                select from inbox_watermarks x
                where x.tenant_id = p_tenant and x.inbox_id = i.inbox_id and x.recipient_id = i.recipient_id and x.n > i.as_of
                  and x.own_upto >= i.post_id))
         order by i.post_id desc limit p_limit)
        union all
        (select q.id, true, false, q.topic, true, q.content, coalesce(i.as_of, 0), q.expires_at, i.seen_at, i.read_at, i.archived_at,
                i.snoozed_until, i.pinned_at, i.clicked_at
         from inbox_posts q
         left join inbox_items i on i.tenant_id = p_tenant and i.inbox_id = q.inbox_id and i.recipient_id = who.recipient_id
            and i.post_id = q.id
         where q.tenant_id = p_tenant and q.inbox_id = who.inbox_id and q.audience = 'everyone' and q.redacted_at is null
           and q.id < p_before and q.id >= who.visible_from and q.expires_at > p_now
           and (p_topic::text is null or q.topic = p_topic)
           and (i.archived_at is not null) = p_archived and coalesce(i.snoozed_until > p_now, false) = p_snoozed
           and (not p_pinned or i.pinned_at is not null)
           and (not p_unread or i.read_at is null and not exists (
                select from inbox_watermarks x
                where x.tenant_id = p_tenant and x.inbox_id = q.inbox_id and x.recipient_id = who.recipient_id
                  and x.n > coalesce(i.as_of, 0) and x.public_upto >= q.id))
         order by q.id desc limit p_limit)
        order by id desc limit p_limit) f on true
    left join lateral (
        select x.at from inbox_watermarks x
        where x.tenant_id = p_tenant and x.inbox_id = who.inbox_id and x.recipient_id = who.recipient_id and f.read_at is null
          and x.n > f.as_of and case when f.public then x.public_upto else x.own_upto end >= f.id
        order by x.n limit 1) w on true
    order by f.id desc;
end
$$;

-- What each of these people has, by topic. Their own rows are counted as they are now; posts for everyone come from the
-- counters: whole runs of places, the rest of a run one by one, less what has expired and is not swept away yet.
create or replace function waypost.inbox_counts(
    p_tenant text, p_key text, p_recipients uuid[], p_now timestamptz
) returns table (recipient_id uuid, own_n bigint, public_n bigint, topic text, total bigint, unread bigint)
language plpgsql stable
set search_path = waypost, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_sort = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
    with who as materialized (
        select b.id as inbox_id, b.n as public_n, r.id as recipient_id, coalesce(m.n, 0) as own_n,
               coalesce(m.visible_from, inbox_visible_from(r.created_at, coalesce(s.visible_since, 0))) as visible_from,
               coalesce(m.read_upto, '00000000-0000-0000-0000-000000000000') as read_upto
        from inboxes b
        join recipients r on r.tenant_id = p_tenant and r.id = any (p_recipients::uuid[]) and r.erased_at is null
        left join inbox_settings s on s.tenant_id = p_tenant
        left join inbox_members m on m.tenant_id = p_tenant and m.inbox_id = b.id and m.recipient_id = r.id
        where b.tenant_id = p_tenant and b.key = p_key
    ),
    bounds as materialized (
        select who.*, v.place as seen_from, u.place as unread_from,
               v.place / 512 + (case when v.is_inside then 1 else 0 end) as seen_run,
               u.place / 512 + (case when u.is_inside then 1 else 0 end) as unread_run
        from who
        left join lateral (
            select q.place, exists (
                select from inbox_posts e
                where e.tenant_id = p_tenant and e.inbox_id = q.inbox_id and e.audience = 'everyone' and e.redacted_at is null
                  and e.place > 0 and e.place >= q.place / 512 * 512 and e.place < q.place) as is_inside
            from inbox_posts q
            where q.tenant_id = p_tenant and q.inbox_id = who.inbox_id and q.audience = 'everyone' and q.redacted_at is null
              and q.id >= who.visible_from
            order by q.id limit 1) v on true
        left join lateral (
            select q.place, exists (
                select from inbox_posts e
                where e.tenant_id = p_tenant and e.inbox_id = q.inbox_id and e.audience = 'everyone' and e.redacted_at is null
                  and e.place > 0 and e.place >= q.place / 512 * 512 and e.place < q.place) as is_inside
            from inbox_posts q
            where q.tenant_id = p_tenant and q.inbox_id = who.inbox_id and q.audience = 'everyone' and q.redacted_at is null
              and q.id >= who.visible_from and q.id > who.read_upto
            order by q.id limit 1) u on true
    )
    select b.recipient_id, b.own_n, b.public_n, t.topic, coalesce(t.total, 0)::bigint as total, coalesce(t.unread, 0)::bigint as unread
    from bounds b
    left join lateral (
        select a.topic, sum(a.total) as total, sum(a.unread) as unread
        from (
            select i.topic,
                   case when i.public then -(f.is_hidden::integer) else (not f.is_hidden)::integer end as total,
                   (not f.is_hidden and not f.is_read)::integer
                       - (case when i.public and i.post_id > b.read_upto then 1 else 0 end) as unread
            from inbox_items i
            cross join lateral (
                select i.archived_at is not null or coalesce(i.snoozed_until > p_now, false) as is_hidden,
                       i.read_at is not null or exists (
                           select from inbox_watermarks w
                           where w.tenant_id = p_tenant and w.inbox_id = b.inbox_id and w.recipient_id = b.recipient_id
                             and w.n > i.as_of and case when i.public then w.public_upto else w.own_upto end >= i.post_id) as is_read) f
            where i.tenant_id = p_tenant and i.inbox_id = b.inbox_id and i.recipient_id = b.recipient_id and i.expires_at > p_now
              and i.redacted_at is null and (not i.public or i.post_id >= b.visible_from and not exists (
                  select from inbox_posts q
                  where q.tenant_id = p_tenant and q.inbox_id = b.inbox_id and q.id = i.post_id and q.audience = 'everyone'
                    and q.redacted_at is not null))
            union all
            select c.topic, c.live, case when c.run >= b.unread_run then c.live else 0 end
            from inbox_counters c
            where c.tenant_id = p_tenant and c.inbox_id = b.inbox_id and c.run >= b.seen_run
            union all
            select q.topic, 1, 0 from inbox_posts q
            where q.tenant_id = p_tenant and q.inbox_id = b.inbox_id and q.audience = 'everyone' and q.redacted_at is null
              and q.place > 0 and q.place >= b.seen_from and q.place < b.seen_run * 512
            union all
            select q.topic, 0, 1 from inbox_posts q
            where q.tenant_id = p_tenant and q.inbox_id = b.inbox_id and q.audience = 'everyone' and q.redacted_at is null
              and q.place > 0 and q.place >= b.unread_from and q.place < b.unread_run * 512
            union all
            select q.topic, case when q.place >= b.seen_from then -1 else 0 end,
                   case when q.place >= b.unread_from then -1 else 0 end
            from inbox_posts q
            where q.tenant_id = p_tenant and q.inbox_id = b.inbox_id and q.audience = 'everyone' and q.redacted_at is null
              and q.expires_at <= p_now and q.expires_at > '-infinity') a
        group by a.topic) t on true;
end
$$;

revoke execute on function waypost.inbox_page, waypost.inbox_counts from public;
grant execute on function waypost.inbox_page, waypost.inbox_counts to waypost_api, waypost_worker;
