-- oldest_code: 1
-- The in-app inbox: posts are stored once or copied, and what a person did with them is kept beside.

create table inbox_settings (
    tenant_id       text primary key references tenants (id),
    ttl             text not null default '30d',
    visible_since   integer not null default 0 check (visible_since >= -1),
    allowed_origins text[] not null default '{}',
    identity_secret bytea,
    updated_at      timestamptz not null
);
comment on column inbox_settings.visible_since is 'which posts for everyone a newcomer sees: those of so many seconds before joining; -1: all';
comment on column inbox_settings.identity_secret is 'sealed by the tenant''s key; whoever holds it may prove to be any recipient';

create table inboxes (
    tenant_id    text not null references tenants (id),
    id           uuid not null,
    key          text collate "C" not null check (key ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
    title        text not null check (length(title) between 1 and 200),
    description  text not null default '' check (length(description) <= 2000),
    ttl          jsonb not null default '{}',
    n            bigint not null default 0,
    place        bigint not null default 0,
    last_post    uuid not null default '00000000-0000-0000-0000-000000000000',
    version      integer not null default 1,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    unique (tenant_id, key)
) with (fillfactor = 50);
alter table inboxes add primary key (tenant_id, id);
comment on column inboxes.n is 'number of the last change to posts for everyone; taken under this row''s lock, so numbers follow commits';
comment on column inboxes.place is 'place of the last post to everyone; places and ids of such posts grow together, under the same lock';

create table inbox_posts (
    tenant_id    text not null,
    inbox_id     uuid not null,
    id           uuid not null,
    audience     text not null check (audience in ('users', 'everyone', 'list', 'filter')),
    label        text,
    copies       integer,
    topic        text collate "C" not null default '',
    content      bytea,
    place        bigint not null default 0,
    n            bigint not null default 0,
    expires_at   timestamptz not null,
    redacted_at  timestamptz,
    created_by   uuid not null,
    foreign key (tenant_id, inbox_id) references inboxes (tenant_id, id),
    check ((audience = 'everyone') = (place > 0))
);
-- Each index but the key's names something that is true of every row it holds, so that only a statement that says so may
-- use it: on an empty table all look equally good, and a plan made in that moment must still be right a million rows later.
create index inbox_posts_changed on inbox_posts (tenant_id, inbox_id, n) where audience = 'everyone' and n > 0;
create index inbox_posts_by_age on inbox_posts (tenant_id, expires_at) where expires_at > '-infinity';
create index inbox_posts_redacted on inbox_posts (tenant_id, inbox_id, id)
    where audience = 'everyone' and redacted_at is not null;
create index inbox_posts_for_everyone on inbox_posts (tenant_id, inbox_id, id)
    where audience = 'everyone' and redacted_at is null;
alter table inbox_posts add primary key (tenant_id, inbox_id, id);
create index inbox_posts_expiring on inbox_posts (tenant_id, inbox_id, expires_at) include (topic, place)
    where audience = 'everyone' and redacted_at is null and expires_at > '-infinity';
create index inbox_posts_in_place on inbox_posts (tenant_id, inbox_id, place) include (topic, expires_at)
    where audience = 'everyone' and redacted_at is null and place > 0;
comment on column inbox_posts.copies is 'for how many people it was when it was posted; null: for everyone';
comment on column inbox_posts.content is 'sealed by the tenant''s key; null where each copy holds its own, sealed by its owner''s';
comment on column inbox_posts.place is 'of posts for everyone: counts go by runs of 512 places';

-- How many posts for everyone stand, by runs of places, so that those after any point are counted without walking them.
create table inbox_counters (
    tenant_id    text not null,
    inbox_id     uuid not null,
    run          bigint not null,
    topic        text collate "C" not null,
    live         integer not null check (live >= 0),
    primary key (tenant_id, inbox_id, run, topic),
    foreign key (tenant_id, inbox_id) references inboxes (tenant_id, id)
) with (fillfactor = 50);

-- One person in one inbox. Whoever changes anything of theirs holds this row and takes the next number.
create table inbox_members (
    tenant_id    text not null,
    inbox_id     uuid not null,
    recipient_id uuid not null,
    n            bigint not null default 0,
    visible_from uuid not null,
    read_upto    uuid not null default '00000000-0000-0000-0000-000000000000',
    primary key (tenant_id, inbox_id, recipient_id),
    foreign key (tenant_id, inbox_id) references inboxes (tenant_id, id),
    foreign key (tenant_id, recipient_id) references recipients (tenant_id, id)
) with (fillfactor = 70);
create index inbox_members_of_recipient on inbox_members (tenant_id, recipient_id) where n >= 0;
comment on column inbox_members.visible_from is 'the oldest post for everyone that this person sees';
comment on column inbox_members.read_upto is 'the newest post for everyone that a watermark of this person covers';

-- A message in one person's feed: a copy of their own, or what they did with a post for everyone.
create table inbox_items (
    tenant_id       text not null,
    inbox_id        uuid not null,
    recipient_id    uuid not null,
    post_id         uuid not null,
    public          boolean not null,
    is_notification boolean not null default false,
    topic           text collate "C" not null default '',
    content         bytea,
    n               bigint not null,
    as_of           bigint not null,
    expires_at      timestamptz not null,
    seen_at         timestamptz,
    read_at         timestamptz,
    archived_at     timestamptz,
    snoozed_until   timestamptz,
    pinned_at       timestamptz,
    clicked_at      timestamptz,
    redacted_at     timestamptz,
    check (not public or content is null),
    foreign key (tenant_id, inbox_id, recipient_id) references inbox_members (tenant_id, inbox_id, recipient_id)
        on delete cascade
) with (fillfactor = 80);
create index inbox_items_changed on inbox_items (tenant_id, inbox_id, recipient_id, n) where n > 0;
create index inbox_items_by_age on inbox_items (tenant_id, expires_at) where expires_at > '-infinity';
create index inbox_items_snoozed on inbox_items (tenant_id, snoozed_until) where snoozed_until is not null;
create index inbox_items_own on inbox_items (tenant_id, inbox_id, recipient_id, post_id) where not public;
alter table inbox_items add primary key (tenant_id, inbox_id, recipient_id, post_id);
create index inbox_items_of_post on inbox_items (tenant_id, inbox_id, post_id)
    where post_id > '00000000-0000-0000-0000-000000000000';
comment on column inbox_items.n is 'the member''s number at the last change, so that a stream resumes after it';
comment on column inbox_items.as_of is 'read_at is the whole truth up to this number; later watermarks that reach this message read it';

-- "Everything up to here is read", once for all messages. The first that covers a message says when it was read.
create table inbox_watermarks (
    tenant_id    text not null,
    inbox_id     uuid not null,
    recipient_id uuid not null,
    n            bigint not null,
    at           timestamptz not null,
    own_upto     uuid not null,
    public_upto  uuid not null,
    primary key (tenant_id, inbox_id, recipient_id, n),
    foreign key (tenant_id, inbox_id, recipient_id) references inbox_members (tenant_id, inbox_id, recipient_id)
        on delete cascade
);

-- Until when the tokens of a person are void.
create table inbox_token_ends (
    tenant_id    text not null,
    recipient_id uuid not null,
    not_before   timestamptz not null,
    primary key (tenant_id, recipient_id),
    foreign key (tenant_id, recipient_id) references recipients (tenant_id, id)
);

do $$
declare
    name text;
begin
    foreach name in array array['inbox_settings', 'inboxes', 'inbox_posts', 'inbox_counters', 'inbox_members', 'inbox_items',
        'inbox_watermarks', 'inbox_token_ends']
    loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy tenant on %I using (tenant_id = current_setting(''app.tenant_id'', true)) '
                       'with check (tenant_id = current_setting(''app.tenant_id'', true))', name);
    end loop;
end
$$;

create policy resolver on inbox_posts for select to waypost_resolver using (true);
create policy resolver on inbox_items for select to waypost_resolver using (true);
grant select (tenant_id, expires_at) on inbox_posts to waypost_resolver;
grant select (tenant_id, expires_at, snoozed_until) on inbox_items to waypost_resolver;

grant select, insert, update on inbox_settings, inboxes, inbox_token_ends to waypost_api;
grant select, insert, update, delete on inbox_posts, inbox_counters, inbox_members, inbox_items, inbox_watermarks to waypost_api;
grant delete on inbox_token_ends to waypost_api;
grant select on inbox_settings to waypost_worker;
grant select, insert on inboxes to waypost_worker;
grant update (n, place, last_post) on inboxes to waypost_worker;
grant select, delete on inbox_posts, inbox_watermarks to waypost_worker;
grant update (n) on inbox_posts to waypost_worker;
grant select, update, delete on inbox_counters to waypost_worker;
grant select, insert, update, delete on inbox_members to waypost_worker;
grant select, delete on inbox_token_ends to waypost_worker;
grant select, insert, update, delete on inbox_items to waypost_worker;
grant select, insert, update, delete on inbox_settings, inboxes, inbox_posts, inbox_counters, inbox_members, inbox_items,
    inbox_watermarks, inbox_token_ends to waypost_dba;
