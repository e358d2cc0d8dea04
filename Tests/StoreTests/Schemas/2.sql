-- The whole schema of the federation service.
--
-- `federation migrate` runs this file; `psql -v ON_ERROR_STOP=1 -f schema.sql` gives the same. Applying it again changes nothing.
-- One advisory lock and one transaction around everything: sixteen instances that start at once wait for each other, and a
-- killed one leaves no half step. (`CREATE TABLE IF NOT EXISTS` alone fails when two sessions run it at once.)
--
-- Schema `federation` holds what operators configure. Each application has a PostgreSQL schema of its own for its users,
-- made by federation.create_application_schema().

begin;

set local client_min_messages = warning;
set local lock_timeout = '60s';
set local statement_timeout = '60s';
select pg_advisory_xact_lock(hashtextextended('federation schema', 0));

create schema if not exists federation;

-- Which steps of this file a database has seen; a running service is ready when the newest one is its own.
create table if not exists federation.schema_versions (
    version integer primary key,
    applied timestamptz not null default now()
);

-- One row that every change of configuration raises: instances look at it to learn that their copy is old.
create table if not exists federation.configuration (
    only_row boolean primary key default true check (only_row),
    revision bigint not null default 1
);
insert into federation.configuration default values on conflict do nothing;

-- Instances listen on this channel and so see a change as soon as it is committed; the revision is their safety net.
create or replace function federation.announce_configuration() returns trigger language plpgsql as $body$
begin
    perform pg_notify('federation_configuration', new.revision::text);
    return null;
end
$body$;

create or replace trigger configuration_is_announced
    after update on federation.configuration
    for each row execute function federation.announce_configuration();

create table if not exists federation.applications (
    id text collate "C" primary key check (id ~ '^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$'),
    name text not null check (octet_length(name) between 1 and 200),
    -- The PostgreSQL schema of its users. Never one that PostgreSQL or this service uses itself.
    schema_name text collate "C" not null unique check (
        octet_length(schema_name) between 1 and 63
        and schema_name !~ '^pg_'
        and schema_name not in ('federation', 'information_schema', 'public')
    ),
    settings jsonb not null default '{}',
    created timestamptz not null default now(),
    updated timestamptz
);
-- The revision of federation.configuration at the last change of anything that belongs to the application.
alter table federation.applications add column if not exists revision bigint not null default 1;

-- API keys of applications, as SHA-256 of their text.
create table if not exists federation.api_keys (
    application_id text collate "C" not null references federation.applications on delete cascade,
    key_hash bytea not null check (octet_length(key_hash) = 32),
    label text collate "C" not null check (octet_length(label) between 1 and 100),
    created timestamptz not null default now(),
    primary key (application_id, key_hash),
    unique (application_id, label)
);

-- One row for each provider that an application uses.
create table if not exists federation.provider_settings (
    application_id text collate "C" not null references federation.applications on delete cascade,
    provider text collate "C" not null check (provider in ('facebook')),
    enabled boolean not null,
    graph_version text not null check (graph_version ~ '^v[0-9]{1,3}[.][0-9]{1,2}$'),
    proof text not null check (proof in ('timed', 'classic')),
    primary key (application_id, provider)
);

-- The application's apps at a provider, the one asked first at position 0. The secret is AES-256-GCM under the master key
-- secret_key_id; its associated data name this table, the application, the row and the column.
create table if not exists federation.provider_apps (
    application_id text collate "C" not null,
    provider text collate "C" not null,
    app_id text collate "C" not null check (app_id ~ '^[0-9]{1,32}$'),
    position integer not null,
    secret bytea not null,
    secret_key_id text not null,
    secret_changed timestamptz not null default now(),
    primary key (application_id, provider, app_id),
    foreign key (application_id, provider) references federation.provider_settings on delete cascade
);

-- Revisions of mappings; one of them is active.
create table if not exists federation.mappings (
    application_id text collate "C" not null references federation.applications on delete cascade,
    provider text collate "C" not null,
    revision bigint not null,
    document jsonb not null,
    active boolean not null,
    created timestamptz not null default now(),
    primary key (application_id, provider, revision)
);
-- Who made the revision; unknown for those from before this was kept.
alter table federation.mappings add column if not exists author text;
create unique index if not exists mappings_one_active
    on federation.mappings (application_id, provider) where active;

-- The declared properties of an application's users: each is a column of its users table.
create table if not exists federation.properties (
    application_id text collate "C" not null references federation.applications on delete cascade,
    name text collate "C" not null check (name ~ '^[A-Za-z][A-Za-z0-9_]{0,62}$'),
    position integer not null,
    type text not null
        check (type in ('STRING', 'TEXT', 'INT', 'DOUBLE', 'BOOLEAN', 'DATE', 'DATETIME', 'JSON')),
    required boolean not null,
    client_mappable boolean not null,
    primary key (application_id, name)
);

-- Names of properties that clients' mappings brought in undeclared; their values are in the column users.dynamic.
create table if not exists federation.dynamic_properties (
    application_id text collate "C" not null references federation.applications on delete cascade,
    name text collate "C" not null check (name ~ '^[A-Za-z][A-Za-z0-9_]{0,62}$'),
    created timestamptz not null default now(),
    primary key (application_id, name)
);

-- Who may administer, and with which role.
create table if not exists federation.operators (
    name text collate "C" primary key check (name ~ '^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$'),
    role text not null check (role in ('viewer', 'editor', 'owner')),
    created timestamptz not null default now()
);

-- Bearer tokens of operators, as SHA-256 of their text; the id names one in commands and is no way to it.
create table if not exists federation.operator_tokens (
    token_hash bytea primary key check (octet_length(token_hash) = 32),
    id text collate "C" not null unique check (id ~ '^[0-9a-f]{16}$'),
    operator text collate "C" not null references federation.operators on delete cascade,
    created timestamptz not null default now(),
    expires timestamptz,
    last_used timestamptz
);
create index if not exists operator_tokens_operator on federation.operator_tokens (operator);

-- Who changed what. Rows are added, never changed or removed.
create table if not exists federation.audit_log (
    id bigint generated always as identity primary key,
    happened timestamptz not null default now(),
    actor text not null,
    application_id text,
    action text not null,
    details jsonb not null default '{}'
);

-- Where the change came from, and what it was done to within the application.
alter table federation.audit_log add column if not exists source text;
alter table federation.audit_log add column if not exists target text;
create index if not exists audit_log_application on federation.audit_log (application_id, id);

create or replace function federation.refuse_change() returns trigger language plpgsql as $body$
begin
    raise exception 'the audit log is append-only' using errcode = 'restrict_violation';
end
$body$;

create or replace trigger audit_log_is_append_only
    before update or delete or truncate on federation.audit_log
    for each statement execute function federation.refuse_change();

-- A JSON object of one member; NULL when the value is NULL, since it is strict.
create or replace function federation.json_member(key text, value jsonb) returns jsonb
language sql immutable strict parallel safe as 'select jsonb_build_object(key, value)';

-- Ends every session of a user but one. A statement of its own, so that it sees what a simultaneous login has just committed.
create or replace function federation.end_other_sessions(schema_name text, object_id uuid, token_hash bytea) returns void
language plpgsql volatile as $body$
begin
    execute format('delete from %I.sessions where object_id = $1 and token_hash <> $2', schema_name)
        using object_id, token_hash;
end
$body$;

-- Makes the schema of an application, or brings it up to this file.
create or replace function federation.create_application_schema(schema_name text) returns void
language plpgsql as $body$
begin
    execute format('create schema if not exists %I', schema_name);

    -- The users table that an operator works with. Declared properties follow as columns of their own name and type.
    execute format($ddl$
        create table if not exists %1$I.users (
            object_id uuid primary key,
            email text,
            email_verified boolean not null default false,
            name text,
            user_status text not null default 'ENABLED'
                check (user_status in ('ENABLED', 'DISABLED', 'EMAIL_CONFIRMATION_PENDING', 'GUEST')),
            social_account text,
            created timestamptz not null default now(),
            updated timestamptz,
            last_login timestamptz,
            locale text,
            dynamic jsonb not null default '{}'
        )$ddl$, schema_name);

    -- Operators look for people by their address. Here and below: CREATE INDEX IF NOT EXISTS would lock out logins before it looks.
    if to_regclass(format('%I.users_email', schema_name)) is null then
        execute format('create index users_email on %I.users (lower(email))', schema_name);
    end if;

    -- Who a person is at a provider. Subjects are scoped to the provider's app and compared as bytes.
    execute format($ddl$
        create table if not exists %1$I.identities (
            provider text collate "C" not null,
            provider_app text collate "C" not null,
            subject text collate "C" not null,
            object_id uuid not null references %1$I.users on delete cascade,
            created timestamptz not null default now(),
            last_used timestamptz not null default now(),
            granted_scopes text[] not null default '{}',
            data_access_expires timestamptz,
            -- What the mapping wrote last into properties that it writes until they are edited.
            written jsonb not null default '{}',
            primary key (provider, provider_app, subject)
        )$ddl$, schema_name);
    if to_regclass(format('%I.identities_object_id', schema_name)) is null then
        execute format('create index identities_object_id on %I.identities (object_id)', schema_name);
    end if;

    -- Sessions by SHA-256 of their token; the token itself is nowhere.
    execute format($ddl$
        create table if not exists %1$I.sessions (
            token_hash bytea primary key check (octet_length(token_hash) = 32),
            object_id uuid not null references %1$I.users on delete cascade,
            created timestamptz not null default now(),
            last_seen timestamptz not null default now(),
            expires timestamptz not null
        )$ddl$, schema_name);
    if to_regclass(format('%I.sessions_object_id', schema_name)) is null then
        execute format('create index sessions_object_id on %I.sessions (object_id)', schema_name);
    end if;
end
$body$;

-- Applications that exist already get what a newer version of this file adds to their schemas.
select federation.create_application_schema(schema_name) from federation.applications;

insert into federation.schema_versions (version) values (1), (2) on conflict do nothing;

commit;
