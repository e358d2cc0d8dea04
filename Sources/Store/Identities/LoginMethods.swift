package import Domain
import Encodings
import FoundationEssentials
import Postgres

extension Store {
    /// Returns the login methods of a user, the oldest first.
    package func loginMethods(
        of user: ObjectID,
        session tokenHash: [UInt8],
        in application: Application
    ) async throws(Failure) -> [LoginMethod] {
        let schema = application.schema
        let passkeys: Statement =
            application.settings.secondFactor.passkeys.isLoginMethod
            ? """
            union all
            select \(FactorKind.passkey.rawValue), null, upper(f.id::text), f.created, f.used,
                exists (
                    select from current c
                    where c.provider = \(FactorKind.passkey.rawValue) and c.subject = upper(f.id::text)
                ), false
            from \(identifier: schema).factors f
            where f.object_id = \(user.uuid) and f.removed is null and f.kind = \(FactorKind.passkey.rawValue)
            """ : ""
        let result = try await query(
            """
            with current as (
                select provider, provider_app, subject from \(identifier: schema).sessions where token_hash = \(tokenHash)
            )
            select i.provider, nullif(i.provider_app, \(ProviderAppID.global.text)), i.subject, i.created, i.last_used,
                exists (
                    select from current c where c.provider = i.provider and c.provider_app = i.provider_app
                        and c.subject = i.subject
                ), i.revoked is not null
            from \(identifier: schema).identities i where i.object_id = \(user.uuid)
            union all
            select \(ProviderName.password.text), null, p.login, p.changed, null,
                exists (select from current c where c.provider = \(ProviderName.password.text)), false
            from \(identifier: schema).passwords p where p.object_id = \(user.uuid)
            \(passkeys)
            order by 4, 1, 2, 3
            """,
            of: application
        )
        return try result.all { row throws(PostgresError) in
            LoginMethod(
                provider: try row.next(),
                app: try row.next(),
                subject: try row.next(),
                created: try row.next(Timestamp.self).milliseconds,
                lastUsed: try row.next(Timestamp?.self)?.milliseconds,
                isCurrent: try row.next(),
                isRevoked: try row.next()
            )
        }
    }

    /// Removes a login method of the user of a live session, unless it is the last one.
    ///
    /// A passkey counts as another login method if it has opened this session.
    ///
    /// - Parameters:
    ///   - method: The login method.
    ///   - tokenHash: SHA-256 of the session's token.
    ///   - seconds: The maximum age of the session's authentication.
    ///   - announcement: The notices to the user; nil if the user cannot be notified.
    ///   - application: The user's application.
    /// - Returns: The removed identity with its stored token, if there is one. The token can be used once more, to
    ///   remove the app's permissions at the provider.
    /// - Throws: `session_invalid`, `reauthentication_required`, `not_found`, `malformed_request`, `last_login_method`,
    ///   `conflict`.
    package func removeLoginMethod(
        _ method: LoginMethodSelection,
        fromUserOf tokenHash: [UInt8],
        authenticatedWithin seconds: Int,
        announcing announcement: Announcement?,
        in application: Application
    ) async throws(Failure) -> [KeptIdentity] {
        let schema = application.schema
        return try await transaction(in: tables(of: application)) { connection in
            guard let user = try await connection.lockUser(ofSession: tokenHash, of: application) else {
                throw Failure.sessionInvalid
            }
            guard user.authenticatedAgo <= seconds else { throw Failure.reauthenticationRequired }
            try user.requireFactor(within: seconds)
            let found = try await connection.query(
                """
                select provider, provider_app, subject from \(identifier: schema).identities
                where object_id = \(user.id.uuid)
                union all
                select \(ProviderName.password.text), '', login from \(identifier: schema).passwords
                where object_id = \(user.id.uuid)
                """
            )
            let methods = try found.all(into: StoredLoginMethod.init)
            let meant = methods.filter { candidate in
                candidate.provider.hasSameBytes(as: method.provider)
                    && (method.app.map { candidate.app.hasSameBytes(as: $0) } ?? true)
            }
            guard let chosen = meant.first else {
                throw Failure(
                    .notFound,
                    "This user does not have this login method. GET users/identities lists the login methods."
                )
            }
            guard meant.count == 1 else {
                throw Failure(
                    .malformedRequest,
                    "The user has several identities of this provider. Choose one with appId."
                )
            }
            if methods.count == 1 {
                let passkey = try await connection.passkey(ofSession: tokenHash, in: application)
                guard passkey != nil else { throw Failure.lastLoginMethod }
            }
            if let announcement {
                try await connection.announce(announcement, to: user.id, of: application)
            }
            let kept = try await connection.keptIdentities(of: user.id, schema: schema)
            try await connection.noteRemoval(
                of: """
                    i.provider = \(chosen.provider) and i.provider_app = \(chosen.app) and i.subject = \(chosen.subject)
                    """,
                from: user.id,
                schema: schema
            )
            _ = try await connection.remove(chosen, of: user.id, sparing: tokenHash, schema: schema)
            return kept.filter { kept in
                kept.key.provider.text.hasSameBytes(as: chosen.provider) && kept.app.text.hasSameBytes(as: chosen.app)
            }
        }
    }
}

/// The values that identify a login method of a user; for a password, `subject` is the login name.
struct StoredLoginMethod: Sendable {
    let provider: String
    let app: String
    let subject: String
}

extension PostgresConnection {
    /// Returns the passkey that opened a session; nil if none did, or if passkeys are no login method.
    ///
    /// A passkey that has opened a session is a login method. Of any other passkey, the service does not know whether
    /// the authenticator finds it without a login name, and whether it verifies the user.
    func passkey(ofSession tokenHash: [UInt8], in application: Application) async throws(PostgresError) -> ObjectID? {
        guard application.settings.secondFactor.passkeys.isLoginMethod else { return nil }
        let schema = application.schema
        let found = try await query(
            """
            select f.id from \(identifier: schema).sessions s
                join \(identifier: schema).factors f on f.object_id = s.object_id and upper(f.id::text) = s.subject
            where s.token_hash = \(tokenHash) and s.provider = \(FactorKind.passkey.rawValue) and f.removed is null
            """
        )
        return try found.first(ObjectID.self)
    }

    func hasIdentityOrPassword(_ user: ObjectID, schema: String) async throws(PostgresError) -> Bool {
        let found = try await query(
            """
            select from (select) one
            where exists (select from \(identifier: schema).identities where object_id = \(user.uuid))
                or exists (select from \(identifier: schema).passwords where object_id = \(user.uuid))
            """
        )
        return found.first != nil
    }

    /// Removes a login method and the sessions that it opened, except the one with the given token hash.
    ///
    /// If the password is removed, the unused links to reset it are deleted, too.
    ///
    /// - Returns: Whether the login method existed.
    func remove(
        _ method: StoredLoginMethod,
        of user: ObjectID,
        sparing tokenHash: [UInt8],
        schema: String
    ) async throws(PostgresError) -> Bool {
        let isPassword = method.provider.hasSameBytes(as: ProviderName.password.text)
        if isPassword {
            _ = try await query(
                """
                delete from \(identifier: schema).email_proofs
                where object_id = \(user.uuid) and purpose = 'passwordReset'
                """
            )
        }
        // The subject of a session opened by a password is the login name at that time, which may have changed since.
        let itself: Statement =
            isPassword ? "" : "and provider_app = \(method.app) and subject = \(method.subject)"
        _ = try await query(
            """
            delete from \(identifier: schema).sessions
            where object_id = \(user.uuid) and provider = \(method.provider) \(itself) and token_hash <> \(tokenHash)
            """
        )
        let removed = try await query(
            isPassword
                ? "delete from \(identifier: schema).passwords where object_id = \(user.uuid)"
                : """
                delete from \(identifier: schema).identities
                where object_id = \(user.uuid) and provider = \(method.provider) \(itself)
                """
        )
        return removed.affectedRows == 1
    }
}

extension Failure {
    static let lastLoginMethod = Failure(
        .lastLoginMethod,
        """
        This is the user's only login method. First link another identity, set a password, or log in with a passkey \
        that stays.
        """
    )

    package static let reauthenticationRequired = Failure(
        .reauthenticationRequired,
        """
        This request needs the current password, or a login within the last five minutes. Log in again, then repeat it.
        """
    )
}
