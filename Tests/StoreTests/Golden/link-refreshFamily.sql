-- $1 credential_hash, $2 attempt, $3 credential_seconds, $4 user, $5 verified_hash, $6 login, $7 token_hash, $8 session_seconds, $9 previous_token_hash, $10 family, $11 refresh_secret
with seen as (
    insert into "shop".single_use as s (kind, hash, owner, used, expires)
    values ('idToken', :credential_hash, :attempt, now(), now() + make_interval(secs => :credential_seconds))
    on conflict (kind, hash) do update set owner = s.owner
    where s.owner = excluded.owner and s.used > now() - interval '60 seconds'
    returning s.created
), verified as (
    select u.object_id, u.user_status from "shop".users u join "shop".passwords p using (object_id)
    where u.object_id = :user and p.hash = :verified_hash::bytea and p.login = :login
    for no key update of u, p
), person as (
    update "shop".users u set last_login = now()
    where u.object_id = (select verified.object_id from verified)
        and (select verified.user_status from verified) not in ('DISABLED', 'EMAIL_CONFIRMATION_PENDING')
        and exists (select from seen)
    returning u."object_id", u."created", u."updated", u."last_login", u."user_status", u."social_account", u."locale", u."dynamic", u."email_verified", u."email", u."name", u."nick", u."points", u."extra"
), session as (
    insert into "shop".sessions as s
        (token_hash, object_id, expires, provider, provider_app, subject, proved)
    select
        :token_hash, object_id, now() + make_interval(secs => :session_seconds),
        'password', '', :login, now()
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
select verified.user_status, case when not exists (select from seen) then 'replayed' end as refusal, person.*, s.token_hash, s.provider, floor(extract(epoch from s.proved))::bigint,
floor(extract(epoch from s.created))::bigint, s.factor_kind, s.claims,
array(
    select i.provider || ' ' || i.provider_app || ' ' || i.subject from "shop".identities i
    where i.object_id = person.object_id order by i.created, i.provider, i.provider_app, i.subject
),
(select p.login from "shop".passwords p where p.object_id = person.object_id),
(select f.uid from "shop".firebase_users f where f.object_id = person.object_id),
(select f.claims from "shop".firebase_users f where f.object_id = person.object_id), previous.ended
from verified left join person on true left join previous on true left join session s on true
