-- $1 cleared, $2 property.email, $3 property.name, $4 property.nick, $5 property.extra, $6 provider, $7 app, $8 subject, $9 token, $10 scopes, $11 data_access_expires, $12 token_expires, $13 new_token, $14 new_token_key_id, $15 next_check_seconds
with before as (
    select
        true,
        case
            when u.email_verified or (select true from "shop".passwords p where p.object_id = u.object_id)
                then u.email
            else case when 'email' = any (:cleared::text[]) then null else coalesce(:property.email::text, u."email") end
        end as n0,
        coalesce(nullif(u."name", ''), :property.name::text, u."name") as n1,
        case
            when u."nick" is not distinct from (i.written ->> 'nick')::text
                then case when 'nick' = any (:cleared::text[]) then null else coalesce(:property.nick::text, u."nick") end
            else u."nick"
        end as n2,
        case
            when u."extra" is not distinct from (i.written -> 'extra')
                then coalesce(:property.extra::jsonb, u."extra")
            else u."extra"
        end as n3,
        (u.dynamic - :cleared::text[]) || '{}'::jsonb as dynamic,
        i.written as written,
        u."nick" as t0,
        u."extra" as t1
    from "shop".identities i join "shop".users u using (object_id)
    where i.provider = :provider and i.provider_app = :app and i.subject = :subject and i.token = :token and u.user_status <> 'DISABLED'
    for no key update of u
), identity as (
    update "shop".identities i set
        granted_scopes = coalesce(:scopes, i.granted_scopes), data_access_expires = :data_access_expires, token_expires = :token_expires,
        token = coalesce(:new_token, i.token), token_key_id = coalesce(:new_token_key_id, i.token_key_id), checked = now(),
        check_due = now() + coalesce(make_interval(secs => :next_check_seconds), interval '23 hours' + random() * interval '1 hour'), refreshed = now(),
        written = coalesce((
            select
                (i.written - array[
                    case when 'nick' = any (:cleared::text[]) and before.t0 is not distinct from (before.written ->> 'nick')::text then 'nick' end
                ]::text[])
                || coalesce(federation.json_member('nick', case when before.t0 is not distinct from (before.written ->> 'nick')::text then to_jsonb(:property.nick::text) end), '{}')
                || coalesce(federation.json_member('extra', case when before.t1 is not distinct from (before.written -> 'extra') then to_jsonb(:property.extra::jsonb) end), '{}')
            from before
        ), i.written)
    from before where i.provider = :provider and i.provider_app = :app and i.subject = :subject and i.token = :token
    returning i.object_id
), changed as (
    update "shop".users u set
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
    from identity, before where u.object_id = identity.object_id
    returning u."object_id", u."created", u."updated", u."last_login", u."user_status", u."social_account", u."locale", u."dynamic", u."email_verified", u."email", u."name", u."nick", u."points", u."extra"
)
select * from changed
