-- The whole schema of the federation service.
--
-- `federation migrate` runs this file; `psql -v ON_ERROR_STOP=1 -f schema.sql` gives the same. Applying it again
-- changes nothing. What all applications share is one transaction, each application's schema another: logins wait for
-- one application at a time, and PostgreSQL has room for the locks of one. Every transaction takes the same advisory
-- lock: sixteen instances that start at once wait for each other. (`CREATE TABLE IF NOT EXISTS` alone fails when two
-- sessions run it at once.) The version is noted last, so a migration that was killed is begun again. Nothing is set
-- for longer than a transaction, whose session may be a pooler's.
--
-- Statements between the lines "by itself" are sent alone: what ends transactions must not stand beside others.
--
-- Schema `federation` holds what operators configure. Each application has a PostgreSQL schema of its own for its
-- users, made by federation.create_application_schema().

begin;

set local client_min_messages = warning;
set local lock_timeout = '60s';
set local statement_timeout = '60s';
-- On Citus what all applications share is on the coordinator, whatever the role's setting is.
set local citus.enable_schema_based_sharding = off;
select pg_advisory_xact_lock(hashtextextended('federation schema', 0));

create schema if not exists federation;

-- Which steps of this file a database has seen; a running service is ready when the newest one is its own.
create table if not exists federation.schema_versions (
    version integer primary key,
    applied timestamptz not null default now()
);

-- The version of this file whose functions the database has; a newer one is not undone.
do $body$
begin
    if to_regprocedure('federation.schema_version()') is not null then
        if federation.schema_version() > 15 then
            raise exception 'the database has version % of the schema, and this is version 15: use the newer one',
                federation.schema_version();
        end if;
    end if;
end
$body$;

create or replace function federation.schema_version() returns integer language sql immutable as 'select 15';

-- Adds a column, an index or a trigger unless it is there. IF NOT EXISTS and OR REPLACE lock the table before they
-- look: logins would wait, and a transaction that has locked another table already would deadlock.
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

select federation.add_trigger(
    'federation.configuration', 'configuration_is_announced',
    'after update', 'for each row execute function federation.announce_configuration()'
);

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
select federation.add_column('federation.applications', 'revision', 'bigint not null default 1');

-- The environment variable that leads to the database which the application's schema is in; null when it is this one.
select federation.add_column(
    'federation.applications', 'database',
    $$text collate "C"
        check (octet_length(database) <= 63 and database ~ '^[A-Z][A-Z0-9_]*_DATABASE_URL$' and database !~ '^FEDERATION_')$$
);

-- The environment variables that a document named for keys and secrets, by their places, so that an export names them
-- again; no value of any is here.
select federation.add_column('federation.applications', 'variables', $$jsonb not null default '{}'$$);

-- Settings had other names before version 15. Where a value stands under both names, the new one counts. The former names
-- are renamed in every object of the settings, at each migration: no later setting may have one of them.
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

-- Which deployment this database is of. In an application's own database `main` is false and the id that of the
-- deployment, which `federation` sets in the first transaction of this file; its federation.applications has the
-- applications whose users are there, and nothing else of the configuration.
create table if not exists federation.deployment (
    only_row boolean primary key default true check (only_row),
    id uuid not null,
    main boolean not null
);
insert into federation.deployment (id, main)
select coalesce(named.id, gen_random_uuid()), named.id is null
from (select nullif(current_setting('federation.deployment', true), '')::uuid as id) named
on conflict do nothing;

-- API keys of applications, as SHA-256 of their text.
create table if not exists federation.api_keys (
    application_id text collate "C" not null references federation.applications on delete cascade,
    key_hash bytea not null check (octet_length(key_hash) = 32),
    label text collate "C" not null check (octet_length(label) between 1 and 100),
    created timestamptz not null default now(),
    primary key (application_id, key_hash),
    unique (application_id, label)
);

-- Whether the key is a server's: it may do what concerns other users than the session's own.
select federation.add_column('federation.api_keys', 'server', 'boolean not null default false');

-- One row for each provider that an application uses. The options are what else its operator decides: see
-- docs/administration.md.
create table if not exists federation.provider_settings (
    application_id text collate "C" not null references federation.applications on delete cascade,
    provider text collate "C" not null,
    enabled boolean not null,
    primary key (application_id, provider)
);
select federation.add_column('federation.provider_settings', 'options', $$jsonb not null default '{}'$$);

-- What was Facebook's alone is among the options of every provider.
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
    -- Operators name providers; a password is a login method, too, and no provider has its name.
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

-- What the provider is, where its name does not say that.
select federation.add_column(
    'federation.provider_settings', 'kind',
    $$text collate "C"
        check (kind ~ '^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$')$$
);

-- Of which kind a provider's name is, for ever: identities outlast the settings, and those of another kind are other
-- people.
create table if not exists federation.provider_kinds (
    application_id text collate "C" not null references federation.applications on delete cascade,
    provider text collate "C" not null,
    kind text collate "C" not null,
    primary key (application_id, provider)
);
insert into federation.provider_kinds
select application_id, provider, coalesce(kind, provider) from federation.provider_settings on conflict do nothing;

-- A trigger, since instances of before version 7 serve on while the new ones start.
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

-- The application's apps at a provider, the one asked first at position 0. The secret is AES-256-GCM under the master
-- key secret_key_id; its associated data name this table, the application, the row and the column.
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

-- Which of the configurations that the operator made at the provider the app's login dialog follows.
select federation.add_column('federation.provider_apps', 'config_id', $$text check (config_id ~ '^[0-9]{1,32}$')$$);

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
select federation.add_column('federation.mappings', 'author', 'text');
select federation.add_index(
    'mappings_one_active', 'on federation.mappings (application_id, provider) where active', 'unique index'
);

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
-- Who sees it in replies: the user, other users as well, or servers alone.
select federation.add_column(
    'federation.properties', 'visible_to',
    $$text not null default 'self'
        check (visible_to in ('self', 'users', 'server'))$$
);

-- Whether the column has an index of its own, which the service builds in the background, and what stood in the way of
-- that last.
select federation.add_column('federation.properties', 'indexed', 'boolean not null default false');
select federation.add_column('federation.properties', 'index_problem', 'text');

-- Searches of users that took long, by the application and the properties that an index of one of would have served;
-- bounded, since clients choose what they search by.
create table if not exists federation.index_advice (
    application_id text collate "C" not null references federation.applications on delete cascade,
    properties text[] collate "C" not null check (array_length(properties, 1) between 1 and 100),
    first timestamptz not null default now(),
    last timestamptz not null default now(),
    searches bigint not null,
    slowest_milliseconds bigint not null,
    primary key (application_id, properties)
);

-- Names of properties that clients' mappings brought in undeclared; their values are in the column users.dynamic.
create table if not exists federation.dynamic_properties (
    application_id text collate "C" not null references federation.applications on delete cascade,
    name text collate "C" not null check (name ~ '^[A-Za-z][A-Za-z0-9_]{0,62}$'),
    created timestamptz not null default now(),
    primary key (application_id, name)
);

-- Tables that were there before the application and hold its users (`federation adopt`): `users` of its schema is a
-- view of the table then. A row without the view is of an adoption that has begun.
create table if not exists federation.adopted_tables (
    application_id text collate "C" primary key references federation.applications on delete cascade,
    relation regclass not null unique,
    adopted timestamptz not null default now()
);

-- Which column of the adopted table each column of the view is, in the view's order. Those that were added for it may
-- be dropped with their property; the others are the table's own.
create table if not exists federation.adopted_columns (
    application_id text collate "C" not null references federation.adopted_tables on delete cascade,
    name text collate "C" not null,
    column_name text collate "C" not null,
    position bigint not null generated always as identity,
    added boolean not null,
    primary key (application_id, name),
    unique (application_id, column_name)
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
select federation.add_index('operator_tokens_operator', 'on federation.operator_tokens (operator)');

-- Whether a program has the token, which shows no second factor, as those of before version 9 are taken to be; and when
-- its person showed one last.
select federation.add_column('federation.operator_tokens', 'machine', 'boolean not null default true');
select federation.add_column('federation.operator_tokens', 'factor_proved', 'timestamptz');

-- What a token is for: `calls` of the administration; `link`, which opens one session of the console and is gone then;
-- `session`, which the console has opened for a browser.
select federation.add_column(
    'federation.operator_tokens', 'purpose',
    $$text collate "C" not null default 'calls'
        check (purpose in ('calls', 'link', 'session'))$$
);

-- The link by which the first owner is made while there is no operator, by the SHA-256 of its token: one at most.
create table if not exists federation.operator_setup (
    is_only boolean primary key default true check (is_only),
    token_hash bytea not null check (octet_length(token_hash) = 32),
    expires timestamptz not null
);

-- What authenticators know an operator by.
select federation.add_column('federation.operators', 'object_id', 'uuid not null default gen_random_uuid()');
select federation.add_index('operators_object_id', 'on federation.operators (object_id)', 'unique index');

-- Second factors of operators, with the columns of users' (see `factors` of an application).
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

-- Guesses at them: two rows for an operator at most, one of codes and one of recovery codes.
create table if not exists federation.attempts (
    key bytea primary key check (octet_length(key) = 32),
    failures bigint not null,
    counted_since timestamptz not null default now(),
    recent bigint not null default 0,
    last timestamptz not null default now(),
    blocked_until timestamptz not null default now()
);

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
select federation.add_column('federation.audit_log', 'source', 'text');
select federation.add_column('federation.audit_log', 'target', 'text');
select federation.add_index('audit_log_application', 'on federation.audit_log (application_id, id)');

create or replace function federation.refuse_change() returns trigger language plpgsql as $body$
begin
    raise exception 'the audit log is append-only' using errcode = 'restrict_violation';
end
$body$;

select federation.add_trigger(
    'federation.audit_log', 'audit_log_is_append_only',
    'before update or delete or truncate', 'for each statement execute function federation.refuse_change()'
);

-- Who asked a provider to have their data deleted. The code is what the person gets and what the page of the request's
-- state is found by; who they are is forgotten when it is done.
create table if not exists federation.deletion_requests (
    code text collate "C" primary key check (code ~ '^[A-Z2-7]{26}$'),
    application_id text collate "C" not null references federation.applications on delete cascade,
    -- SHA-256 of the signed request: the same request gives the same code.
    request_hash bytea not null check (octet_length(request_hash) = 32),
    provider text collate "C" not null,
    provider_app text collate "C",
    subject text collate "C",
    -- When the provider signed it: an identity that came later is another one.
    issued timestamptz not null,
    requested timestamptz not null default now(),
    due timestamptz not null,
    done timestamptz,
    -- When it was last tried in vain, and what stood in the way: a table whose rows refer to the user.
    attempted timestamptz,
    hindrance text,
    unique (application_id, request_hash)
);
select federation.add_index(
    'deletion_requests_due', 'on federation.deletion_requests (application_id, due) where done is null'
);
-- SHA-256 of the call: it has a request for each provider that has the app, and is done when all of them are.
select federation.add_column('federation.deletion_requests', 'call_hash', 'bytea');
select federation.add_index('deletion_requests_call', 'on federation.deletion_requests (application_id, call_hash)');
-- The user who wants the account deleted; null where a provider has called about an identity.
select federation.add_column('federation.deletion_requests', 'object_id', 'uuid');

-- Keys that sign the tokens by which other services check users (GET users/token); each application has its own, so
-- that no service takes a token of another application. The secret is the private key, AES-256-GCM under the master key
-- secret_key_id; one that no longer signs stays as long as a token of it may live.
create table if not exists federation.token_keys (
    id text collate "C" primary key check (id ~ '^[A-Za-z0-9_-]{16,43}$'),
    secret bytea not null,
    secret_key_id text not null,
    -- The public key as a JWK.
    public_key jsonb not null,
    created timestamptz not null default now(),
    retired timestamptz
);
select federation.add_column(
    'federation.token_keys', 'application_id',
    'text collate "C"
        references federation.applications on delete cascade'
);
-- A key without an application is of the time when all had one together: it signs for an application until that one's
-- own key is known.
update federation.token_keys set retired = now() where application_id is null and retired is null;
drop index if exists federation.token_keys_one_signs;
select federation.add_index(
    'token_keys_one_signs_for_each', 'on federation.token_keys (application_id) where retired is null', 'unique index'
);

-- The key under which identities are hashed that stay banned when their user is erased: AES-256-GCM under the master
-- key secret_key_id. It is made once and stays, since nobody could hash anew whom nothing names any more.
create table if not exists federation.ban_key (
    only_row boolean primary key default true check (only_row),
    secret bytea not null,
    secret_key_id text not null,
    created timestamptz not null default now()
);

-- The master keys that this deployment's secrets may be under, by their ids: nothing is encrypted under
-- another one. The first program that uses an empty database brings its key; a further key comes with one that is
-- known, and a former key goes when a rotation has ended. In a database that an application has of its own there are
-- none.
create table if not exists federation.master_keys (
    id text collate "C" primary key check (octet_length(id) between 1 and 64),
    registered timestamptz not null default now()
);

-- The master keys that the configuration's secrets are under.
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

-- Returns null if secrets may be encrypted under a master key, and otherwise the known keys. Where no key is known, those
-- in use become known, or else this one. With `registers` a key becomes known if its owner also holds a known key. Of
-- several keys that come at once the first one counts.
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

-- A database from before version 14 knows the keys that its secrets are under.
insert into federation.master_keys (id)
select * from federation.master_keys_in_use() where not exists (select from federation.master_keys);

-- Files of users from other systems, each known by its SHA-256: how many of its records are done. It is noted in the
-- transaction that does them, so an import that died goes on where it was.
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

-- Records that became no user, for the report; holds no value of them.
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

-- How logins went, for operators: of each what its line in the log says, with what it came and which session it opened,
-- for as long as FEDERATION_LOGIN_LOG_DAYS. It is written behind the logins, by one instance at a time and with rising
-- ids, so whoever reads on from an id misses no row that comes later. Nothing refers to it and it refers to nothing:
-- neither an application nor a user waits for it.
create table if not exists federation.login_log (
    -- Milliseconds since 1970 of when it was written, times 1024, and a number: what is older has a smaller id.
    id bigint primary key,
    happened timestamptz not null,
    application_id text collate "C" not null,
    -- provider, password, guest, server or passkey; the provider's name where it is one that there is.
    method text collate "C" not null,
    provider text collate "C",
    credential text collate "C" not null,
    -- created, updated or refused; refused for a reason, and what was behind it.
    outcome text collate "C" not null,
    reason text collate "C",
    cause text,
    object_id uuid,
    request text collate "C",
    source text collate "C",
    milliseconds bigint not null,
    user_agent text,
    -- The id of the session that was opened, as lists of sessions have it.
    session text collate "C"
);
select federation.add_index('login_log_application', 'on federation.login_log (application_id, id)');
select federation.add_index('login_log_method', 'on federation.login_log (application_id, method, provider, id)');
-- Most logins are those of users who are there already, and found without an index of their own. What the others are
-- narrowed down by is behind the id, so that rows that do not fit are passed over in the index. The log may be long,
-- and whoever writes to it waits, which no login does.
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

-- All logins of each minute and of each hour, also those that the log has no row of, which are unlisted.
create table if not exists federation.login_counts (
    application_id text collate "C" not null,
    -- 60 or 3600.
    seconds integer not null,
    starts timestamptz not null,
    method text collate "C" not null,
    -- Empty where there is none, since they are parts of the key.
    provider text collate "C" not null,
    outcome text collate "C" not null,
    reason text collate "C" not null,
    logins bigint not null,
    unlisted bigint not null,
    primary key (application_id, seconds, starts, method, provider, outcome, reason)
);
select federation.add_index('login_counts_starts', 'on federation.login_counts (seconds, starts)');

-- Users who were erased lately and whom the log shall forget: it does so bit by bit, and once more a little later,
-- since an instance may have written a login of theirs meanwhile.
create table if not exists federation.login_log_erasures (
    application_id text collate "C" not null,
    object_id uuid not null,
    erased timestamptz not null default now(),
    -- When the log is looked through.
    due timestamptz not null default now(),
    primary key (application_id, object_id)
);
select federation.add_index('login_log_erasures_due', 'on federation.login_log_erasures (due)');

-- By what an identity is known whose access has ended, for the while in which ID tokens from before would still be
-- taken.
--
-- No two identities have one text: a provider's name and an app's id hold neither a space nor, as they stand here, a
-- slash. Facebook's identities are known without the provider's name, as they were before version 6.
create or replace function federation.identity_hash(provider text, provider_app text, subject text) returns bytea
language sql immutable strict parallel safe as $body$
select sha256(convert_to(
    case provider when 'facebook' then '' else provider || ' ' end || replace(provider_app, '/', '%2F') || '/' || subject, 'UTF8'
))
$body$;

-- The same for instances from before version 6, which serve on while the new ones start; all of theirs are Facebook's.
create or replace function federation.identity_hash(provider_app text, subject text) returns bytea
language sql immutable strict parallel safe as $body$select federation.identity_hash('facebook', provider_app, subject)$body$;

-- The name by which a function of a statement reaches a table of an application. On Citus it is called where the tables
-- are, and their names there are those of their shards.
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

-- Runs a statement about an application's users on the node of Citus that has them: its text with the names of the
-- shards, and its values as the array $1. Sessions there are Citus' own, so what the service sets for its sessions
-- stands here.
create or replace function federation.at_shard(command text, arguments text[]) returns setof record
language plpgsql volatile set jit = off as $body$
begin
    return query execute command using arguments;
end
$body$;

-- The same for a statement that returns no columns: a row for each that it has found or written.
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

-- Whether the access of an identity ended at a moment or later, as far as that has been committed when it is called: a
-- login may have waited for an erasure that its own statement does not see.
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

-- A JSON object of one member; NULL when the value is NULL, since it is strict.
create or replace function federation.json_member(key text, value jsonb) returns jsonb
language sql immutable strict parallel safe as 'select jsonb_build_object(key, value)';

-- Whether a user has a second factor of some kind. It is called under the lock on the user, and sees what a
-- simultaneous login has committed before it gave up that lock.
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

-- Versions 2 and 3 had this one.
drop function if exists federation.end_other_sessions(text, uuid, bytea);

-- The table that an application's users are in: `users` of its schema, or the adopted one that `users` is a view of.
create or replace function federation.users_table(schema_name text) returns regclass
language sql stable as $body$
select case u.relkind when 'v' then t.relation else u.oid::regclass end
from pg_class u
left join federation.applications a on a.schema_name = users_table.schema_name
left join federation.adopted_tables t on t.application_id = a.id
where u.oid = to_regclass(format('%I.users', users_table.schema_name))
$body$;

-- The columns of the table that an application's users are in, with the names that statements use; columns of an
-- adopted table that are none of the users' have none. There a type that holds less than a property's counts as the
-- property's: what does not fit is refused when it is written.
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

-- Makes the view `users` of an adopted table as federation.adopted_columns has it. It takes the place of a former view,
-- whose columns a change of the table may be in the way of, or of a users table that nobody is in; who was granted
-- something has it again, of the whole or of columns that are in the new one.
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
            raise exception '% has users already', users using errcode = 'object_not_in_prerequisite_state';
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

-- Makes the schema of an application, or brings it up to this file.
create or replace function federation.create_application_schema(schema_name text) returns void
language plpgsql as $body$
declare
    identities constant text := format('%I.identities', schema_name);
    sessions constant text := format('%I.sessions', schema_name);
    single_use_kinds constant text :=
        $$kind in ('nonce', 'state', 'loginCode', 'idToken', 'ended', 'banned', 'code', 'noChallenge', 'pendingSignIn')$$;
    email_proof_purposes constant text := $$purpose in ('passwordReset', 'confirmation', 'reversal')$$;
    -- What refers to a user does so by this column.
    users text := format('%I.users', schema_name);
    added regclass;
    former text;
begin
    -- On Citus the tables are made as ordinary ones first (see `citus_schema_distribute`).
    perform set_config('citus.enable_schema_based_sharding', 'off', true);
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

    -- An adopted table has got all of this from `federation adopt`.
    if federation.users_table(schema_name) is distinct from users::regclass then
        select format('%s (%I)', c.relation::regclass, c.column_name) into users
        from federation.user_columns(schema_name) c where c.name = 'object_id';
        if users is null then
            raise exception 'schema % has a view users of no adopted table', schema_name using errcode = 'wrong_object_type';
        end if;
    else
        -- Every request of a user reads the undeclared properties, which logins bring in. What is there already is
        -- kept, but takes no update that leaves it so large.
        if not exists (
            select from pg_constraint
            where conrelid = format('%I.users', schema_name)::regclass and conname = 'dynamic_is_bounded'
        ) then
            execute format(
                'alter table %I.users add constraint dynamic_is_bounded check (octet_length(dynamic::text) <= 262144) not valid',
                schema_name
            );
        end if;

        -- Operators look for people by their address. Here and below: CREATE INDEX IF NOT EXISTS would lock out logins
        -- before it looks.
        if to_regclass(format('%I.users_email', schema_name)) is null then
            execute format('create index users_email on %I.users (lower(email))', schema_name);
        end if;
        -- Guests who have lost their session are looked for among all guests, a part of them at a time.
        if to_regclass(format('%I.users_guests', schema_name)) is null then
            execute format($ddl$create index users_guests on %I.users (object_id) where user_status = 'GUEST'$ddl$, schema_name);
        end if;
    end if;

    -- Who a person is at a provider. Subjects are scoped to the provider's app and compared as bytes.
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
            -- What the mapping wrote last into properties that it writes until they are edited.
            written jsonb not null default '{}',
            primary key (provider, provider_app, subject)
        )$ddl$, schema_name, users);
    if to_regclass(format('%I.identities_object_id', schema_name)) is null then
        execute format('create index identities_object_id on %I.identities (object_id)', schema_name);
    end if;

    -- What the person declined when the dialog asked last; some of it may have been granted since.
    perform federation.add_column(identities, 'declined_scopes', $$text[] not null default '{}'$$);
    -- The provider token of the last login, if the application keeps it: AES-256-GCM under the master key token_key_id,
    -- bound to the application, the row and the column.
    perform federation.add_column(identities, 'token', 'bytea');
    perform federation.add_column(identities, 'token_key_id', 'text');
    perform federation.add_column(identities, 'token_kind', $$text check (token_kind in ('access', 'id'))$$);
    perform federation.add_column(identities, 'token_expires', 'timestamptz');
    -- When the provider is asked next whether the kept token still stands, when it was last, and when the profile was
    -- read last.
    perform federation.add_column(identities, 'check_due', 'timestamptz');
    perform federation.add_column(identities, 'checked', 'timestamptz');
    perform federation.add_column(identities, 'refreshed', 'timestamptz');
    -- When the provider said that the person has removed the app or ended its access, and by which word.
    perform federation.add_column(identities, 'revoked', 'timestamptz');
    perform federation.add_column(identities, 'revoked_by', 'text');
    -- Unix seconds of the newest event of each permission that the provider has told of: events arrive late, twice and
    -- out of order.
    perform federation.add_column(identities, 'permission_events', $$jsonb not null default '{}'$$);
    if to_regclass(format('%I.identities_check_due', schema_name)) is null then
        execute format('create index identities_check_due on %s (check_due) where check_due is not null', identities);
    end if;
    -- Kept tokens are found by the key that they are under: when keys are rotated, and when an application keeps none
    -- any more.
    if to_regclass(format('%I.identities_token_key', schema_name)) is null then
        execute format(
            'create index identities_token_key on %s (token_key_id) where token_key_id is not null', identities
        );
    end if;
    -- Access tokens that have come to their end are forgotten.
    if to_regclass(format('%I.identities_token_expires', schema_name)) is null then
        execute format(
            'create index identities_token_expires on %s (token_expires) where token_kind = ''access''', identities
        );
    end if;

    -- Sessions by SHA-256 of their token; the token itself is nowhere.
    execute format($ddl$
        create table if not exists %1$I.sessions (
            token_hash bytea primary key check (octet_length(token_hash) = 32),
            object_id uuid not null references %2$s on delete cascade,
            created timestamptz not null default now(),
            last_seen timestamptz not null default now(),
            expires timestamptz not null
        )$ddl$, schema_name, users);
    -- The sessions of a user in their order: the oldest of too many end.
    if to_regclass(format('%I.sessions_user', schema_name)) is null then
        execute format('create index sessions_user on %I.sessions (object_id, created)', schema_name);
    end if;
    if to_regclass(format('%I.sessions_object_id', schema_name)) is not null then
        execute format('drop index %I.sessions_object_id', schema_name);
    end if;
    -- No index leads to sessions that are over: all are looked through in turn. So no index is touched when it is noted
    -- that a session is still used, as long as its page has room for that. What an operator sets besides stands.
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
    -- The identity by which the session was opened.
    perform federation.add_column(sessions, 'provider', 'text collate "C"');
    perform federation.add_column(sessions, 'provider_app', 'text collate "C"');
    perform federation.add_column(sessions, 'subject', 'text collate "C"');

    -- When the person has last shown who they are, by whatever credential.
    perform federation.add_column(sessions, 'proved', 'timestamptz not null default now()');

    -- The kind of the second factor that its person has last shown, and when.
    perform federation.add_column(sessions, 'factor_kind', 'text');
    perform federation.add_column(sessions, 'factor_proved', 'timestamptz');

    -- Of a session of the account page: the hash of the app's session that it was opened from. It counts for none of
    -- those that a user may have.
    perform federation.add_column(sessions, 'beside', 'bytea');

    -- The password of a user, for those who have one: the login in its one spelling, and the hash with its parameters
    -- as libargon2 writes it, AES-256-GCM under the master key hash_key_id, bound to the application, the user and the
    -- column.
    execute format($ddl$
        create table if not exists %1$I.passwords (
            object_id uuid primary key references %2$s on delete cascade,
            login text collate "C" not null unique check (octet_length(login) between 1 and 255),
            hash bytea not null,
            hash_key_id text not null,
            changed timestamptz not null default now()
        )$ddl$, schema_name, users);
    -- Hashes are found by the key that they are under when keys are rotated.
    if to_regclass(format('%I.passwords_hash_key', schema_name)) is null then
        execute format('create index passwords_hash_key on %I.passwords (hash_key_id)', schema_name);
    end if;

    -- Failed attempts to log in by a password or to guess a secret, by SHA-256 of what they are counted for: a login,
    -- an address.
    execute format($ddl$
        create table if not exists %1$I.attempts (
            key bytea primary key check (octet_length(key) = 32),
            failures bigint not null,
            -- When the hour began in which `recent` failures were counted.
            counted_since timestamptz not null default now(),
            recent bigint not null default 0,
            last timestamptz not null default now(),
            blocked_until timestamptz not null default now()
        )$ddl$, schema_name);
    if to_regclass(format('%I.attempts_last', schema_name)) is null then
        execute format('create index attempts_last on %I.attempts (last)', schema_name);
    end if;

    -- What a link of a mail verifies, by SHA-256 of its token: whoever has it reads the mail of that address. It counts
    -- once. A reversal undoes what has become of the account since it was created, and counts whatever the user's
    -- address is by then.
    execute format($ddl$
        create table if not exists %1$I.email_proofs (
            token_hash bytea primary key check (octet_length(token_hash) = 32),
            object_id uuid not null references %3$s on delete cascade,
            purpose text not null check (%2$s),
            email text not null,
            created timestamptz not null default now(),
            expires timestamptz not null
        )$ddl$, schema_name, email_proof_purposes, users);
    -- What a constraint says is asked of the one that was found, and not to find it: of another application's, which is
    -- being deleted, it cannot be asked.
    if (
        select pg_get_constraintdef(oid) from pg_constraint
        where conrelid = format('%I.email_proofs', schema_name)::regclass and conname = 'email_proofs_purpose_check'
    ) not like '%reversal%' then
        execute format(
            'alter table %I.email_proofs drop constraint email_proofs_purpose_check, add constraint email_proofs_purpose_check check (%s)',
            schema_name, email_proof_purposes
        );
    end if;
    -- What the identity property said before the change that a reversal undoes, where people log in by another property
    -- than the address.
    perform federation.add_column(format('%I.email_proofs', schema_name), 'login', 'text');
    -- Whether the link was made for somebody who may not read the mail: it confirms the address, and sets no password.
    perform federation.add_column(format('%I.email_proofs', schema_name), 'only_confirms', 'boolean not null default false');
    if to_regclass(format('%I.email_proofs_object_id', schema_name)) is null then
        execute format('create index email_proofs_object_id on %I.email_proofs (object_id)', schema_name);
    end if;
    if to_regclass(format('%I.email_proofs_expires', schema_name)) is null then
        execute format('create index email_proofs_expires on %I.email_proofs (expires)', schema_name);
    end if;

    -- Invitations of people who are no users yet. An invitation names one address, one telephone number or one
    -- identity; the first two are taken by the token of a link, kept as its SHA-256, and the last by the login of that
    -- identity. One that was taken is part of its user. The columns of one contact have one collation, for the index
    -- over them.
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
            -- The language of mails about it.
            locale text,
            invited_by text not null,
            created timestamptz not null default now(),
            expires timestamptz not null,
            -- How often a link was sent, and when last.
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

    -- Identities that were taken from a user while a reversal could still bring them back; a week later they are
    -- forgotten.
    execute format($ddl$
        create table if not exists %1$I.removed_identities (
            provider text collate "C" not null,
            provider_app text collate "C" not null,
            subject text collate "C" not null,
            object_id uuid not null references %2$s on delete cascade,
            -- When it became the user's.
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

    -- Second factors. What is secret of one (the seed of an authenticator app, where codes are sent to) is AES-256-GCM
    -- under the master key secret_key_id, bound to the application, the user, the factor and the column. One that is
    -- taken away stays for a week, since a reversal may bring it back, and counts no more than one that never was.
    execute format($ddl$
        create table if not exists %1$I.factors (
            id uuid primary key,
            object_id uuid not null references %2$s on delete cascade,
            kind text collate "C" not null,
            label text check (octet_length(label) between 1 and 200),
            secret bytea,
            secret_key_id text,
            -- The newest time step whose code was shown (RFC 6238): no code counts twice.
            step bigint not null default -1,
            -- Recovery codes that are left, as SHA-256 in base64url.
            codes text[] collate "C" not null default '{}',
            -- A passkey: what authenticator and browser call it, its public key as COSE writes it, how often it has
            -- signed, whether it can be on several devices, and by which ways it is reached.
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
    -- A credential is one user's, who may enrol it anew once it was taken away.
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

    -- Devices on which a user is not asked for a second factor, by SHA-256 of a token that they keep.
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

    -- Mails that are on their way. What they say is AES-256-GCM under the master key content_key_id, since it holds
    -- tokens. A mail is taken for sending before it is sent, so an event never sends two.
    execute format($ddl$
        create table if not exists %1$I.mails (
            id uuid primary key default gen_random_uuid(),
            -- What it is about, once; the same event again changes nothing.
            event text collate "C" not null unique,
            object_id uuid references %2$s on delete cascade,
            content bytea not null,
            content_key_id text not null,
            created timestamptz not null default now(),
            due timestamptz not null default now(),
            attempts bigint not null default 0,
            state text not null default 'waiting' check (state in ('waiting', 'sending', 'sent', 'failed', 'uncertain')),
            taken timestamptz,
            -- What the mail server said last, without addresses.
            problem text,
            done timestamptz
        )$ddl$, schema_name, users);
    if to_regclass(format('%I.mails_due', schema_name)) is null then
        execute format('create index mails_due on %I.mails (due) where state in (''waiting'', ''sending'')', schema_name);
    end if;
    if to_regclass(format('%I.mails_object_id', schema_name)) is null then
        execute format('create index mails_object_id on %I.mails (object_id)', schema_name);
    end if;

    -- The roles that users were given; which there are is a setting of the application.
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

    -- What may be used once, by SHA-256 of it: login codes that were given out, and ID tokens, authorization codes,
    -- nonces, states of dialogs and what waited for a second factor, once they have been used; identities whose access
    -- has ended, by federation.identity_hash, `created` being the moment; apps whose dialogs are opened without a
    -- challenge for a while (noChallenge), by SHA-256 of their id; and identities that were a disabled user's when they
    -- were erased, by an HMAC under federation.ban_key. `owner` is who has used it: the same attempt may come again
    -- when it lost a race or its reply; of a login code it is whose it is, by federation.identity_hash, and of a ban
    -- the object_id of who is gone. The payload, of login codes alone, is encrypted like a provider token.
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

    -- Citus takes what a function makes for an ordinary table, even in a schema that it has: it follows the others.
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

-- Applications that exist already get what a newer version of this file adds to their schemas. Behind whoever waits for
-- a table logins wait, too: so each waits for a moment only, and again a little later.
do $body$
declare
    application_schemas text[];
    application_schema text;
begin
    -- Whoever waits for the advisory lock holds nothing else: a loop over the query would hold federation.applications.
    perform set_config('lock_timeout', '60s', true);
    perform pg_advisory_xact_lock(hashtextextended('federation schema', 0));
    application_schemas := array(select schema_name from federation.applications where database is null order by id);
    commit;
    foreach application_schema in array application_schemas loop
        for attempt in 1..20 loop
            perform set_config('client_min_messages', 'warning', true), set_config('lock_timeout', '60s', true);
            perform pg_advisory_xact_lock(hashtextextended('federation schema', 0));
            if federation.schema_version() <> 15 then
                raise exception 'another version of the schema came in meanwhile: migrate with the newest program';
            end if;
            perform set_config('lock_timeout', '300ms', true);
            begin
                -- It may be deleted or move meanwhile.
                perform from federation.applications
                    where schema_name = application_schema and database is null for share;
                if found then
                    perform federation.create_application_schema(application_schema);
                end if;
                exit;
            exception when lock_not_available then
                if attempt = 20 then
                    raise object_in_use using message = format(
                        'somebody holds a table of schema %I for long: see who by pg_locks, and migrate again then, '
                        'which does the rest', application_schema
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

-- What uses columns that are there only now.
begin;

set local lock_timeout = '60s';
select pg_advisory_xact_lock(hashtextextended('federation schema', 0));
do $body$
begin
    if federation.schema_version() <> 15 then
        raise exception 'another version of the schema came in meanwhile: migrate with the newest program';
    end if;
end
$body$;

-- Ends the session that a client had and the oldest others of a user, those that are over before all that live, so that
-- with the one that was just opened no more are left than allowed; and those of the account page beside them. A
-- statement of its own, so that it sees what a simultaneous login has just committed.
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

-- The same for instances from before version 11, which serve on while the new ones start: none of the sessions is taken
-- to be over for want of use.
create or replace function federation.limit_sessions(
    schema_name text, object_id uuid, opened bytea, previous bytea, most bigint
) returns void
language sql volatile as $body$select federation.limit_sessions($1, $2, $3, $4, 315360000, $5)$body$;

-- Whether a user has room for the session that is about to be opened: it is there already, or of the others that live,
-- but for the one that the client had, there are fewer than allowed. It is called under the lock on the user, and sees
-- what a simultaneous login has committed before it gave up that lock.
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

-- Version 12 had two other indexes and neither column. Behind the new indexes, since whoever reads the log waits from
-- here to the end; and for a moment at a time, since whoever reads it waits behind this, and logins behind statements
-- that wait.
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
                    'somebody holds federation.login_log for long: see who by pg_locks, and migrate again then, '
                    'which does the rest';
            end if;
        end;
        perform pg_sleep(0.1 * random());
    end loop;
end
$body$;

-- Writes rows of the log of logins, and counts. One writes at a time, each part seeing what the one before has
-- committed: rows become visible in the order of their ids, so that whoever reads on from an id misses none.
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
values (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15)
on conflict do nothing;

commit;
