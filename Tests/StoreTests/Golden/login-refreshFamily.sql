-- $1 app, $2 subject, $3 cleared, $4 property.email, $5 property.name, $6 property.nick, $7 property.extra, $8 dynamic, $9 fresh_id, $10 scopes, $11 declined_scopes, $12 data_access_expires, $13 property.points, $14 token_hash, $15 session_seconds, $16 provider_session, $17 previous_token_hash, $18 family, $19 refresh_secret, $20 ban_hash
with known as (
    select i.object_id, i.written from "shop".identities i
    where i.provider = 'staff-sso' and i.provider_app = :app and i.subject = :subject
), before as (
    select
        u.user_status as status,
        case
            when u.email_verified or (select true from "shop".passwords p where p.object_id = u.object_id)
                then u.email
            else case when 'email' = any (:cleared::text[]) then null else coalesce(:property.email::text, u."email") end
        end as n0,
        coalesce(nullif(u."name", ''), :property.name::text, u."name") as n1,
        case
            when u."nick" is not distinct from ((select known.written from known) ->> 'nick')::text
                then case when 'nick' = any (:cleared::text[]) then null else coalesce(:property.nick::text, u."nick") end
            else u."nick"
        end as n2,
        case
            when u."extra" is not distinct from ((select known.written from known) -> 'extra')
                then coalesce(:property.extra::jsonb, u."extra")
            else u."extra"
        end as n3,
        (u.dynamic - :cleared::text[]) || :dynamic as dynamic,
        (select known.written from known) as written,
        u."nick" as t0,
        u."extra" as t1
    from "shop".users u where u.object_id = (select known.object_id from known)
    for no key update of u
), identity as (
    insert into "shop".identities as i
        (provider, provider_app, subject, object_id, granted_scopes, declined_scopes, data_access_expires,
            written)
    select
        'staff-sso', :app, :subject, :fresh_id,
        coalesce(:scopes, '{}'), coalesce(:declined_scopes, '{}'), :data_access_expires,
        '{}'::jsonb
        || coalesce(federation.json_member('nick', to_jsonb(:property.nick::text)), '{}')
        || coalesce(federation.json_member('extra', to_jsonb(:property.extra::jsonb)), '{}')
    from (select) one left join before on true
    where before.status is distinct from 'DISABLED'
        and (
            before.status is not null
        )
    on conflict (provider, provider_app, subject) do update set
        last_used = now(), revoked = null, revoked_by = null,
        granted_scopes = coalesce(:scopes, i.granted_scopes),
        declined_scopes = coalesce(:declined_scopes, i.declined_scopes),
        data_access_expires = case when :scopes is null then i.data_access_expires else :data_access_expires end,
        written = coalesce((
            select
                (i.written - array[
                    case when 'nick' = any (:cleared::text[]) and before.t0 is not distinct from (before.written ->> 'nick')::text then 'nick' end
                ]::text[])
                || coalesce(federation.json_member('nick', case when before.t0 is not distinct from (before.written ->> 'nick')::text then to_jsonb(:property.nick::text) end), '{}')
                || coalesce(federation.json_member('extra', case when before.t1 is not distinct from (before.written -> 'extra') then to_jsonb(:property.extra::jsonb) end), '{}')
            from before
        ), i.written)
    where i.object_id = (select known.object_id from known)
    returning i.object_id, i.object_id = :fresh_id as is_new
), created as (
    insert into "shop".users as u
        (object_id, social_account, last_login, dynamic, "email", "name", "nick", "points", "extra")
    select object_id, 'STAFF-SSO', now(), :dynamic, :property.email::text, :property.name::text, :property.nick::text, :property.points::bigint, :property.extra::jsonb
    from identity where is_new
    returning u."object_id", u."created", u."updated", u."last_login", u."user_status", u."social_account", u."locale", u."dynamic", u."email_verified", u."email", u."name", u."nick", u."points", u."extra"
), changed as (
    update "shop".users u set
        last_login = now(),
        "email" = before.n0,
        "name" = before.n1,
        "nick" = before.n2,
        "extra" = before.n3,
        dynamic = before.dynamic,
        updated = case
            when (before.n0, before.n1, before.n2, before.n3, before.dynamic)
                is distinct from (u."email", u."name", u."nick", u."extra", u.dynamic)
                then now()
            else u.updated
        end
    from before
    where u.object_id = (select identity.object_id from identity where not identity.is_new)
        and u.user_status <> 'DISABLED'
    returning u."object_id", u."created", u."updated", u."last_login", u."user_status", u."social_account", u."locale", u."dynamic", u."email_verified", u."email", u."name", u."nick", u."points", u."extra"
), person as (
    select true as is_new, * from created
    union all
    select false, * from changed
), session as (
    insert into "shop".sessions as s
        (token_hash, object_id, expires, provider, provider_app, subject, provider_session)
    select
        :token_hash, object_id, now() + make_interval(secs => :session_seconds),
        'staff-sso', :app, :subject,
        :provider_session::bytea
    from person
    on conflict (token_hash) do update set proved = now() where s.object_id = excluded.object_id
    returning s.token_hash, s.provider, s.proved, s.created, s.factor_kind, s.claims
), previous as (
    delete from "shop".sessions
    where token_hash = :previous_token_hash and token_hash <> :token_hash
        and object_id = (select person.object_id from person)
    returning true as ended
), surplus as (
    delete from "shop".sessions where token_hash = any (array(
        select o.token_hash from "shop".sessions o
        where o.object_id = (select person.object_id from person) and o.token_hash <> :token_hash
        order by o.created desc offset 999
    ))
), family as (
    insert into "shop".refresh_tokens (family, session, current)
    select :family::bytea, session.token_hash, :refresh_secret::bytea from session
)
select
    case
        when person.object_id is not null then null
        when not exists (select from known) then 'unknown'
        when (select before.status from before) = 'DISABLED' or exists (
            select from "shop".single_use
            where kind = 'banned' and hash = :ban_hash and expires > now()
        )
            then 'disabled'
    end as refusal,
    person.*, s.token_hash, s.provider, floor(extract(epoch from s.proved))::bigint,
floor(extract(epoch from s.created))::bigint, s.factor_kind, s.claims,
array(
    select i.provider || ' ' || i.provider_app || ' ' || i.subject from "shop".identities i
    where i.object_id = person.object_id order by i.created, i.provider, i.provider_app, i.subject
),
(select p.login from "shop".passwords p where p.object_id = person.object_id),
(select f.uid from "shop".firebase_users f where f.object_id = person.object_id),
(select f.claims from "shop".firebase_users f where f.object_id = person.object_id), previous.ended
from (select) one left join person on true left join previous on true left join session s on true
