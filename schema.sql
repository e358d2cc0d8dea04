-- The whole schema of the federation service.
--
-- `federation migrate` runs this file. `psql -v ON_ERROR_STOP=1 -f schema.sql` has the same result. To run the file
-- again changes nothing.
--
-- One transaction migrates what all applications share. Each application's schema has a transaction of its own, for two
-- reasons: logins then wait for one application at a time, and PostgreSQL has room for the locks of one application
-- only. Every transaction that changes the schema takes the same advisory lock, so that sixteen instances that start at
-- once migrate one after the other. (`CREATE TABLE IF NOT EXISTS` alone fails if two sessions run it at once.) The last
-- statement records the version, so an interrupted migration is not recorded and the next one starts again. No setting
-- lasts longer than its transaction, since the session may belong to a connection pooler.
--
-- The lines "by itself" divide this file into parts. `federation migrate` sends each part as a separate command, since
-- PostgreSQL allows a DO block to commit only if no other statement is sent with it.
--
-- The PostgreSQL schema `federation` holds the configuration and what else all applications share. Each application has
-- a further PostgreSQL schema for its users, created by federation.create_application_schema().

begin;

set local client_min_messages = warning;
set local lock_timeout = '60s';
set local statement_timeout = '60s';
-- On Citus, the shared tables belong on the coordinator, even if the role's settings distribute new schemas.
set local citus.enable_schema_based_sharding = off;
select pg_advisory_xact_lock(hashtextextended('federation schema', 0));

create schema if not exists federation;

-- The versions of this file that were applied to the database. A running service is ready if the newest of them is the
-- version that the service needs.
create table if not exists federation.schema_versions (
    version integer primary key,
    applied timestamptz not null default now()
);

-- This file must not replace the functions of a newer version. federation.schema_version() is the version whose
-- functions the database has.
do $body$
begin
    if to_regprocedure('federation.schema_version()') is not null then
        if federation.schema_version() > 17 then
            raise exception 'the database has version % of the schema, newer than version 17 of this program: '
                'use the newer program', federation.schema_version();
        end if;
    end if;
end
$body$;

create or replace function federation.schema_version() returns integer language sql immutable as 'select 17';

-- The next three functions add a column, an index or a trigger unless it exists. IF NOT EXISTS and OR REPLACE are
-- avoided, since they lock the table before they check whether the object exists. Logins would wait for that lock, and
-- a transaction that already has a lock on another table would deadlock.
create or replace function federation.add_column(table_name text, column_name text, definition text) returns void
language plpgsql as $body$
begin
    if not exists (
        select from pg_attribute
        where attrelid = table_name::regclass and attname = column_name and not attisdropped
    ) then
        execute format('alter table %s add column %I %s', table_name, column_name, definition);
    end if;
end
$body$;

create or replace function federation.add_index(index_name text, definition text, kind text default 'index')
returns void language plpgsql as $body$
begin
    if to_regclass(format('federation.%I', index_name)) is null then
        execute format('create %s %I %s', kind, index_name, definition);
    end if;
end
$body$;

create or replace function federation.add_trigger(table_name text, trigger_name text, event text, definition text)
returns void language plpgsql as $body$
begin
    if not exists (select from pg_trigger where tgrelid = table_name::regclass and tgname = trigger_name) then
        execute format('create trigger %I %s on %s %s', trigger_name, event, table_name, definition);
    end if;
end
$body$;

-- The revision of the configuration, in a single row. Every change of the configuration increments the revision. An
-- instance compares the revision with that of its cached configuration to detect changes.
create table if not exists federation.configuration (
    only_row boolean primary key default true check (only_row),
    revision bigint not null default 1
);
insert into federation.configuration default values on conflict do nothing;

-- Notifies the channel federation_configuration of a new revision. Instances listen on the channel, so they learn of a
-- change as soon as it is committed. If a notification is lost, they learn of the change when they next read the
-- revision.
create or replace function federation.announce_configuration() returns trigger language plpgsql as $body$
begin
    perform pg_notify('federation_configuration', new.revision::text);
    return null;
end
$body$;

select federation.add_trigger(
    'federation.configuration', 'configuration_is_announced',
    'after update', 'for each row execute function federation.announce_configuration()'
);

create table if not exists federation.applications (
    id text collate "C" primary key check (id ~ '^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$'),
    name text not null check (octet_length(name) between 1 and 200),
    -- The PostgreSQL schema of the application's users. Schemas that PostgreSQL or this service uses itself are
    -- excluded.
    schema_name text collate "C" not null unique check (
        octet_length(schema_name) between 1 and 63
        and schema_name !~ '^pg_'
        and schema_name not in ('federation', 'information_schema', 'public')
    ),
    settings jsonb not null default '{}',
    created timestamptz not null default now(),
    updated timestamptz
);
-- The value of federation.configuration.revision after the last change of anything that belongs to the application.
select federation.add_column('federation.applications', 'revision', 'bigint not null default 1');

-- The environment variable with the URL of the database that has the application's schema; NULL if this database has
-- it.
select federation.add_column(
    'federation.applications', 'database',
    $$text collate "C"
        check (octet_length(database) <= 63 and database ~ '^[A-Z][A-Z0-9_]*_DATABASE_URL$' and database !~ '^FEDERATION_')$$
);

-- The environment variables that a document named for keys and secrets, by their places in the document. An export
-- names the same variables again. The values of the variables are not stored here.
select federation.add_column('federation.applications', 'variables', $$jsonb not null default '{}'$$);

-- Renames settings in every object of an application's settings, at each migration. Before version 15, these settings
-- had other names. If a value exists under both names, the value under the new name counts. No later setting may have
-- one of the former names.
create function federation.renamed_settings(settings jsonb) returns jsonb language plpgsql immutable as $body$
declare
    names constant jsonb := '{
        "mostSessions": "maxSessions", "excessLogins": "sessionLimitBehavior", "lock": "lockout",
        "tellUnknownLogins": "allowAccountEnumeration", "clientKeys": "apiKeyRights",
        "mostPerHour": "maxPerSourcePerHour", "mostPerHourInAll": "maxPerHour", "fewestCharacters": "minLength",
        "vouchingProviders": "exemptProviders", "mostPerNumber": "maxPerNumberPerDay",
        "mostPerSource": "maxPerSourcePerHour", "mostPerDay": "maxPerDay"
    }';
begin
    if jsonb_typeof(settings) <> 'object' then
        return settings;
    end if;
    return coalesce(
        (
            select jsonb_object_agg(coalesce(names ->> key, key), federation.renamed_settings(value))
            from jsonb_each(settings)
            where not coalesce(settings ? (names ->> key), false)
        ),
        '{}'
    );
end
$body$;
update federation.applications set settings = federation.renamed_settings(settings)
    where settings <> federation.renamed_settings(settings);
drop function federation.renamed_settings(jsonb);

-- The deployment that this database belongs to. In the main database, `main` is true. In a separate database of
-- applications, `main` is false, and `id` is the id of the main database's deployment: the program `federation` sets
-- that id in the first transaction of this file. The table federation.applications of such a database lists the
-- applications whose users are there. Such a database has nothing else of the configuration.
create table if not exists federation.deployment (
    only_row boolean primary key default true check (only_row),
    id uuid not null,
    main boolean not null
);
insert into federation.deployment (id, main)
select coalesce(named.id, gen_random_uuid()), named.id is null
from (select nullif(current_setting('federation.deployment', true), '')::uuid as id) named
on conflict do nothing;

-- API keys of applications. `key_hash` is the SHA-256 of a key's text.
create table if not exists federation.api_keys (
    application_id text collate "C" not null references federation.applications on delete cascade,
    key_hash bytea not null check (octet_length(key_hash) = 32),
    label text collate "C" not null check (octet_length(label) between 1 and 100),
    created timestamptz not null default now(),
    primary key (application_id, key_hash),
    unique (application_id, label)
);

-- Whether the API key belongs to a server. The key of a server also admits requests about other users than the user of
-- the session.
select federation.add_column('federation.api_keys', 'server', 'boolean not null default false');

-- The providers of an application, one row for each. `options` has the other options that operators set: see
-- docs/configuration.md.
create table if not exists federation.provider_settings (
    application_id text collate "C" not null references federation.applications on delete cascade,
    provider text collate "C" not null,
    enabled boolean not null,
    primary key (application_id, provider)
);
select federation.add_column('federation.provider_settings', 'options', $$jsonb not null default '{}'$$);

-- Before version 4, Facebook was the only provider, and two columns had its options. They become part of `options`,
-- which every provider has.
do $body$
begin
    if exists (
        select from pg_attribute
        where attrelid = 'federation.provider_settings'::regclass and attname = 'graph_version' and not attisdropped
    ) then
        update federation.provider_settings
        set options = options || jsonb_build_object('graphVersion', graph_version, 'proof', proof);
        alter table federation.provider_settings drop column graph_version, drop column proof,
            drop constraint if exists provider_settings_provider_check;
    end if;
    -- Operators choose the names of providers. No provider may have the name `password`, since `password` names another
    -- login method.
    if not exists (
        select from pg_constraint
        where conrelid = 'federation.provider_settings'::regclass and conname = 'provider_settings_provider'
            and pg_get_constraintdef(oid) like '%password%'
    ) then
        alter table federation.provider_settings drop constraint if exists provider_settings_provider,
            add constraint provider_settings_provider
                check (provider ~ '^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$' and provider <> 'password');
    end if;
end
$body$;

-- The provider kind; NULL if the provider's name is also its kind.
select federation.add_column(
    'federation.provider_settings', 'kind',
    $$text collate "C"
        check (kind ~ '^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$')$$
);

-- The provider kind of each provider name, kept for ever. Identities outlast the settings of their provider. If a
-- provider of another kind got the name, the service would take the stored subjects for subjects of that provider,
-- which belong to other users.
create table if not exists federation.provider_kinds (
    application_id text collate "C" not null references federation.applications on delete cascade,
    provider text collate "C" not null,
    kind text collate "C" not null,
    primary key (application_id, provider)
);
insert into federation.provider_kinds
select application_id, provider, coalesce(kind, provider) from federation.provider_settings on conflict do nothing;

-- A trigger records the kind, since instances from before version 7 do not record it, and they continue to run while
-- the new instances start.
create or replace function federation.remember_provider_kind() returns trigger language plpgsql as $body$
begin
    insert into federation.provider_kinds
    values (new.application_id, new.provider, coalesce(new.kind, new.provider)) on conflict do nothing;
    return null;
end
$body$;

select federation.add_trigger(
    'federation.provider_settings', 'provider_kind_is_remembered',
    'after insert or update of kind', 'for each row execute function federation.remember_provider_kind()'
);

-- The application's apps at a provider. The service tries them in the order of `position`, from 0. `secret` is
-- encrypted by AES-256-GCM with the master key secret_key_id. The associated data of the encryption names this table,
-- the application, the row and the column.
create table if not exists federation.provider_apps (
    application_id text collate "C" not null,
    provider text collate "C" not null,
    app_id text collate "C" not null,
    position integer not null,
    secret bytea not null,
    secret_key_id text not null,
    secret_changed timestamptz not null default now(),
    primary key (application_id, provider, app_id),
    foreign key (application_id, provider) references federation.provider_settings on delete cascade
);
do $body$
begin
    if not exists (
        select from pg_constraint
        where conrelid = 'federation.provider_apps'::regclass and conname = 'provider_apps_app_id'
            and pg_get_constraintdef(oid) like '%255%'
    ) then
        alter table federation.provider_apps drop constraint if exists provider_apps_app_id_check,
            drop constraint if exists provider_apps_app_id,
            add constraint provider_apps_app_id check (app_id ~ '^[A-Za-z0-9_./:-]{1,255}$');
    end if;
end
$body$;

-- The id of the configuration that the app's login dialog follows. The operator created that configuration at the
-- provider. NULL if the dialog follows none.
select federation.add_column('federation.provider_apps', 'config_id', $$text check (config_id ~ '^[0-9]{1,32}$')$$);

-- Revisions of the mappings of providers. At most one revision for each provider is active.
create table if not exists federation.mappings (
    application_id text collate "C" not null references federation.applications on delete cascade,
    provider text collate "C" not null,
    revision bigint not null,
    document jsonb not null,
    active boolean not null,
    created timestamptz not null default now(),
    primary key (application_id, provider, revision)
);
-- The author of the revision; NULL for revisions from before this column existed.
select federation.add_column('federation.mappings', 'author', 'text');
select federation.add_index(
    'mappings_one_active', 'on federation.mappings (application_id, provider) where active', 'unique index'
);

-- The declared properties of an application's users. Each property is a column of the application's users table.
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
-- The visibility of the property in responses: `self` for the user and servers, `users` for other users, too, `server`
-- for servers alone.
select federation.add_column(
    'federation.properties', 'visible_to',
    $$text not null default 'self'
        check (visible_to in ('self', 'users', 'server'))$$
);

-- `indexed` is true if the column shall have an index of its own, which the service builds in the background.
-- `index_problem` is the reason why the last attempt to build the index failed; NULL if no attempt failed since the
-- last success.
select federation.add_column('federation.properties', 'indexed', 'boolean not null default false');
select federation.add_column('federation.properties', 'index_problem', 'text');

-- Slow searches for users, counted by sets of properties: an index of any property of the set would have sped up the
-- search. The service limits the number of rows, since clients choose which properties they search by.
create table if not exists federation.index_advice (
    application_id text collate "C" not null references federation.applications on delete cascade,
    properties text[] collate "C" not null check (array_length(properties, 1) between 1 and 100),
    first timestamptz not null default now(),
    last timestamptz not null default now(),
    searches bigint not null,
    slowest_milliseconds bigint not null,
    primary key (application_id, properties)
);

-- The names of undeclared properties that clients' mappings write. The values are in the column users.dynamic.
create table if not exists federation.dynamic_properties (
    application_id text collate "C" not null references federation.applications on delete cascade,
    name text collate "C" not null check (name ~ '^[A-Za-z][A-Za-z0-9_]{0,62}$'),
    created timestamptz not null default now(),
    primary key (application_id, name)
);

-- Tables that existed before the application and contain its users (`federation adopt`). In the schema of such an
-- application, `users` is a view of that table. While the view does not exist, the adoption is not finished.
create table if not exists federation.adopted_tables (
    application_id text collate "C" primary key references federation.applications on delete cascade,
    relation regclass not null unique,
    adopted timestamptz not null default now()
);

-- The columns of the view `users`, in order, each with the name of the adopted table's column. `added` is true if the
-- service added the column to the table. The service may drop such a column together with its property, but never drops
-- the other columns, which the table had before.
create table if not exists federation.adopted_columns (
    application_id text collate "C" not null references federation.adopted_tables on delete cascade,
    name text collate "C" not null,
    column_name text collate "C" not null,
    position bigint not null generated always as identity,
    added boolean not null,
    primary key (application_id, name),
    unique (application_id, column_name)
);

-- The operators. The role of an operator determines the operator's rights.
create table if not exists federation.operators (
    name text collate "C" primary key check (name ~ '^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$'),
    role text not null check (role in ('viewer', 'editor', 'owner')),
    created timestamptz not null default now()
);

-- Bearer tokens of operators. `token_hash` is the SHA-256 of a token's text. `id` names the token in commands, and
-- gives no access. `expires` is NULL if the token never expires, and `last_used` is NULL if the token was never used.
create table if not exists federation.operator_tokens (
    token_hash bytea primary key check (octet_length(token_hash) = 32),
    id text collate "C" not null unique check (id ~ '^[0-9a-f]{16}$'),
    operator text collate "C" not null references federation.operators on delete cascade,
    created timestamptz not null default now(),
    expires timestamptz,
    last_used timestamptz
);
select federation.add_index('operator_tokens_operator', 'on federation.operator_tokens (operator)');

-- `machine` is true if a program has the token. A program shows no second factor. Tokens from before version 9 count as
-- tokens of programs. `factor_proved` is the time at which the operator last showed a second factor with the token;
-- NULL for never.
select federation.add_column('federation.operator_tokens', 'machine', 'boolean not null default true');
select federation.add_column('federation.operator_tokens', 'factor_proved', 'timestamptz');

-- The purpose of the token. `calls` is for requests to the administration. `link` is for a link that opens one session
-- of the console; the session's opening deletes the token. `session` is for a session that the console has opened for a
-- browser.
select federation.add_column(
    'federation.operator_tokens', 'purpose',
    $$text collate "C" not null default 'calls'
        check (purpose in ('calls', 'link', 'session'))$$
);

-- The link that creates the first owner while there is no operator. At most one such link exists. `token_hash` is the
-- SHA-256 of the link's token.
create table if not exists federation.operator_setup (
    is_only boolean primary key default true check (is_only),
    token_hash bytea not null check (octet_length(token_hash) = 32),
    expires timestamptz not null
);

-- The id by which authenticators recognize an operator (the user handle of WebAuthn).
select federation.add_column('federation.operators', 'object_id', 'uuid not null default gen_random_uuid()');
select federation.add_index('operators_object_id', 'on federation.operators (object_id)', 'unique index');

-- Second factors of operators. The columns have the same meaning as those of the table `factors` of an application.
create table if not exists federation.operator_factors (
    id uuid primary key,
    object_id uuid not null references federation.operators (object_id) on delete cascade,
    kind text collate "C" not null,
    label text check (octet_length(label) between 1 and 200),
    secret bytea,
    secret_key_id text,
    step bigint not null default -1,
    codes text[] collate "C" not null default '{}',
    credential_id bytea unique check (octet_length(credential_id) between 1 and 1023),
    public_key bytea,
    sign_count bigint not null default 0,
    backup_eligible boolean not null default false,
    transports text[] collate "C" not null default '{}',
    created timestamptz not null default now(),
    used timestamptz
);
select federation.add_index('operator_factors_object_id', 'on federation.operator_factors (object_id)');

-- Guesses at the second factors of operators. An operator has at most two rows: one counts guesses at codes, and one
-- counts guesses at recovery codes. The columns have the same meaning as those of the table `attempts` of an
-- application.
create table if not exists federation.attempts (
    key bytea primary key check (octet_length(key) = 32),
    failures bigint not null,
    counted_since timestamptz not null default now(),
    recent bigint not null default 0,
    last timestamptz not null default now(),
    blocked_until timestamptz not null default now()
);

-- The audit log: each change with its author (`actor`). Rows are added, and never changed or deleted.
create table if not exists federation.audit_log (
    id bigint generated always as identity primary key,
    happened timestamptz not null default now(),
    actor text not null,
    application_id text,
    action text not null,
    details jsonb not null default '{}'
);

-- `source` is the network address or the host that the change came from. `target` is the object within the application
-- that was changed; NULL if there is none.
select federation.add_column('federation.audit_log', 'source', 'text');
select federation.add_column('federation.audit_log', 'target', 'text');
select federation.add_index('audit_log_application', 'on federation.audit_log (application_id, id)');

create or replace function federation.refuse_change() returns trigger language plpgsql as $body$
begin
    raise exception 'the audit log is append-only: its rows cannot be changed or deleted'
        using errcode = 'restrict_violation';
end
$body$;

select federation.add_trigger(
    'federation.audit_log', 'audit_log_is_append_only',
    'before update or delete or truncate', 'for each statement execute function federation.refuse_change()'
);

-- Requests to delete the data of a user. A provider makes the request by a callback about an identity, or the user
-- requests the deletion of the account. The user gets `code`, and the page with the state of the request finds the
-- request by this code. When the request is done, provider_app, subject and object_id become NULL, so that the row no
-- longer names the user.
create table if not exists federation.deletion_requests (
    code text collate "C" primary key check (code ~ '^[A-Z2-7]{26}$'),
    application_id text collate "C" not null references federation.applications on delete cascade,
    -- A SHA-256 hash of the provider's signed request, or of the user who requests the deletion. A repeated request has
    -- the same hash, and so gets the code of the first request.
    request_hash bytea not null check (octet_length(request_hash) = 32),
    provider text collate "C" not null,
    provider_app text collate "C",
    subject text collate "C",
    -- The time at which the provider signed the request. The request does not concern an identity that was created
    -- later.
    issued timestamptz not null,
    requested timestamptz not null default now(),
    due timestamptz not null,
    done timestamptz,
    -- The time of the last failed attempt at the erasure, and the obstacle to the erasure. The obstacle is a table
    -- whose rows refer to the user, a rule of the operator's, or a valid link that can still recover the account. Each
    -- is NULL if there was none.
    attempted timestamptz,
    hindrance text,
    unique (application_id, request_hash)
);
select federation.add_index(
    'deletion_requests_due', 'on federation.deletion_requests (application_id, due) where done is null'
);
-- SHA-256 of the provider's callback. A callback makes a request for each provider that has the app, and is done when
-- all of these requests are done. If the user made the request, this is request_hash. NULL for requests from before
-- this column existed.
select federation.add_column('federation.deletion_requests', 'call_hash', 'bytea');
select federation.add_index('deletion_requests_call', 'on federation.deletion_requests (application_id, call_hash)');
-- The user who requested the deletion of the account; NULL if a provider made the request, about an identity.
select federation.add_column('federation.deletion_requests', 'object_id', 'uuid');

-- Keys that sign the tokens by which other services verify users (GET users/token). Each application has keys of its
-- own, so that no service accepts a token of another application: one of each type (`kty`), which has its algorithm.
-- `secret` is the private key, encrypted by AES-256-GCM with the master key secret_key_id. `retired` is the time at
-- which another key of the type replaced this one; NULL for the newest key. A retired key still signs for some minutes,
-- until the services that cache the public keys know the new key. The row stays as long as a token that the key signed
-- may be valid.
create table if not exists federation.token_keys (
    id text collate "C" primary key check (id ~ '^[A-Za-z0-9_-]{16,43}$'),
    secret bytea not null,
    secret_key_id text not null,
    -- The public key as a JWK (RFC 7517), for RSA with a certificate (`x5c`).
    public_key jsonb not null,
    created timestamptz not null default now(),
    retired timestamptz
);
select federation.add_column(
    'federation.token_keys', 'application_id',
    'text collate "C"
        references federation.applications on delete cascade'
);
-- A key without an application is from the time when all applications shared one key. Such a key signs an application's
-- tokens until the services that cache the public keys know the application's own key.
update federation.token_keys set retired = now() where application_id is null and retired is null;
drop index if exists federation.token_keys_one_signs;
drop index if exists federation.token_keys_one_signs_for_each;
select federation.add_index(
    'token_keys_one_of_each_type_signs',
    'on federation.token_keys (application_id, (public_key ->> ''kty'')) where retired is null',
    'unique index'
);

-- The service accounts of an application: backends that administer its users with Firebase's Admin SDKs. A backend
-- signs with its private key, which the service shows once and does not store. `id` names the key, and `email` the
-- account, in what the backend signs.
create table if not exists federation.service_accounts (
    id text collate "C" primary key check (id ~ '^[0-9a-f]{40}$'),
    application_id text collate "C" not null references federation.applications on delete cascade,
    name text collate "C" not null,
    email text collate "C" not null unique,
    -- The public key as a JWK (RFC 7517).
    public_key jsonb not null,
    created timestamptz not null default now(),
    unique (application_id, name)
);

-- The key by which banned identities are hashed. Such a hash stays when the user of the identity is erased. `secret` is
-- the key, encrypted by AES-256-GCM with the master key secret_key_id. The key is created once and never replaced:
-- nothing names an erased identity any more, so its hash could not be computed again.
create table if not exists federation.ban_key (
    only_row boolean primary key default true check (only_row),
    secret bytea not null,
    secret_key_id text not null,
    created timestamptz not null default now()
);

-- The ids of the master keys that may encrypt the secrets of this deployment. The service encrypts nothing with another
-- key. The first program that uses an empty database registers its own key. A program registers a further key if it
-- also has a registered key; an operator can register any key by `federation secrets register`. A rotation removes the
-- former keys at its end. In a separate database of applications, this table is empty.
create table if not exists federation.master_keys (
    id text collate "C" primary key check (octet_length(id) between 1 and 64),
    registered timestamptz not null default now()
);

-- Returns the ids of the master keys that encrypt the secrets in the schema `federation`.
create or replace function federation.master_keys_in_use() returns setof text
language sql stable as $body$
    select secret_key_id from federation.provider_apps
    union
    select o.value ->> 'keyId' from federation.provider_settings s,
        jsonb_each(case when jsonb_typeof(s.options) = 'object' then s.options else '{}' end) o
    where jsonb_typeof(o.value) = 'object' and o.value ? 'sealed' and o.value ->> 'keyId' <> ''
    union
    select secret_key_id from federation.token_keys
    union
    select secret_key_id from federation.operator_factors where secret_key_id is not null
    union
    select secret_key_id from federation.ban_key
$body$;

-- Checks whether secrets may be encrypted with a master key. Returns NULL if they may, and otherwise the ids of the
-- registered keys. If no key is registered, the function registers the keys in use; if no key is in use either, it
-- registers the given key. `held` has the ids of the program's other keys. With `registers`, the function also
-- registers the given key if one of these is registered. If several keys come at once to an empty database, only the
-- first one is registered.
create or replace function federation.admit_master_key(key text, held text[], registers boolean) returns text[]
language plpgsql volatile as $body$
begin
    if exists (select from federation.master_keys where id = key) then
        return null;
    end if;
    perform pg_advisory_xact_lock(hashtextextended('federation master keys', 0));
    if not exists (select from federation.master_keys) then
        insert into federation.master_keys (id) select * from federation.master_keys_in_use() on conflict do nothing;
        if not exists (select from federation.master_keys) then
            insert into federation.master_keys (id) values (key);
        end if;
    end if;
    if registers and exists (select from federation.master_keys where id = any (held)) then
        insert into federation.master_keys (id) values (key) on conflict do nothing;
    end if;
    if exists (select from federation.master_keys where id = key) then
        return null;
    end if;
    return (select array_agg(id order by id) from federation.master_keys);
end
$body$;

-- Registers the keys in use in a database from before version 14.
insert into federation.master_keys (id)
select * from federation.master_keys_in_use() where not exists (select from federation.master_keys);

-- Imports of users from other systems. `file_hash` is the SHA-256 of the imported file. `records` is the number of
-- records that are done. The transaction that writes the records also updates this number, so an interrupted import
-- continues where it stopped. `finished` is NULL until the import is complete.
create table if not exists federation.imports (
    application_id text collate "C" not null references federation.applications on delete cascade,
    file_hash bytea not null check (octet_length(file_hash) = 32),
    source text collate "C" not null,
    records bigint not null default 0,
    imported bigint not null default 0,
    existing bigint not null default 0,
    started timestamptz not null default now(),
    finished timestamptz,
    primary key (application_id, file_hash)
);

-- Records of an import that did not become users, for the report. No values of the records are stored.
create table if not exists federation.import_refusals (
    application_id text collate "C" not null,
    file_hash bytea not null,
    record bigint not null,
    line bigint not null,
    reason text not null,
    message text not null,
    primary key (application_id, file_hash, record),
    foreign key (application_id, file_hash) references federation.imports on delete cascade
);

-- The login log, for operators. Each row has the data of the login's line in the server's log, the user agent, and the
-- id of the opened session. Rows are kept for FEDERATION_LOGIN_LOG_DAYS days. Instances write the rows after the
-- logins, so that no login waits. One instance writes at a time, with increasing ids, so a reader that continues after
-- an id misses no later row. The table has no foreign key and no other table refers to it, so that no change of an
-- application or a user waits for the log.
create table if not exists federation.login_log (
    -- The time of writing, in milliseconds since 1970, times 1024, plus a number that tells rows of the same
    -- millisecond apart. An older row has a smaller id.
    id bigint primary key,
    happened timestamptz not null,
    application_id text collate "C" not null,
    -- The method is provider, password, guest, server or passkey. `provider` is the provider's name; NULL for another
    -- method, and if no such provider exists.
    method text collate "C" not null,
    provider text collate "C",
    credential text collate "C" not null,
    -- The outcome is created, updated or refused. `reason` tells why the login was refused, and `cause` has the cause
    -- in the words of the server's log. Both are NULL if the login was not refused.
    outcome text collate "C" not null,
    reason text collate "C",
    cause text,
    object_id uuid,
    request text collate "C",
    source text collate "C",
    milliseconds bigint not null,
    user_agent text,
    -- The id of the opened session, as in lists of sessions; NULL if no session was opened or the user has been erased.
    session text collate "C"
);
select federation.add_index('login_log_application', 'on federation.login_log (application_id, id)');
select federation.add_index('login_log_method', 'on federation.login_log (application_id, method, provider, id)');
-- Most logins are of existing users and have the outcome `updated`. These are found without an index on the outcome. In
-- the next two indexes, the columns behind `id` let PostgreSQL skip rows that do not match within the index. There is
-- no statement timeout here, since the log may be long. Only writers of the log wait for these statements, and no login
-- does.
set local statement_timeout = 0;
select federation.add_index(
    'login_log_outcomes',
    $$on federation.login_log (application_id, outcome, id, method, provider) where outcome <> 'updated'$$
);
select federation.add_index(
    'login_log_reasons',
    'on federation.login_log (application_id, reason, id, method, provider) where reason is not null'
);
set local statement_timeout = '60s';
select federation.add_index('login_log_source', 'on federation.login_log (application_id, source, id)');
select federation.add_index(
    'login_log_user', 'on federation.login_log (application_id, object_id, id) where object_id is not null'
);

-- The numbers of logins in each minute and in each hour. `unlisted` is the number of those logins that have no row in
-- the login log.
create table if not exists federation.login_counts (
    application_id text collate "C" not null,
    -- The length of the interval in seconds: 60 or 3600.
    seconds integer not null,
    starts timestamptz not null,
    method text collate "C" not null,
    -- An empty text means no provider, and likewise no reason, since columns of a primary key cannot be NULL.
    provider text collate "C" not null,
    outcome text collate "C" not null,
    reason text collate "C" not null,
    logins bigint not null,
    unlisted bigint not null,
    primary key (application_id, seconds, starts, method, provider, outcome, reason)
);
select federation.add_index('login_counts_starts', 'on federation.login_counts (seconds, starts)');

-- Recently erased users who are still to be removed from the login log. The service removes them part by part. It
-- searches the log once more ten minutes later, since an instance may have written a login of the user meanwhile.
create table if not exists federation.login_log_erasures (
    application_id text collate "C" not null,
    object_id uuid not null,
    erased timestamptz not null default now(),
    -- The time of the next search through the log.
    due timestamptz not null default now(),
    primary key (application_id, object_id)
);
select federation.add_index('login_log_erasures_due', 'on federation.login_log_erasures (due)');

-- Returns the SHA-256 of an identity. Two things are stored under this hash: the end of an identity's access, as long
-- as ID tokens from before that end could be accepted, and the owner of a login code.
--
-- No two identities have the same text. A provider's name contains neither a space nor a slash. An app's id contains no
-- space, and its slashes are replaced here. The text of Facebook's identities lacks the provider's name, as it did
-- before version 6.
create or replace function federation.identity_hash(provider text, provider_app text, subject text) returns bytea
language sql immutable strict parallel safe as $body$
select sha256(convert_to(
    case provider when 'facebook' then '' else provider || ' ' end || replace(provider_app, '/', '%2F') || '/' || subject, 'UTF8'
))
$body$;

-- The same function for instances from before version 6, which continue to run while the new instances start. All their
-- identities are Facebook's.
create or replace function federation.identity_hash(provider_app text, subject text) returns bytea
language sql immutable strict parallel safe as $body$select federation.identity_hash('facebook', provider_app, subject)$body$;

-- Returns the name by which a function within a statement reaches a table of an application. On Citus, such a function
-- runs on the node with the tables, where the tables have the names of their shards.
create or replace function federation.table_name(schema_name text, name text) returns text
language sql stable as $body$select format('%I.%I', schema_name, name)$body$;

do $body$
begin
    if to_regclass('pg_catalog.pg_dist_shard') is not null then
        create or replace function federation.table_name(schema_name text, name text) returns text
        language sql stable as $name$
            select coalesce(
                (select shard_name(logicalrelid, shardid) from pg_dist_shard
                    where logicalrelid = to_regclass(format('%I.%I', $1, $2))),
                format('%I.%I', $1, $2)
            )
        $name$;
    end if;
end
$body$;

-- Runs a statement about an application's users on the Citus node that has the users. `command` is the statement with
-- the names of the shards. The statement reads its values from the array $1. Citus opens the sessions on that node
-- itself, so this function has the setting `jit`, which the service makes for its own sessions.
create or replace function federation.at_shard(command text, arguments text[]) returns setof record
language plpgsql volatile set jit = off as $body$
begin
    return query execute command using arguments;
end
$body$;

-- The same function for a statement that returns no columns. It returns a row for each row that the statement found or
-- wrote.
create or replace function federation.count_at_shard(command text, arguments text[]) returns setof boolean
language plpgsql volatile set jit = off as $body$
declare
    found_rows bigint;
begin
    execute command using arguments;
    get diagnostics found_rows = row_count;
    return query select true from generate_series(1, found_rows);
end
$body$;

-- Returns whether the access of an identity ended at a moment or later. The function sees everything that was committed
-- before its call. This matters if a login has waited for an erasure: the login's own statement does not see the
-- erasure.
create or replace function federation.has_ended(schema_name text, identity bytea, moment timestamptz) returns boolean
language plpgsql volatile as $body$
declare
    result boolean;
begin
    execute format(
        'select exists (select from %s where kind = ''ended'' and hash = $1 and created >= $2)',
        federation.table_name(schema_name, 'single_use')
    ) into result using identity, moment;
    return result;
end
$body$;

-- Returns a JSON object with one member. Since the function is strict, the result is NULL if the value is NULL.
create or replace function federation.json_member(key text, value jsonb) returns jsonb
language sql immutable strict parallel safe as 'select jsonb_build_object(key, value)';

-- Returns whether a user has a second factor of one of the kinds. The caller has locked the user. The function sees
-- what a simultaneous login committed before that login released the lock.
create or replace function federation.has_factor(schema_name text, object_id uuid, kinds text[]) returns boolean
language plpgsql volatile as $body$
declare
    result boolean;
begin
    execute format(
        'select exists (select from %s where object_id = $1 and removed is null and kind = any ($2))',
        federation.table_name(schema_name, 'factors')
    ) into result using object_id, kinds;
    return result;
end
$body$;

-- Versions 2 and 3 had this function.
drop function if exists federation.end_other_sessions(text, uuid, bytea);

-- Returns the table with an application's users: `users` of its schema, or the adopted table if `users` is a view.
create or replace function federation.users_table(schema_name text) returns regclass
language sql stable as $body$
select case u.relkind when 'v' then t.relation else u.oid::regclass end
from pg_class u
left join federation.applications a on a.schema_name = users_table.schema_name
left join federation.adopted_tables t on t.application_id = a.id
where u.oid = to_regclass(format('%I.users', users_table.schema_name))
$body$;

-- Returns the columns of the table with an application's users. `name` is the name that statements use; NULL if the
-- column of an adopted table is not part of the view `users`. In an adopted table, a column may have a narrower type
-- than its property. `type` is then the type of the property, and PostgreSQL refuses a value that does not fit when it
-- is written.
create or replace function federation.user_columns(schema_name text)
returns table (
    name text, column_name text, relation oid, number bigint, type text,
    not_null boolean, has_default boolean, is_generated boolean
)
language sql stable as $body$
select case when t.relation is null then a.attname else c.name end, a.attname, a.attrelid, a.attnum,
    case
        when t.relation is null then format_type(a.atttypid, null)
        when a.atttypid = 'varchar'::regtype then 'text'
        when a.atttypid in ('smallint'::regtype, 'integer'::regtype) then 'bigint'
        else format_type(a.atttypid, null)
    end,
    a.attnotnull, a.atthasdef or a.attidentity <> '', a.attgenerated <> '' or a.attidentity = 'a'
from pg_attribute a
left join federation.adopted_tables t on t.relation = a.attrelid
left join federation.adopted_columns c on c.application_id = t.application_id and c.column_name = a.attname
where a.attrelid = federation.users_table(user_columns.schema_name) and a.attnum > 0 and not a.attisdropped
$body$;

-- Creates the view `users` of an adopted table, with the columns of federation.adopted_columns. The view replaces a
-- former view, or a users table without users. The former view is dropped before `change` runs, since its columns can
-- prevent a change of the table. Privileges on the former view or table are granted again on the new view. Privileges
-- on single columns are granted again if the new view has these columns.
create or replace function federation.create_users_view(schema_name text, change text default null) returns void
language plpgsql as $body$
declare
    users constant text := format('%I.users', schema_name);
    former "char";
    is_used boolean;
    grants text[];
    command text;
begin
    execute format('lock table %s in access exclusive mode', users);
    select c.relkind into strict former from pg_class c where c.oid = users::regclass;
    if former <> 'v' then
        execute format('select exists (select from %s)', users) into is_used;
        if is_used then
            raise exception '% already has users, who would be lost: adopt the table for an application without users',
                users using errcode = 'object_not_in_prerequisite_state';
        end if;
    end if;
    select array_agg(format(
        'grant %s%s on %s to %s%s', g.privilege_type, ' (' || quote_ident(acl.column_name) || ')', users,
        case g.grantee when 0 then 'public' else g.grantee::regrole::text end,
        case when g.is_grantable then ' with grant option' else '' end
    )) into grants
    from pg_class r
    cross join lateral (
        select null, r.relacl
        union all
        select a.attname, a.attacl from pg_attribute a
        join federation.adopted_columns c on c.name = a.attname
        join federation.applications p on p.id = c.application_id and p.schema_name = create_users_view.schema_name
        where a.attrelid = r.oid
    ) acl (column_name, list), aclexplode(acl.list) g
    where r.oid = users::regclass and g.grantee <> r.relowner;

    execute format('drop %s %s', case former when 'v' then 'view' else 'table' end, users);
    if change is not null then
        execute change;
    end if;
    select format(
        'create view %s as select %s from %s', users,
        string_agg(format('%I as %I', c.column_name, c.name), ', ' order by c.position), t.relation
    ) into strict command
    from federation.applications a
    join federation.adopted_tables t on t.application_id = a.id
    join federation.adopted_columns c on c.application_id = a.id
    where a.schema_name = create_users_view.schema_name
    group by t.relation;
    execute command;
    execute format('alter view %s alter column created set default now()', users);
    foreach command in array coalesce(grants, '{}') loop
        execute command;
    end loop;
end
$body$;

-- Creates the schema of an application, or upgrades it to this version of the file.
create or replace function federation.create_application_schema(schema_name text) returns void
language plpgsql as $body$
declare
    identities constant text := format('%I.identities', schema_name);
    sessions constant text := format('%I.sessions', schema_name);
    single_use_kinds constant text :=
        $$kind in ('nonce', 'state', 'loginCode', 'idToken', 'ended', 'banned', 'code', 'noChallenge', 'pendingSignIn')$$;
    email_proof_purposes constant text :=
        $$purpose in ('passwordReset', 'confirmation', 'reversal', 'mergeReversal', 'claim', $$
        || $$'verification', 'newAddress')$$;
    -- The table that foreign keys to a user refer to; for an adopted table, with the column in parentheses.
    users text := format('%I.users', schema_name);
    added regclass;
    former text;
begin
    -- On Citus, the tables are first created as ordinary tables (see `citus_schema_distribute`).
    perform set_config('citus.enable_schema_based_sharding', 'off', true);
    execute format('create schema if not exists %I', schema_name);

    -- The users table, which operators may use directly. Each declared property is a further column with the property's
    -- name and type.
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

    -- In an adopted table, `federation adopt` has already created what the other branch creates.
    if federation.users_table(schema_name) is distinct from users::regclass then
        select format('%s (%I)', c.relation::regclass, c.column_name) into users
        from federation.user_columns(schema_name) c where c.name = 'object_id';
        if users is null then
            raise exception 'schema % has a view users that federation.adopted_tables and federation.adopted_columns '
                'do not describe: restore their rows or replace the view by a table, then migrate again',
                schema_name using errcode = 'wrong_object_type';
        end if;
    else
        -- Every request of a user reads `dynamic`, the undeclared properties, which logins add to. So their size is
        -- limited. The constraint is not validated: a row that is too large stays, but PostgreSQL refuses each update
        -- that leaves the row too large.
        if not exists (
            select from pg_constraint
            where conrelid = format('%I.users', schema_name)::regclass and conname = 'dynamic_is_bounded'
        ) then
            execute format(
                'alter table %I.users add constraint dynamic_is_bounded check (octet_length(dynamic::text) <= 262144) not valid',
                schema_name
            );
        end if;

        -- Operators search for users by e-mail address. Here and below, CREATE INDEX IF NOT EXISTS is avoided, since it
        -- would block logins before it checks whether the index exists.
        if to_regclass(format('%I.users_email', schema_name)) is null then
            execute format('create index users_email on %I.users (lower(email))', schema_name);
        end if;
        -- The service deletes guests who have lost their session. It searches all guests for them, part by part.
        if to_regclass(format('%I.users_guests', schema_name)) is null then
            execute format($ddl$create index users_guests on %I.users (object_id) where user_status = 'GUEST'$ddl$, schema_name);
        end if;
    end if;

    -- The identities of users: which account at a provider logs in which user. Subjects are scoped to the provider's
    -- app, and compared as bytes.
    execute format($ddl$
        create table if not exists %1$I.identities (
            provider text collate "C" not null,
            provider_app text collate "C" not null,
            subject text collate "C" not null,
            object_id uuid not null references %2$s on delete cascade,
            created timestamptz not null default now(),
            last_used timestamptz not null default now(),
            granted_scopes text[] not null default '{}',
            data_access_expires timestamptz,
            -- The values that the mapping wrote last, for the properties that it writes only until they are edited.
            written jsonb not null default '{}',
            primary key (provider, provider_app, subject)
        )$ddl$, schema_name, users);
    if to_regclass(format('%I.identities_object_id', schema_name)) is null then
        execute format('create index identities_object_id on %I.identities (object_id)', schema_name);
    end if;

    -- The permissions that the user declined when a dialog last asked for them. The user may have granted some of them
    -- since.
    perform federation.add_column(identities, 'declined_scopes', $$text[] not null default '{}'$$);
    -- The provider token of the last login; NULL if the application does not store tokens. The token is encrypted by
    -- AES-256-GCM with the master key token_key_id, and bound to the application, the row and the column.
    -- `token_expires` is NULL if the token has no expiry or its expiry is unknown.
    perform federation.add_column(identities, 'token', 'bytea');
    perform federation.add_column(identities, 'token_key_id', 'text');
    perform federation.add_column(
        identities, 'token_kind', $$text check (token_kind in ('access', 'id', 'refresh'))$$
    );
    if (
        select pg_get_constraintdef(oid) from pg_constraint
        where conrelid = identities::regclass and conname = 'identities_token_kind_check'
    ) not like '%refresh%' then
        execute format(
            $ddl$
            alter table %s drop constraint identities_token_kind_check,
                add constraint identities_token_kind_check check (token_kind in ('access', 'id', 'refresh'))$ddl$,
            identities
        );
    end if;
    perform federation.add_column(identities, 'token_expires', 'timestamptz');
    -- `check_due` is the time at which the service next asks the provider whether the stored token is valid; NULL if
    -- the token is not checked. `checked` is the time of the last check, and `refreshed` is the time at which the
    -- profile was last read. A login that stores a token sets both.
    perform federation.add_column(identities, 'check_due', 'timestamptz');
    perform federation.add_column(identities, 'checked', 'timestamptz');
    perform federation.add_column(identities, 'refreshed', 'timestamptz');
    -- While an instance sends a refresh token to the provider, the time at which this use ends at the latest; otherwise
    -- NULL. A second use at the same time would look like theft to a provider that rotates refresh tokens.
    perform federation.add_column(identities, 'refreshing', 'timestamptz');
    -- `revoked` is the time at which the app lost its access to the identity, as the provider reported; NULL while the
    -- app has access. `revoked_by` is the source of the report: deauthorize, webhook or check.
    perform federation.add_column(identities, 'revoked', 'timestamptz');
    perform federation.add_column(identities, 'revoked_by', 'text');
    -- The Unix time, in seconds, of the newest event that the provider reported for each permission. Events arrive
    -- late, twice and out of order.
    perform federation.add_column(identities, 'permission_events', $$jsonb not null default '{}'$$);
    if to_regclass(format('%I.identities_check_due', schema_name)) is null then
        execute format('create index identities_check_due on %s (check_due) where check_due is not null', identities);
    end if;
    -- Stored tokens are found by their master key, both when keys are rotated and when an application stops storing
    -- tokens.
    if to_regclass(format('%I.identities_token_key', schema_name)) is null then
        execute format(
            'create index identities_token_key on %s (token_key_id) where token_key_id is not null', identities
        );
    end if;
    -- The service deletes access tokens that have expired, and finds them by this index.
    if to_regclass(format('%I.identities_token_expires', schema_name)) is null then
        execute format(
            'create index identities_token_expires on %s (token_expires) where token_kind = ''access''', identities
        );
    end if;

    -- The sessions of users. `token_hash` is the SHA-256 of the session token, which itself is not stored.
    execute format($ddl$
        create table if not exists %1$I.sessions (
            token_hash bytea primary key check (octet_length(token_hash) = 32),
            object_id uuid not null references %2$s on delete cascade,
            created timestamptz not null default now(),
            last_seen timestamptz not null default now(),
            expires timestamptz not null
        )$ddl$, schema_name, users);
    -- The index has the sessions of a user in the order of their creation. If a user has too many sessions, the service
    -- finds and revokes the oldest by this index.
    if to_regclass(format('%I.sessions_user', schema_name)) is null then
        execute format('create index sessions_user on %I.sessions (object_id, created)', schema_name);
    end if;
    if to_regclass(format('%I.sessions_object_id', schema_name)) is not null then
        execute format('drop index %I.sessions_object_id', schema_name);
    end if;
    -- No index finds expired sessions; the service searches the whole table for them, part by part. So an update of
    -- `last_seen` changes no index, as long as the row's page has room for the new version of the row. The fillfactor
    -- reserves that room. A fillfactor that an operator has set is kept.
    foreach former in array array['sessions_expires', 'sessions_last_seen'] loop
        if to_regclass(format('%I.%I', schema_name, former)) is not null then
            execute format('drop index %I.%I', schema_name, former);
        end if;
    end loop;
    if not exists (
        select from pg_class c, pg_options_to_table(c.reloptions) o
        where c.oid = sessions::regclass and o.option_name = 'fillfactor'
    ) then
        execute format('alter table %s set (fillfactor = 85)', sessions);
    end if;
    -- The login method that opened the session. If that is an identity, the columns name the identity. Otherwise
    -- `provider` is `password` (also for a server's request) or `passkey`, `provider_app` is empty, and `subject` is
    -- the login name, the passkey's id or, for a server's request, the user's id. The columns are NULL for the session
    -- of a new guest and for sessions from before these columns existed.
    perform federation.add_column(sessions, 'provider', 'text collate "C"');
    perform federation.add_column(sessions, 'provider_app', 'text collate "C"');
    perform federation.add_column(sessions, 'subject', 'text collate "C"');
    -- The SHA-256 of the id of the user's session at the provider. The provider ends that session by its id. The column
    -- is NULL if the credential did not name the session.
    perform federation.add_column(sessions, 'provider_session', 'bytea');
    if to_regclass(format('%I.sessions_provider_session', schema_name)) is null then
        execute format(
            'create index sessions_provider_session on %s (provider_session) where provider_session is not null', sessions
        );
    end if;

    -- The time at which the user of the session last authenticated, by any credential. It is 1970 if a server requested
    -- the session, since the user presented no credential.
    perform federation.add_column(sessions, 'proved', 'timestamptz not null default now()');

    -- The kind of the second factor that the user of the session last showed, and the time; both are NULL if the user
    -- showed none.
    perform federation.add_column(sessions, 'factor_kind', 'text');
    perform federation.add_column(sessions, 'factor_proved', 'timestamptz');

    -- For a session of the account page: the token hash of the app's session beside which it was opened; NULL for every
    -- other session. A session of the account page does not count towards the application's maximum of sessions.
    perform federation.add_column(sessions, 'beside', 'bytea');

    -- The claims that a server added to the signed tokens of a session that it had opened, as JSON text; NULL for none.
    perform federation.add_column(sessions, 'claims', 'text');

    -- The refresh tokens of clients that get short-lived tokens of a session. A refresh token is the id of its family
    -- and a secret; each use replaces the secret. `current` and `former` are the SHA-256 of the secret and of the one
    -- before it. The next secret is the SHA-256 of the present one and of `nonce`, so a client that repeats its request
    -- gets the same secret. If a replaced token is used again, and once more some seconds later, the session ends.
    execute format($ddl$
        create table if not exists %1$I.refresh_tokens (
            family bytea primary key check (octet_length(family) = 16),
            session bytea not null references %1$I.sessions on delete cascade,
            current bytea not null check (octet_length(current) = 32),
            former bytea,
            nonce bytea,
            rotated timestamptz not null default now()
        )$ddl$, schema_name);
    if to_regclass(format('%I.refresh_tokens_session', schema_name)) is null then
        execute format('create index refresh_tokens_session on %I.refresh_tokens (session)', schema_name);
    end if;
    -- The time at which a replaced token was first used too late, since the last regular use; NULL if none was.
    perform federation.add_column(format('%I.refresh_tokens', schema_name), 'suspected', 'timestamptz');

    -- What Firebase clients know of a user beyond the properties: the uid, if it is not the object id, and the custom
    -- claims, as the JSON text that an administrator set. An administrator has ended the sessions that were opened
    -- before `valid_since`; NULL if there was no such time.
    execute format($ddl$
        create table if not exists %1$I.firebase_users (
            object_id uuid primary key references %2$s on delete cascade,
            uid text collate "C" unique check (octet_length(uid) between 1 and 128),
            claims text
        )$ddl$, schema_name, users);
    perform federation.add_column(format('%I.firebase_users', schema_name), 'valid_since', 'timestamptz');

    -- The passwords of users who have one. `login` is the normalized login name. `hash` is the password hash with its
    -- parameters, as libargon2 or, for an imported user, another system wrote it. The hash is encrypted by AES-256-GCM
    -- with the master key hash_key_id, and bound to the application, the user and the column.
    execute format($ddl$
        create table if not exists %1$I.passwords (
            object_id uuid primary key references %2$s on delete cascade,
            login text collate "C" not null unique check (octet_length(login) between 1 and 255),
            hash bytea not null,
            hash_key_id text not null,
            changed timestamptz not null default now()
        )$ddl$, schema_name, users);
    -- When keys are rotated, hashes are found by their master key.
    if to_regclass(format('%I.passwords_hash_key', schema_name)) is null then
        execute format('create index passwords_hash_key on %I.passwords (hash_key_id)', schema_name);
    end if;

    -- Attempts that a rate limit or a lockout counts: failed logins with a password, guesses at a secret, mails, text
    -- messages and registrations. `key` is the SHA-256 of what the attempts are counted for, such as a login name or a
    -- source.
    execute format($ddl$
        create table if not exists %1$I.attempts (
            key bytea primary key check (octet_length(key) = 32),
            failures bigint not null,
            -- The start of the window in which the `recent` attempts were counted. The rule of the attempts determines
            -- its length.
            counted_since timestamptz not null default now(),
            recent bigint not null default 0,
            last timestamptz not null default now(),
            blocked_until timestamptz not null default now()
        )$ddl$, schema_name);
    if to_regclass(format('%I.attempts_last', schema_name)) is null then
        execute format('create index attempts_last on %I.attempts (last)', schema_name);
    end if;

    -- Links in mails. `token_hash` is the SHA-256 of the link's token. A user who presents the token reads the mail of
    -- the address `email`. A link is single-use, and valid only while the user still has that address. Three kinds of
    -- links are valid whatever address the user has by then: `reversal` reverses all changes of the account since the
    -- time `created`, `mergeReversal` undoes a merge, and `newAddress` gives the user the address `email`.
    execute format($ddl$
        create table if not exists %1$I.email_proofs (
            token_hash bytea primary key check (octet_length(token_hash) = 32),
            object_id uuid not null references %3$s on delete cascade,
            purpose text not null check (%2$s),
            email text not null,
            created timestamptz not null default now(),
            expires timestamptz not null
        )$ddl$, schema_name, email_proof_purposes, users);
    -- The constraint is found by its name, and its definition is read only then. A search by definition would also read
    -- constraints of another application that is being deleted, which fails.
    if (
        select pg_get_constraintdef(oid) from pg_constraint
        where conrelid = format('%I.email_proofs', schema_name)::regclass and conname = 'email_proofs_purpose_check'
    ) not like '%newAddress%' then
        execute format(
            'alter table %I.email_proofs drop constraint email_proofs_purpose_check, add constraint email_proofs_purpose_check check (%s)',
            schema_name, email_proof_purposes
        );
    end if;
    -- The login name before the change that a reversal link reverses, if users log in by another property than the
    -- address; NULL otherwise.
    perform federation.add_column(format('%I.email_proofs', schema_name), 'login', 'text');
    -- Whether the link only confirms the address and sets no password, since the holder of the link may not be able to
    -- read the mail.
    perform federation.add_column(format('%I.email_proofs', schema_name), 'only_confirms', 'boolean not null default false');
    -- The other user of a link about two users: for `mergeReversal` the user who was merged, for `claim` the user whose
    -- login caused the mail. NULL for other links.
    perform federation.add_column(format('%I.email_proofs', schema_name), 'other_user', 'uuid');
    if to_regclass(format('%I.email_proofs_object_id', schema_name)) is null then
        execute format('create index email_proofs_object_id on %I.email_proofs (object_id)', schema_name);
    end if;
    if to_regclass(format('%I.email_proofs_expires', schema_name)) is null then
        execute format('create index email_proofs_expires on %I.email_proofs (expires)', schema_name);
    end if;

    -- Invitations of future users. An invitation names one e-mail address, one telephone number or one identity. An
    -- invitation to an address or a number is accepted by the token of a link, and `token_hash` is the SHA-256 of that
    -- token. An invitation to an identity is accepted by a login of that identity, and has no token. An accepted
    -- invitation belongs to its user, and is deleted with the user. The columns of the contact have the same collation,
    -- since one index covers them.
    execute format($ddl$
        create table if not exists %1$I.invitations (
            id uuid primary key,
            token_hash bytea unique check (octet_length(token_hash) = 32),
            email text collate "C",
            phone text collate "C",
            provider text collate "C",
            provider_app text collate "C",
            subject text collate "C",
            roles text[] not null default '{}',
            properties jsonb not null default '{}',
            -- The language of mails about the invitation; NULL if none was chosen.
            locale text,
            invited_by text not null,
            created timestamptz not null default now(),
            expires timestamptz not null,
            -- How often a link was sent to the contact, and when last; NULL for never.
            sent bigint not null default 0,
            last_sent timestamptz,
            accepted timestamptz,
            object_id uuid references %2$s on delete cascade,
            constraint one_contact check (num_nonnulls(email, phone, subject) = 1),
            constraint whole_identity check (num_nonnulls(provider, provider_app, subject) in (0, 3)),
            constraint one_way check ((token_hash is null) = (subject is not null)),
            constraint accepted_by_user check ((accepted is null) = (object_id is null))
        )$ddl$, schema_name, users);
    if to_regclass(format('%I.invitations_contact', schema_name)) is null then
        execute format(
            $ddl$create unique index invitations_contact on %I.invitations
                ((coalesce(lower(email), phone, provider || ' ' || provider_app || ' ' || subject))) where accepted is null$ddl$,
            schema_name
        );
    end if;
    if to_regclass(format('%I.invitations_object_id', schema_name)) is null then
        execute format('create index invitations_object_id on %I.invitations (object_id)', schema_name);
    end if;
    if to_regclass(format('%I.invitations_created', schema_name)) is null then
        execute format('create index invitations_created on %I.invitations (created, id)', schema_name);
    end if;
    if to_regclass(format('%I.invitations_expires', schema_name)) is null then
        execute format('create index invitations_expires on %I.invitations (expires) where accepted is null', schema_name);
    end if;

    -- Identities that were removed from a user while a reversal link could still restore them. The service deletes them
    -- a week after their removal.
    execute format($ddl$
        create table if not exists %1$I.removed_identities (
            provider text collate "C" not null,
            provider_app text collate "C" not null,
            subject text collate "C" not null,
            object_id uuid not null references %2$s on delete cascade,
            -- The time at which the user got the identity.
            created timestamptz not null,
            removed timestamptz not null,
            primary key (provider, provider_app, subject, object_id)
        )$ddl$, schema_name, users);
    if to_regclass(format('%I.removed_identities_object_id', schema_name)) is null then
        execute format('create index removed_identities_object_id on %I.removed_identities (object_id)', schema_name);
    end if;
    if to_regclass(format('%I.removed_identities_removed', schema_name)) is null then
        execute format('create index removed_identities_removed on %I.removed_identities (removed)', schema_name);
    end if;

    -- Second factors of users. `secret` is the seed of an authenticator app, or the address or number that codes are
    -- sent to; NULL for other kinds. It is encrypted by AES-256-GCM with the master key secret_key_id, and bound to the
    -- application, the user, the factor and the column. A removed factor no longer counts, but is kept for a week,
    -- since a reversal link may restore it. `removed` is NULL for a factor that counts.
    execute format($ddl$
        create table if not exists %1$I.factors (
            id uuid primary key,
            object_id uuid not null references %2$s on delete cascade,
            kind text collate "C" not null,
            label text check (octet_length(label) between 1 and 200),
            secret bytea,
            secret_key_id text,
            -- The newest time step whose code was shown (RFC 6238); -1 for none. Only codes of later time steps are
            -- accepted, so that no code is accepted twice.
            step bigint not null default -1,
            -- The recovery codes that are not used yet, as SHA-256 in base64url.
            codes text[] collate "C" not null default '{}',
            -- The columns of a passkey: its credential id, its public key in the encoding of COSE, its signature
            -- counter, whether it can exist on several devices, and the transports by which the browser reaches it.
            credential_id bytea check (octet_length(credential_id) between 1 and 1023),
            public_key bytea,
            sign_count bigint not null default 0,
            backup_eligible boolean not null default false,
            transports text[] collate "C" not null default '{}',
            created timestamptz not null default now(),
            used timestamptz,
            removed timestamptz
        )$ddl$, schema_name, users);
    if to_regclass(format('%I.factors_object_id', schema_name)) is null then
        execute format('create index factors_object_id on %I.factors (object_id)', schema_name);
    end if;
    -- A credential belongs to one user. The user may enrol a removed credential again.
    if to_regclass(format('%I.factors_credential', schema_name)) is null then
        execute format(
            'create unique index factors_credential on %I.factors (credential_id) where credential_id is not null and removed is null',
            schema_name
        );
    end if;
    if to_regclass(format('%I.factors_secret_key', schema_name)) is null then
        execute format(
            'create index factors_secret_key on %I.factors (secret_key_id) where secret_key_id is not null', schema_name
        );
    end if;
    if to_regclass(format('%I.factors_removed', schema_name)) is null then
        execute format('create index factors_removed on %I.factors (removed) where removed is not null', schema_name);
    end if;

    -- Devices on which a user is not asked for a second factor. `token_hash` is the SHA-256 of a token that the device
    -- keeps.
    execute format($ddl$
        create table if not exists %1$I.trusted_devices (
            token_hash bytea primary key check (octet_length(token_hash) = 32),
            object_id uuid not null references %2$s on delete cascade,
            created timestamptz not null default now(),
            expires timestamptz not null
        )$ddl$, schema_name, users);
    if to_regclass(format('%I.trusted_devices_object_id', schema_name)) is null then
        execute format('create index trusted_devices_object_id on %I.trusted_devices (object_id)', schema_name);
    end if;
    if to_regclass(format('%I.trusted_devices_expires', schema_name)) is null then
        execute format('create index trusted_devices_expires on %I.trusted_devices (expires)', schema_name);
    end if;

    -- The queue of mails. `content` is the address and the text, encrypted by AES-256-GCM with the master key
    -- content_key_id, since the text has tokens; it is empty once the mail is done. An instance marks a mail as
    -- `sending` before it sends the mail, so that no event sends two mails.
    execute format($ddl$
        create table if not exists %1$I.mails (
            id uuid primary key default gen_random_uuid(),
            -- The event that the mail reports. A second mail for the same event is not queued.
            event text collate "C" not null unique,
            object_id uuid references %2$s on delete cascade,
            content bytea not null,
            content_key_id text not null,
            created timestamptz not null default now(),
            due timestamptz not null default now(),
            attempts bigint not null default 0,
            state text not null default 'waiting' check (state in ('waiting', 'sending', 'sent', 'failed', 'uncertain')),
            taken timestamptz,
            -- Why the last attempt to send the mail failed, in the words of the mail server without addresses; NULL if
            -- none failed.
            problem text,
            done timestamptz
        )$ddl$, schema_name, users);
    if to_regclass(format('%I.mails_due', schema_name)) is null then
        execute format('create index mails_due on %I.mails (due) where state in (''waiting'', ''sending'')', schema_name);
    end if;
    if to_regclass(format('%I.mails_object_id', schema_name)) is null then
        execute format('create index mails_object_id on %I.mails (object_id)', schema_name);
    end if;

    -- The roles that users have. The setting `roles` of the application lists the roles that exist.
    execute format($ddl$
        create table if not exists %1$I.user_roles (
            object_id uuid not null references %2$s on delete cascade,
            role text collate "C" not null check (octet_length(role) between 1 and 100),
            given timestamptz not null default now(),
            primary key (object_id, role)
        )$ddl$, schema_name, users);
    if to_regclass(format('%I.user_roles_role', schema_name)) is null then
        execute format('create index user_roles_role on %I.user_roles (role)', schema_name);
    end if;

    -- Users who were merged into others. `object_id` is the id of the merged user, who has no row in `users` any more.
    -- Until `expires`, servers that ask for that id learn the id of the survivor. `record` has both users as they were
    -- before the merge, and undoes the merge. It is encrypted by AES-256-GCM with the master key record_key_id, and bound
    -- to the application, the merged user and the column. It is NULL once the merge cannot be undone any more.
    -- `identities` has the federation.identity_hash of each identity of the merged user: the erasure of one of them makes
    -- the merge final.
    execute format($ddl$
        create table if not exists %1$I.merged_users (
            object_id uuid primary key,
            survivor uuid not null references %2$s on delete cascade,
            merged timestamptz not null default now(),
            undo_until timestamptz not null,
            expires timestamptz not null,
            record bytea,
            record_key_id text,
            identities bytea[] not null default '{}'
        )$ddl$, schema_name, users);
    if to_regclass(format('%I.merged_users_survivor', schema_name)) is null then
        execute format('create index merged_users_survivor on %I.merged_users (survivor)', schema_name);
    end if;
    if to_regclass(format('%I.merged_users_expires', schema_name)) is null then
        execute format('create index merged_users_expires on %I.merged_users (expires)', schema_name);
    end if;
    -- The records of merges that cannot be undone any more are found by this index, and also by their master key.
    if to_regclass(format('%I.merged_users_record', schema_name)) is null then
        execute format(
            'create index merged_users_record on %I.merged_users (undo_until) where record_key_id is not null',
            schema_name
        );
    end if;

    -- Single-use values, and other values that are stored until they expire. `hash` is the SHA-256 of the value, unless
    -- stated otherwise. The kinds are:
    -- - `loginCode`: a login code that was issued. `owner` is the federation.identity_hash of its identity. `payload`
    --   is the result of the login, encrypted like a provider token. For all other kinds, `payload` is NULL.
    -- - `idToken`, `code`, `nonce`, `state`, `pendingSignIn`: a value that has been used. `idToken` is an ID token or
    --   another credential that a provider signed or this service encrypted. `code` is an authorization code of a
    --   provider. `state` is the state of a dialog. `pendingSignIn` is a pending login. `owner` is the login attempt
    --   that used the value; NULL if no repetition is allowed. The same attempt may use the value again within a minute
    --   if it lost a race or its client lost the response.
    -- - `ended`: an identity whose access has ended. `hash` is its federation.identity_hash, and `created` is the time
    --   of the end.
    -- - `noChallenge`: a provider's app whose dialogs open without a code challenge for a while. `hash` is the SHA-256
    --   of the provider kind and the app's id.
    -- - `banned`: an identity that was removed from a disabled user, or erased with that user. `hash` is an HMAC with
    --   the key of federation.ban_key. `owner` is the object_id of that user.
    execute format($ddl$
        create table if not exists %1$I.single_use (
            kind text collate "C" not null check (%2$s),
            hash bytea not null check (octet_length(hash) = 32),
            owner bytea,
            used timestamptz,
            payload bytea,
            payload_key_id text,
            created timestamptz not null default now(),
            expires timestamptz not null,
            primary key (kind, hash)
        )$ddl$, schema_name, single_use_kinds);
    if (
        select pg_get_constraintdef(oid) from pg_constraint
        where conrelid = format('%I.single_use', schema_name)::regclass and conname = 'single_use_kind_check'
    ) not like '%pendingSignIn%' then
        execute format(
            'alter table %I.single_use drop constraint single_use_kind_check, add constraint single_use_kind_check check (%s)',
            schema_name, single_use_kinds
        );
    end if;
    if to_regclass(format('%I.single_use_expires', schema_name)) is null then
        execute format('create index single_use_expires on %I.single_use (expires)', schema_name);
    end if;

    -- Citus treats a table that a function creates as an ordinary table, even in a distributed schema. So this loop
    -- distributes such tables, like the other tables of the schema.
    if to_regclass('pg_catalog.pg_dist_schema') is not null then
        for added in
            select c.oid from pg_class c join pg_dist_schema s on s.schemaid = c.relnamespace
            where c.relnamespace = to_regnamespace(quote_ident(schema_name)) and c.relkind = 'r'
                and not exists (select from pg_dist_partition p where p.logicalrelid = c.oid)
            order by c.oid
        loop
            perform create_distributed_table(added, null, colocate_with => format('%I.users', schema_name));
        end loop;
    end if;
end
$body$;

commit;

-- by itself

-- Upgrades the schemas of existing applications to this version of the file. While this block waits for the lock of a
-- table, logins wait behind it. So each attempt waits for a moment only, and the next attempt follows a little later.
do $body$
declare
    application_schemas text[];
    application_schema text;
begin
    -- While this session waits for the advisory lock, it must have no other lock. A loop over the query itself would
    -- keep a lock on federation.applications.
    perform set_config('lock_timeout', '60s', true);
    perform pg_advisory_xact_lock(hashtextextended('federation schema', 0));
    application_schemas := array(select schema_name from federation.applications where database is null order by id);
    commit;
    foreach application_schema in array application_schemas loop
        for attempt in 1..20 loop
            perform set_config('client_min_messages', 'warning', true), set_config('lock_timeout', '60s', true);
            perform pg_advisory_xact_lock(hashtextextended('federation schema', 0));
            if federation.schema_version() <> 17 then
                raise exception 'another program has migrated to another version meanwhile: '
                    'migrate with the newest program';
            end if;
            perform set_config('lock_timeout', '300ms', true);
            begin
                -- The application may be deleted or moved to another database meanwhile.
                perform from federation.applications
                    where schema_name = application_schema and database is null for share;
                if found then
                    perform federation.create_application_schema(application_schema);
                end if;
                exit;
            exception when lock_not_available then
                if attempt = 20 then
                    raise object_in_use using message = format(
                        'another session has locked a table of schema %I for too long: find the session in pg_locks, '
                        'end it or wait for its end, then migrate again to finish the migration', application_schema
                    );
                end if;
            end;
            commit;
            perform pg_sleep(0.1 * random());
        end loop;
        commit;
    end loop;
end
$body$;

-- by itself

-- The rest of this file uses columns that exist only after the parts above.
begin;

set local lock_timeout = '60s';
select pg_advisory_xact_lock(hashtextextended('federation schema', 0));
do $body$
begin
    if federation.schema_version() <> 17 then
        raise exception 'another program has migrated to another version meanwhile: migrate with the newest program';
    end if;
end
$body$;

-- Revokes the client's previous session and surplus sessions of a user, so that at most `most` sessions remain,
-- including the one that was just opened. Expired sessions are revoked before valid ones, and older sessions before
-- newer ones. Sessions of the account page are revoked with the session beside which they were opened. The function
-- runs a statement of its own, which sees what a simultaneous login has just committed.
create or replace function federation.limit_sessions(
    schema_name text, object_id uuid, opened bytea, previous bytea, idle_seconds bigint, most bigint
) returns void
language plpgsql volatile as $body$
begin
    execute format($sql$
        with surplus as (
            select $3 as token_hash
            union all
            (
                select token_hash from %1$s
                where object_id = $1 and beside is null and token_hash <> $2 and token_hash is distinct from $3
                order by least(expires, last_seen + make_interval(secs => $4)) > now() desc, created desc, token_hash
                offset $5 - 1
            )
        )
        delete from %1$s s using surplus e
        where s.object_id = $1 and s.token_hash <> $2 and e.token_hash in (s.token_hash, s.beside)
        $sql$, federation.table_name(schema_name, 'sessions'))
        using object_id, opened, previous, idle_seconds, most;
end
$body$;

-- The same function for instances from before version 11, which continue to run while the new instances start. These
-- instances know no idle limit, so the limit is ten years here.
create or replace function federation.limit_sessions(
    schema_name text, object_id uuid, opened bytea, previous bytea, most bigint
) returns void
language sql volatile as $body$select federation.limit_sessions($1, $2, $3, $4, 315360000, $5)$body$;

-- Returns whether a user has room for the session that is about to be opened. There is room if that session exists
-- already, or if the user has fewer than `most` other valid sessions, not counting the client's previous session. The
-- caller has locked the user. The function sees what a simultaneous login committed before that login released the
-- lock.
create or replace function federation.has_room_for_session(
    schema_name text, object_id uuid, opened bytea, previous bytea, idle_seconds bigint, most bigint
) returns boolean
language plpgsql volatile as $body$
declare
    result boolean;
begin
    execute format($sql$
        select exists (select from %1$s where token_hash = $2 and object_id = $1) or $5 > (
            select count(*) from (
                select from %1$s
                where object_id = $1 and beside is null and token_hash <> $2 and token_hash is distinct from $3
                    and least(expires, last_seen + make_interval(secs => $4)) > now()
                limit $5
            ) others
        )$sql$, federation.table_name(schema_name, 'sessions'))
        into result using object_id, opened, previous, idle_seconds, most;
    return result;
end
$body$;

-- Version 12 had two other indexes and lacked the two columns. This block follows the creation of the new indexes,
-- since readers of the log wait from here to the end of the transaction. Each attempt waits for the lock for a moment
-- only: readers of the log wait behind this block, and logins wait behind waiting statements on the same connection.
do $body$
begin
    perform set_config('lock_timeout', '300ms', true);
    for attempt in 1..20 loop
        begin
            drop index if exists federation.login_log_outcome, federation.login_log_reason;
            perform federation.add_column('federation.login_log', 'user_agent', 'text'),
                federation.add_column('federation.login_log', 'session', 'text collate "C"');
            exit;
        exception when lock_not_available then
            if attempt = 20 then
                raise object_in_use using message =
                    'another session has locked federation.login_log for too long: find the session in pg_locks, '
                    'end it or wait for its end, then migrate again to finish the migration';
            end if;
        end;
        perform pg_sleep(0.1 * random());
    end loop;
end
$body$;

-- Writes rows of the login log, and adds logins to the counts. One instance writes at a time, and each statement sees
-- what the previous writer committed. So rows become visible in the order of their ids, and a reader that continues
-- after an id misses no row.
create or replace function federation.write_logins(records jsonb, counts jsonb) returns void
language plpgsql volatile as $body$
begin
    perform pg_advisory_xact_lock(hashtextextended('federation login log', 0));
    with first as (
        select greatest(
            coalesce((select max(l.id) from federation.login_log l), 0) + 1,
            (extract(epoch from clock_timestamp()) * 1000)::bigint * 1024
        ) as id
    )
    insert into federation.login_log (id, happened, application_id, method, provider, credential, outcome, reason,
        cause, object_id, request, source, milliseconds, user_agent, session)
    select first.id + r.position - 1, to_timestamp(r.happened / 1000.0), r.application, r.method, r.provider,
        r.credential, r.outcome, r.reason, r.cause, r."user", r.request, r.source, r.milliseconds,
        r.agent, r.session
    from first, rows from (jsonb_to_recordset(records) as (application text, happened bigint, method text,
        provider text, credential text, outcome text, reason text, cause text, "user" uuid, request text,
        source text, milliseconds bigint, agent text, session text)) with ordinality
        r (application, happened, method, provider, credential, outcome, reason, cause, "user", request, source,
            milliseconds, agent, session, position);
    insert into federation.login_counts as c
        (application_id, seconds, starts, method, provider, outcome, reason, logins, unlisted)
    select r.application, s, to_timestamp(r.minute * 60 / s * s), r.method, r.provider, r.outcome, r.reason,
        sum(r.logins), sum(r.unlisted)
    from jsonb_to_recordset(counts) r (application text, minute bigint, method text, provider text, outcome text,
        reason text, logins bigint, unlisted bigint), unnest(array[60, 3600]) s
    group by 1, 2, 3, 4, 5, 6, 7
    on conflict (application_id, seconds, starts, method, provider, outcome, reason)
        do update set logins = c.logins + excluded.logins, unlisted = c.unlisted + excluded.unlisted;
end
$body$;

insert into federation.schema_versions (version)
values (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15), (16), (17)
on conflict do nothing;

commit;
