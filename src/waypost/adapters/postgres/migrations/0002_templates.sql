-- oldest_code: 2
-- Templates: versions, locales, layouts and partials, and what the platform offers to every tenant.

-- A platform's template (tenant `_platform`) is read by every tenant once it is published, and overridden by key and channel.
alter table templates
    add column kind           text not null default 'message' check (kind in ('message', 'layout', 'partial')),
    add column topic          text check (length(topic) between 1 and 100),
    add column default_locale text not null default 'en' check (length(default_locale) between 2 and 35),
    add column revision       integer not null default 1,
    add column published_at   timestamptz,
    add column archived_at    timestamptz,
    add check (channel between 1 and 7),
    add check (category between 1 and 6),
    add check (length(name) between 1 and 200),
    add check (length(key) between 1 and 100);
comment on column templates.revision is 'grows with every change of the template or its versions: the ETag';
comment on column templates.published_at is 'when a version was first published; which version is sent is said by the versions alone';

alter table template_versions
    add column semver         text check (semver ~ '^(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})$'),
    add column source         text check (source in ('platform', 'tenant', 'ai_drafted')),
    add column profile        text not null default 'jinja' check (profile in ('jinja', 'liquid')),
    add column locales        text[] not null default '{}',
    add column fallback_chain text[] not null default '{}',
    add column provenance     jsonb not null default '{}',
    add column created_by     uuid,
    add column approved_by    text check (length(approved_by) between 1 and 200),
    add column approved_at    timestamptz,
    add check ((semver is null) = (state = 'inline')),
    add check ((source is null) = (state = 'inline')),
    add check ((approved_by is null) = (approved_at is null)),
    add check (state <> 'active' or published_at is not null),
    -- What a model wrote is sent by nobody before a named person has approved it.
    add check (source is distinct from 'ai_drafted' or published_at is null or approved_by is not null);
create unique index template_versions_semver on template_versions (tenant_id, template_id, semver) where template_id is not null;
comment on column template_versions.content is 'sealed: the sources as they were written, or the inline content of a call';

-- What is sent, one row for each locale of a published version: compiled once, with its layout and partials inside.
create table template_contents (
    tenant_id    text not null,
    version_id   uuid not null,
    locale       text not null,
    content      bytea not null,
    primary key (tenant_id, version_id, locale),
    foreign key (tenant_id, version_id) references template_versions (tenant_id, id)
);
alter table template_contents enable row level security;
alter table template_contents force row level security;
create policy tenant on template_contents using (tenant_id = current_setting('app.tenant_id', true))
    with check (tenant_id = current_setting('app.tenant_id', true));

-- Drafts of the platform and the contents of its own calls stay its own.
create policy platform on templates for select to waypost_api, waypost_worker
    using (tenant_id = '_platform' and published_at is not null and current_setting('app.tenant_id', true) <> '');
create policy platform on template_versions for select to waypost_api, waypost_worker
    using (tenant_id = '_platform' and published_at is not null and current_setting('app.tenant_id', true) <> '');
create policy platform on template_contents for select to waypost_api, waypost_worker
    using (tenant_id = '_platform' and current_setting('app.tenant_id', true) <> '');

grant update (topic, default_locale, revision, published_at, archived_at) on templates to waypost_api;
grant update (approved_by, approved_at) on template_versions to waypost_api;
grant select, insert on template_contents to waypost_api;
grant select on template_contents to waypost_worker;
grant select, insert, update, delete on template_contents to waypost_dba;
