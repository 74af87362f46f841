-- oldest_code: 17
-- Counting reads less: the sum of all posts for everyone is kept beside their runs, members say whether they have ever
-- marked everything read, inboxes where their posts begin, and one index holds all that is asked of a person's own rows.
-- Older code would not keep the sums, so it must not serve any more.

-- An inbox that is there already has no sums: it gets them, and its first post, with the next change to its posts.
alter table inboxes add column first_post uuid;
alter table inboxes alter column first_post set default '00000000-0000-0000-0000-000000000000';
comment on column inboxes.first_post is 'no post for everyone that stands has a smaller id; null: not known yet, and no sums are kept';

-- Whoever is there already may have marked something.
alter table inbox_members add column marked bigint not null default 9223372036854775807;
alter table inbox_members alter column marked set default 0;
comment on column inbox_members.marked is 'no watermark has a greater number';

comment on column inbox_counters.run is 'of 512 places; -1: all of them';

drop index inbox_items_own;
create index inbox_items_counted on inbox_items (tenant_id, inbox_id, recipient_id, post_id)
    include (public, topic, as_of, expires_at, read_at, archived_at, snoozed_until, redacted_at) where as_of > 0;

grant update (first_post) on inboxes to waypost_worker;
grant insert on inbox_counters to waypost_worker;

-- Made anew by the routines, with other columns.
drop function if exists inbox_page(text, text, uuid, uuid, timestamptz, integer, text, boolean, boolean, boolean, boolean);
