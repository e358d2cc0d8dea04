-- $1 user, $2 verified_hash, $3 login, $4 token_hash, $5 session_seconds, $6 previous_token_hash
with verified as (
    select u.object_id, u.user_status from "shop".users u join "shop".passwords p using (object_id)
    where u.object_id = :user and p.hash = :verified_hash::bytea and p.login = :login
    for no key update of u, p
), factor as (
    select case
        when exists (
            select from "shop".factors f
            where f.object_id = (select verified.object_id from verified) and f.kind in ('totp') and f.removed is null
        ) then 'factor'
        when true then 'enrolment'
    end as demand
), person as (
    update "shop".users u set last_login = now()
    where u.object_id = (select verified.object_id from verified)
        and (select verified.user_status from verified) not in ('DISABLED', 'EMAIL_CONFIRMATION_PENDING')
        and (select factor.demand from factor) is null
    returning u."object_id", u."created", u."updated", u."last_login", u."user_status", u."social_account", u."locale", u."dynamic", u."email_verified", u."email", u."name", u."nick", u."points", u."extra"
), session as (
    insert into "shop".sessions as s
        (token_hash, object_id, expires, provider, provider_app, subject, proved)
    select
        :token_hash, object_id, now() + make_interval(secs => :session_seconds),
        'password', '', :login, now()
    from person
    
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
select verified.user_status, case when (select factor.demand from factor) is not null then (select factor.demand from factor) end as refusal, person.*, previous.ended
from verified left join person on true left join previous on true
