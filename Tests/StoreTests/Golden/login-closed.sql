-- $1 app, $2 subject, $3 cleared, $4 dynamic, $5 fresh_id, $6 scopes, $7 declined_scopes, $8 data_access_expires, $9 token_hash, $10 session_seconds, $11 provider_session, $12 previous_token_hash, $13 ban_hash
with known as (
    select i.object_id, i.written from "shop".identities i
    where i.provider = 'staff-sso' and i.provider_app = :app and i.subject = :subject
), before as (
    select
        u.user_status as status,
        (u.dynamic - :cleared::text[]) || :dynamic as dynamic
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
    from (select) one left join before on true
    where before.status is distinct from 'DISABLED'
        and (
            before.status is not null
        )
    on conflict (provider, provider_app, subject) do update set
        last_used = now(), revoked = null, revoked_by = null,
        granted_scopes = coalesce(:scopes, i.granted_scopes),
        declined_scopes = coalesce(:declined_scopes, i.declined_scopes),
        data_access_expires = case when :scopes is null then i.data_access_expires else :data_access_expires end
    where i.object_id = (select known.object_id from known)
    returning i.object_id, i.object_id = :fresh_id as is_new
), created as (
    insert into "shop".users as u
        (object_id, social_account, last_login, dynamic)
    select object_id, 'STAFF-SSO', now(), :dynamic
    from identity where is_new
    returning u."object_id", u."created", u."updated", u."last_login", u."user_status", u."social_account", u."locale", u."dynamic", u."email_verified", u."email", u."name", u."nick", u."points", u."extra"
), changed as (
    update "shop".users u set
        last_login = now(),
        dynamic = before.dynamic,
        updated = case
            when (before.dynamic)
                is distinct from (u.dynamic)
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
)
select
    case
        when person.object_id is not null then null
        when (select before.status from before) = 'DISABLED' or exists (
            select from "shop".single_use
            where kind = 'banned' and hash = :ban_hash and expires > now()
        )
            then 'disabled'
        when not exists (select from known) then 'closed'
    end as refusal,
    person.*, previous.ended
from (select) one left join person on true left join previous on true
