-- $1 credential_hash, $2 attempt, $3 credential_seconds, $4 user, $5 verified_hash, $6 login, $7 factor_step, $8 factor_sign_count, $9 factor_code, $10 factor_id, $11 put_off_user, $12 token_hash, $13 session_seconds, $14 previous_token_hash, $15 guess
with seen as (
    insert into "shop".single_use as s (kind, hash, owner, used, expires)
    values ('pendingSignIn', :credential_hash, :attempt, now(), now() + make_interval(secs => :credential_seconds))
    on conflict (kind, hash) do update set owner = s.owner
    where s.owner = excluded.owner and s.used > now() - interval '60 seconds'
    returning s.created
), verified as (
    select u.object_id, u.user_status from "shop".users u join "shop".passwords p using (object_id)
    where u.object_id = :user and p.hash = :verified_hash::bytea and p.login = :login
    for no key update of u, p
), factor as (
    update "shop".factors f set
        used = now(), step = greatest(f.step, :factor_step::bigint),
        sign_count = greatest(f.sign_count, :factor_sign_count::bigint), codes = array_remove(f.codes, :factor_code::text)
    where f.id = :factor_id::uuid and f.object_id = (select verified.object_id from verified) and f.removed is null
        and ((select verified.object_id from verified) is not distinct from :put_off_user::uuid or exists (
            select from "shop".sessions s where s.token_hash = :token_hash and s.object_id = (select verified.object_id from verified)
        ))
        and (select verified.user_status from verified) not in ('DISABLED', 'EMAIL_CONFIRMATION_PENDING')
        and exists (select from seen)
        and (
            exists (select from seen where seen.created = now()) and (:factor_step::bigint is null or f.step < :factor_step::bigint)
            and (:factor_code::text is null or :factor_code::text = any (f.codes))
            and (:factor_sign_count::bigint is null or f.sign_count < :factor_sign_count::bigint or f.sign_count = 0 and :factor_sign_count::bigint = 0)
            or exists (
                select from "shop".sessions s where s.token_hash = :token_hash and s.object_id = (select verified.object_id from verified)
            )
        )
    returning f.id, f.kind
), person as (
    update "shop".users u set last_login = now()
    where u.object_id = (select verified.object_id from verified)
        and exists (select from factor)
    returning u."object_id", u."created", u."updated", u."last_login", u."user_status", u."social_account", u."locale", u."dynamic", u."email_verified", u."email", u."name", u."nick", u."points", u."extra"
), session as (
    insert into "shop".sessions as s
        (token_hash, object_id, expires, provider, provider_app, subject, proved, factor_kind, factor_proved)
    select
        :token_hash, object_id, now() + make_interval(secs => :session_seconds),
        'password', '', :login, now(), (select factor.kind from factor), now()
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
), forgiven as (
    update "shop".attempts
    set failures = 0, recent = greatest(recent - 1, 0), blocked_until = to_timestamp(0)
    where key = :guess::bytea and exists (select from person)
)
select verified.user_status, case when not exists (select from factor) then 'unusable' end as refusal, person.*, previous.ended
from verified left join person on true left join previous on true
