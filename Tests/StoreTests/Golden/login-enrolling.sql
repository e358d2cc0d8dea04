-- $1 credential_hash, $2 attempt, $3 credential_seconds, $4 app, $5 subject, $6 cleared, $7 property.email, $8 dynamic, $9 put_off_user, $10 token_hash, $11 credential_id, $12 new_factor, $13 fresh_id, $14 scopes, $15 declined_scopes, $16 data_access_expires, $17 ban_hash, $18 issued, $19 provider_session, $20 session_seconds, $21 new_factor_kind, $22 previous_token_hash, $23 new_factor_label, $24 new_factor_secret, $25 new_factor_secret_key, $26 new_factor_step, $27 public_key, $28 sign_count, $29 backup_eligible, $30 transports, $31 recovery_factor, $32 recovery_codes
with seen as (
    insert into "shop".single_use as s (kind, hash, owner, used, expires)
    values ('pendingSignIn', :credential_hash, :attempt, now(), now() + make_interval(secs => :credential_seconds))
    on conflict (kind, hash) do update set owner = s.owner
    where s.owner = excluded.owner and s.used > now() - interval '60 seconds'
    returning s.created
), known as (
    select i.object_id, i.written from "shop".identities i
    where i.provider = 'staff-sso' and i.provider_app = :app and i.subject = :subject
), before as (
    select
        u.user_status as status,
        u.object_id,
        case
            when u.email_verified or (select true from "shop".passwords p where p.object_id = u.object_id)
                then u.email
            else case when 'email' = any (:cleared::text[]) then null else coalesce(:property.email::text, u."email") end
        end as n0,
        (u.dynamic - :cleared::text[]) || :dynamic as dynamic
    from "shop".users u where u.object_id = (select known.object_id from known)
    for no key update of u
), factor as (
    select ((select before.object_id from before) is not distinct from :put_off_user::uuid or exists (
        select from "shop".sessions s where s.token_hash = :token_hash and s.object_id = (select before.object_id from before)
    )) and not exists (
        select from "shop".factors f
        where f.credential_id = :credential_id::bytea and f.removed is null and f.id <> :new_factor::uuid
    ) and (
        exists (select from seen where seen.created = now()) and not federation.has_factor('shop', (select before.object_id from before), array['totp'])
        or exists (
            select from "shop".sessions s where s.token_hash = :token_hash and s.object_id = (select before.object_id from before)
        ) and exists (
            select from "shop".factors f where f.id = :new_factor::uuid and f.object_id = (select before.object_id from before)
        )
    ) as is_new
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
            or not exists (
                select from "shop".single_use
                where kind = 'banned' and hash = :ban_hash and expires > now()
            ) and not exists (
                select from "shop".identities
                where provider = 'staff-sso' and provider_app = :app and subject = :subject
            )
        )
        and exists (select from seen)
        and not case
            when (select before.status from before) is null
                then federation.has_ended('shop', federation.identity_hash('staff-sso', :app, :subject), :issued::timestamptz + interval '1 second')
                    or :provider_session::bytea is not null
                        and federation.has_ended('shop', :provider_session::bytea, :issued::timestamptz + interval '1 second')
            else exists (
                select from "shop".single_use s
                where s.kind = 'ended' and s.hash = any (array[federation.identity_hash('staff-sso', :app, :subject), :provider_session::bytea])
                    and s.created >= :issued::timestamptz + interval '1 second'
            )
        end
        and (select before.status from before) is distinct from 'DISABLED'
        and not exists (
            select from "shop".passwords p
            where p.object_id = (select before.object_id from before) and p.changed >= :issued::timestamptz + interval '1 second'
        )
        and (select factor.is_new from factor)
    on conflict (provider, provider_app, subject) do update set
        last_used = now(), revoked = null, revoked_by = null,
        granted_scopes = coalesce(:scopes, i.granted_scopes),
        declined_scopes = coalesce(:declined_scopes, i.declined_scopes),
        data_access_expires = case when :scopes is null then i.data_access_expires else :data_access_expires end
    where i.object_id = (select known.object_id from known)
        and (i.revoked is null or i.revoked < :issued::timestamptz + interval '1 second')
    returning i.object_id, i.object_id = :fresh_id as is_new
), created as (
    insert into "shop".users as u
        (object_id, social_account, last_login, dynamic, "email")
    select object_id, 'STAFF-SSO', now(), :dynamic, :property.email::text
    from identity where is_new
    returning u."object_id", u."created", u."updated", u."last_login", u."user_status", u."social_account", u."locale", u."dynamic", u."email_verified", u."email", u."name", u."nick", u."points", u."extra"
), changed as (
    update "shop".users u set
        last_login = now(),
        "email" = before.n0,
        dynamic = before.dynamic,
        updated = case
            when (before.n0, before.dynamic)
                is distinct from (u."email", u.dynamic)
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
    select exists (select from seen where seen.created = changed.created), * from changed
), session as (
    insert into "shop".sessions as s
        (token_hash, object_id, expires, provider, provider_app, subject, provider_session, factor_kind, factor_proved)
    select
        :token_hash, object_id, now() + make_interval(secs => :session_seconds),
        'staff-sso', :app, :subject,
        :provider_session::bytea,
        :new_factor_kind::text,
        now()
    from person
    on conflict (token_hash) do update set proved = now(), factor_kind = excluded.factor_kind, factor_proved = excluded.factor_proved where s.object_id = excluded.object_id
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
), enrolled as (
    insert into "shop".factors (id, object_id, kind, label, secret, secret_key_id, step,
        credential_id, public_key, sign_count, backup_eligible, transports, used)
    select :new_factor::uuid, object_id, :new_factor_kind::text, :new_factor_label::text, :new_factor_secret::bytea, :new_factor_secret_key::text, coalesce(:new_factor_step::bigint, -1),
        :credential_id::bytea, :public_key::bytea, :sign_count::bigint, :backup_eligible::boolean, :transports::text[], now()
    from person
    on conflict (id) do nothing
), former_codes as (
    update "shop".factors f set removed = now()
    where f.object_id = (select person.object_id from person where :recovery_factor::uuid is not null)
        and f.kind = 'recoveryCode' and f.removed is null
), recovery as (
    insert into "shop".factors (id, object_id, kind, codes)
    select :recovery_factor::uuid, object_id, 'recoveryCode', :recovery_codes::text[]
    from person where :recovery_factor::uuid is not null
    on conflict (id) do nothing
)
select
    case
        when person.object_id is not null then null
        when not exists (select from seen) then 'replayed'
        when exists (
            select from "shop".single_use s
            where s.kind = 'ended' and s.hash = any (array[federation.identity_hash('staff-sso', :app, :subject), :provider_session::bytea])
                and s.created >= :issued::timestamptz + interval '1 second'
        ) or exists (
            select from "shop".identities i
            where i.provider = 'staff-sso' and i.provider_app = :app and i.subject = :subject and i.revoked >= :issued::timestamptz + interval '1 second'
        ) then 'ended'
        when (select before.status from before) = 'DISABLED' or exists (
            select from "shop".single_use
            where kind = 'banned' and hash = :ban_hash and expires > now()
        )
            then 'disabled'
        when exists (
            select from "shop".factors f
            where f.credential_id = :credential_id::bytea and f.removed is null and f.id <> :new_factor::uuid
        ) then 'taken'
        when not (select factor.is_new from factor) then 'unusable'
    end as refusal,
    person.*, previous.ended
from (select) one left join person on true left join previous on true
