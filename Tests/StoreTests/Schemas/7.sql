-- The whole schema of the federation service.
--
-- `federation migrate` runs this file; `psql -v ON_ERROR_STOP=1 -f schema.sql` gives the same. Applying it again
-- changes nothing. One advisory lock and one transaction around everything: sixteen instances that start at once wait
-- for each other, and a killed one leaves no half step. (`CREATE TABLE IF NOT EXISTS` alone fails when two sessions run
-- it at once.)
--
-- Schema `federation` holds what operators configure. Each application has a PostgreSQL schema of its own for its
-- users, made by federation.create_application_schema().

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

-- Whether the key is a server's: it may do what concerns other users than the session's own.
alter table federation.api_keys add column if not exists server boolean not null default false;

-- One row for each provider that an application uses. The options are what else its operator decides: see
-- docs/administration.md.
create table if not exists federation.provider_settings (
    application_id text collate "C" not null references federation.applications on delete cascade,
    provider text collate "C" not null,
    enabled boolean not null,
    primary key (application_id, provider)
);
alter table federation.provider_settings add column if not exists options jsonb not null default '{}';

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
alter table federation.provider_settings
    add column if not exists kind text collate "C" check (kind ~ '^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$');

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

create or replace trigger provider_kind_is_remembered
    after insert or update of kind on federation.provider_settings
    for each row execute function federation.remember_provider_kind();

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
alter table federation.provider_apps add column if not exists config_id text check (config_id ~ '^[0-9]{1,32}$');

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
create index if not exists deletion_requests_due on federation.deletion_requests (application_id, due) where done is null;
-- SHA-256 of the call: it has a request for each provider that has the app, and is done when all of them are.
alter table federation.deletion_requests add column if not exists call_hash bytea;
create index if not exists deletion_requests_call on federation.deletion_requests (application_id, call_hash);

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
alter table federation.token_keys
    add column if not exists application_id text collate "C" references federation.applications on delete cascade;
-- A key without an application is of the time when all had one together: it signs for an application until that one's
-- own key is known.
update federation.token_keys set retired = now() where application_id is null and retired is null;
drop index if exists federation.token_keys_one_signs;
create unique index if not exists token_keys_one_signs_for_each on federation.token_keys (application_id) where retired is null;

-- The key under which identities are hashed that stay banned when their user is erased: AES-256-GCM under the master
-- key secret_key_id. It is made once and stays, since nobody could hash anew whom nothing names any more.
create table if not exists federation.ban_key (
    only_row boolean primary key default true check (only_row),
    secret bytea not null,
    secret_key_id text not null,
    created timestamptz not null default now()
);

-- Adds a column unless it is there. ADD COLUMN IF NOT EXISTS would lock out logins before it looks.
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

-- Whether the access of an identity ended at a moment or later, as far as that has been committed when it is called: a
-- login may have waited for an erasure that its own statement does not see.
create or replace function federation.has_ended(schema_name text, identity bytea, moment timestamptz) returns boolean
language plpgsql volatile as $body$
declare
    result boolean;
begin
    execute format('select exists (select from %I.single_use where kind = ''ended'' and hash = $1 and created >= $2)', schema_name)
        into result using identity, moment;
    return result;
end
$body$;

-- A JSON object of one member; NULL when the value is NULL, since it is strict.
create or replace function federation.json_member(key text, value jsonb) returns jsonb
language sql immutable strict parallel safe as 'select jsonb_build_object(key, value)';

-- Ends the session that a client had and the oldest others of a user, so that with the one that was just opened no more
-- are left than allowed. A statement of its own, so that it sees what a simultaneous login has just committed.
create or replace function federation.limit_sessions(
    schema_name text, object_id uuid, opened bytea, previous bytea, most bigint
) returns void
language plpgsql volatile as $body$
begin
    execute format($sql$
        delete from %1$I.sessions where object_id = $1 and token_hash <> $2 and (token_hash = $3 or token_hash in (
            select token_hash from %1$I.sessions
            where object_id = $1 and token_hash <> $2 and token_hash is distinct from $3
            order by created desc, token_hash offset $4 - 1
        ))$sql$, schema_name)
        using object_id, opened, previous, most;
end
$body$;

-- Versions 2 and 3 had this one.
drop function if exists federation.end_other_sessions(text, uuid, bytea);

-- Makes the schema of an application, or brings it up to this file.
create or replace function federation.create_application_schema(schema_name text) returns void
language plpgsql as $body$
declare
    identities constant text := format('%I.identities', schema_name);
    sessions constant text := format('%I.sessions', schema_name);
    single_use_kinds constant text :=
        $$kind in ('nonce', 'state', 'loginCode', 'idToken', 'ended', 'banned', 'code', 'noChallenge')$$;
    email_proof_purposes constant text := $$purpose in ('passwordReset', 'confirmation', 'reversal')$$;
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

    -- Every request of a user reads the undeclared properties, which logins bring in. What is there already is kept,
    -- but takes no update that leaves it so large.
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
            object_id uuid not null references %1$I.users on delete cascade,
            created timestamptz not null default now(),
            last_seen timestamptz not null default now(),
            expires timestamptz not null
        )$ddl$, schema_name);
    -- The sessions of a user in their order: the oldest of too many end.
    if to_regclass(format('%I.sessions_user', schema_name)) is null then
        execute format('create index sessions_user on %I.sessions (object_id, created)', schema_name);
    end if;
    if to_regclass(format('%I.sessions_object_id', schema_name)) is not null then
        execute format('drop index %I.sessions_object_id', schema_name);
    end if;
    -- Sessions that are over are removed, by either of their two ends.
    if to_regclass(format('%I.sessions_expires', schema_name)) is null then
        execute format('create index sessions_expires on %I.sessions (expires)', schema_name);
    end if;
    if to_regclass(format('%I.sessions_last_seen', schema_name)) is null then
        execute format('create index sessions_last_seen on %I.sessions (last_seen)', schema_name);
    end if;
    -- The identity by which the session was opened.
    perform federation.add_column(sessions, 'provider', 'text collate "C"');
    perform federation.add_column(sessions, 'provider_app', 'text collate "C"');
    perform federation.add_column(sessions, 'subject', 'text collate "C"');

    -- When the person has last shown who they are, by whatever credential.
    perform federation.add_column(sessions, 'proved', 'timestamptz not null default now()');

    -- The password of a user, for those who have one: the login in its one spelling, and the hash with its parameters
    -- as libargon2 writes it, AES-256-GCM under the master key hash_key_id, bound to the application, the user and the
    -- column.
    execute format($ddl$
        create table if not exists %1$I.passwords (
            object_id uuid primary key references %1$I.users on delete cascade,
            login text collate "C" not null unique check (octet_length(login) between 1 and 255),
            hash bytea not null,
            hash_key_id text not null,
            changed timestamptz not null default now()
        )$ddl$, schema_name);
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
            object_id uuid not null references %1$I.users on delete cascade,
            purpose text not null check (%2$s),
            email text not null,
            created timestamptz not null default now(),
            expires timestamptz not null
        )$ddl$, schema_name, email_proof_purposes);
    if exists (
        select from pg_constraint
        where conrelid = format('%I.email_proofs', schema_name)::regclass and conname = 'email_proofs_purpose_check'
            and pg_get_constraintdef(oid) not like '%reversal%'
    ) then
        execute format(
            'alter table %I.email_proofs drop constraint email_proofs_purpose_check, add constraint email_proofs_purpose_check check (%s)',
            schema_name, email_proof_purposes
        );
    end if;
    if to_regclass(format('%I.email_proofs_object_id', schema_name)) is null then
        execute format('create index email_proofs_object_id on %I.email_proofs (object_id)', schema_name);
    end if;
    if to_regclass(format('%I.email_proofs_expires', schema_name)) is null then
        execute format('create index email_proofs_expires on %I.email_proofs (expires)', schema_name);
    end if;

    -- Identities that were taken from a user while a reversal could still bring them back; a week later they are
    -- forgotten.
    execute format($ddl$
        create table if not exists %1$I.removed_identities (
            provider text collate "C" not null,
            provider_app text collate "C" not null,
            subject text collate "C" not null,
            object_id uuid not null references %1$I.users on delete cascade,
            -- When it became the user's.
            created timestamptz not null,
            removed timestamptz not null,
            primary key (provider, provider_app, subject, object_id)
        )$ddl$, schema_name);
    if to_regclass(format('%I.removed_identities_object_id', schema_name)) is null then
        execute format('create index removed_identities_object_id on %I.removed_identities (object_id)', schema_name);
    end if;
    if to_regclass(format('%I.removed_identities_removed', schema_name)) is null then
        execute format('create index removed_identities_removed on %I.removed_identities (removed)', schema_name);
    end if;

    -- Mails that are on their way. What they say is AES-256-GCM under the master key content_key_id, since it holds
    -- tokens. A mail is taken for sending before it is sent, so an event never sends two.
    execute format($ddl$
        create table if not exists %1$I.mails (
            id uuid primary key default gen_random_uuid(),
            -- What it is about, once; the same event again changes nothing.
            event text collate "C" not null unique,
            object_id uuid references %1$I.users on delete cascade,
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
        )$ddl$, schema_name);
    if to_regclass(format('%I.mails_due', schema_name)) is null then
        execute format('create index mails_due on %I.mails (due) where state in (''waiting'', ''sending'')', schema_name);
    end if;
    if to_regclass(format('%I.mails_object_id', schema_name)) is null then
        execute format('create index mails_object_id on %I.mails (object_id)', schema_name);
    end if;

    -- The roles that users were given; which there are is a setting of the application.
    execute format($ddl$
        create table if not exists %1$I.user_roles (
            object_id uuid not null references %1$I.users on delete cascade,
            role text collate "C" not null check (octet_length(role) between 1 and 100),
            given timestamptz not null default now(),
            primary key (object_id, role)
        )$ddl$, schema_name);
    if to_regclass(format('%I.user_roles_role', schema_name)) is null then
        execute format('create index user_roles_role on %I.user_roles (role)', schema_name);
    end if;

    -- What may be used once, by SHA-256 of it: login codes that were given out, and ID tokens, authorization codes,
    -- nonces and states of dialogs that have been used; identities whose access has ended, by federation.identity_hash,
    -- `created` being the moment; apps whose dialogs are opened without a challenge for a while (noChallenge), by
    -- SHA-256 of their id; and identities that were a disabled user's when they were erased, by an HMAC under
    -- federation.ban_key. `owner` is who has used it: the same attempt may come again when it lost a race or its reply;
    -- of a login code it is whose it is, by federation.identity_hash, and of a ban the object_id of who is gone. The
    -- payload, of login codes alone, is sealed like a provider token.
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
    if exists (
        select from pg_constraint
        where conrelid = format('%I.single_use', schema_name)::regclass and conname = 'single_use_kind_check'
            and pg_get_constraintdef(oid) not like '%noChallenge%'
    ) then
        execute format(
            'alter table %I.single_use drop constraint single_use_kind_check, add constraint single_use_kind_check check (%s)',
            schema_name, single_use_kinds
        );
    end if;
    if to_regclass(format('%I.single_use_expires', schema_name)) is null then
        execute format('create index single_use_expires on %I.single_use (expires)', schema_name);
    end if;
end
$body$;

-- Applications that exist already get what a newer version of this file adds to their schemas.
select federation.create_application_schema(schema_name) from federation.applications;

insert into federation.schema_versions (version) values (1), (2), (3), (4), (5), (6), (7) on conflict do nothing;

commit;
