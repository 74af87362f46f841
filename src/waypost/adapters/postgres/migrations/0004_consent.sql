-- oldest_code: 4
-- Consent: topics, preferences, the history of consent, and suppressions by topic and for the whole platform.

alter table suppressions drop constraint suppressions_reason_check;
alter table suppressions
    add constraint suppressions_reason_check check (reason in ('hard_bounce', 'soft_bounce', 'complaint', 'invalid_address',
        'opt_out', 'manual', 'compliance', 'rate_limit')),
    add column topic  text not null default '',
    add column spared text[] not null default '{}',
    add column notes  text check (length(notes) between 1 and 1000),
    add column sealed bytea,
    add check (reason = 'opt_out' or topic = '' and spared = '{}');
comment on column suppressions.topic is 'of an opt-out: what it is about; empty for all marketing';
comment on column suppressions.spared is 'of an opt-out from all marketing: topics that were consented to since';
comment on column suppressions.sealed is 'only of the platform''s own: the address, so that tenants made later are covered too';
-- Places for each address: its owner's opt-outs, one per topic, and the gravest of all other reasons; none hides another.
drop index suppressions_in_force;
create unique index suppressions_in_force on suppressions (tenant_id, channel, hash, (reason = 'opt_out'), topic)
    where released_at is null;

-- What the platform has suppressed, under each tenant's own keyed hash: made and taken back for all tenants at once.
create table platform_suppressions (
    tenant_id      text not null references tenants (id),
    channel        smallint not null,
    hash           text not null check (length(hash) = 71),
    suppression_id uuid not null,
    expires_at     timestamptz,
    primary key (tenant_id, channel, hash)
);
create index platform_suppressions_of on platform_suppressions (tenant_id, suppression_id);

create table topics (
    tenant_id    text not null references tenants (id),
    key          text collate "C" not null check (key ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
    title        text not null check (length(title) between 1 and 200),
    description  text check (length(description) between 1 and 2000),
    category     smallint not null check (category between 1 and 6),
    opted_in     boolean not null,
    mandatory    boolean not null default false,
    position     integer not null default 0,
    channels     jsonb not null default '{}',
    version      integer not null default 1,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    primary key (tenant_id, key),
    check (not mandatory or opted_in and category <> 5)
);
comment on column topics.channels is 'channel → whether it is opted in there by default, where that differs from opted_in';

-- What a recipient has chosen; whatever is not here is as the topic and the tenant say.
create table recipient_preferences (
    tenant_id    text not null,
    recipient_id uuid not null,
    channels     jsonb not null default '{}',
    quiet_start  smallint check (quiet_start between 0 and 1439),
    quiet_end    smallint check (quiet_end between 0 and 1439),
    version      integer not null default 1,
    updated_at   timestamptz not null,
    primary key (tenant_id, recipient_id),
    foreign key (tenant_id, recipient_id) references recipients (tenant_id, id),
    check ((quiet_start is null) = (quiet_end is null))
);
comment on column recipient_preferences.quiet_start is 'minutes from local midnight; equal to quiet_end: never quiet';

-- Every word about consent, in order. Nobody may change or remove one: each row's proof covers the one before it.
create table consents (
    tenant_id    text not null,
    recipient_id uuid not null,
    n            integer not null check (n > 0),
    id           uuid not null,
    channel      smallint not null,
    topic        text not null,
    state        text not null check (state in ('pending', 'granted', 'withdrawn')),
    source       text not null,
    text_version text,
    at           timestamptz not null,
    proof        bytea not null check (length(proof) = 32),
    primary key (tenant_id, recipient_id, n),
    foreign key (tenant_id, recipient_id) references recipients (tenant_id, id)
);
comment on column consents.topic is 'empty for all marketing';
-- Where each history ends, so that its last rows cannot go missing unseen either.
create table consent_heads (
    tenant_id    text not null,
    recipient_id uuid not null,
    n            integer not null,
    proof        bytea not null check (length(proof) = 32),
    primary key (tenant_id, recipient_id),
    foreign key (tenant_id, recipient_id) references recipients (tenant_id, id)
);

-- What a notification is about, for the gate and for its unsubscribe link.
alter table notifications add column topic text;
alter type claimed_row add attribute topic text;

do $$
declare
    name text;
begin
    foreach name in array array['platform_suppressions', 'topics', 'recipient_preferences', 'consents', 'consent_heads'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy tenant on %I using (tenant_id = current_setting(''app.tenant_id'', true)) '
                       'with check (tenant_id = current_setting(''app.tenant_id'', true))', name);
    end loop;
end
$$;

grant select, insert, update, delete on topics, platform_suppressions, recipient_preferences to waypost_api;
grant select, insert on consents to waypost_api;
grant select, insert, update on consent_heads to waypost_api;
grant select on topics, platform_suppressions to waypost_worker;
grant select, insert, update on recipient_preferences, consent_heads to waypost_worker;
grant select, insert on consents to waypost_worker;
grant select, insert, update, delete on topics, platform_suppressions, recipient_preferences, consents, consent_heads
    to waypost_dba;
