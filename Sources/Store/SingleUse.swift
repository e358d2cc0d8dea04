package import Domain
import Postgres

/// A single-use credential, claimed by one login attempt.
package struct SingleUse: Sendable {
    /// SHA-256 of the bytes that identify the credential.
    package let hash: [UInt8]
    /// The time at which the credential was issued, in whole seconds for a provider's credential.
    ///
    /// The credential becomes invalid if the app's access is revoked, or the user is erased, at least a second later.
    package let issuedAt: StoreMoment
    /// Seconds until the expiry of the credential.
    ///
    /// The database keeps the record of the credential's use until then.
    package let seconds: Int64
    /// The id of the attempt that uses the credential; the same attempt may retry within a minute.
    package let owner: [UInt8]
    /// SHA-256 of the service's nonce, which no other attempt may have used; nil if the credential needs none.
    package let nonceHash: [UInt8]?

    package init(hash: [UInt8], issuedAt: StoreMoment, seconds: Int64, owner: [UInt8], nonceHash: [UInt8]?) {
        self.hash = hash
        self.issuedAt = issuedAt
        self.seconds = seconds
        self.owner = owner
        self.nonceHash = nonceHash
    }
}

/// The part of a SQL statement that uses up a credential, so that only one login attempt can use it.
///
/// The same attempt may retry for a minute: it may have lost a race to create a user, or its client may have lost the
/// response.
struct SingleUseStep<Input> {
    let schema: SQL<Input>
    let kind: SingleUseKind
    let once: @Sendable (Input) -> SingleUse?

    /// The CTE `seen`, which has a row only for the login attempt that used the credential first.
    var expression: SQL<Input> {
        """
        seen as (
            insert into \(schema).single_use as s (kind, hash, owner, used, expires)
            values (\(literal: kind.rawValue), \(hash), \(owner), now(), now() + make_interval(secs => \(seconds)))
            on conflict (kind, hash) do update set owner = s.owner
            where s.owner = excluded.owner and s.used > now() - interval '60 seconds'
            returning s.created
        )
        """
    }

    var isFirst: SQL<Input> { "exists (select from seen)" }

    /// Returns the part of the statement that uses up the credential's nonce.
    ///
    /// - Parameter hash: SHA-256 of the nonce; NULL if the credential needs none.
    /// - Returns: The CTE `nonce`, which has a row only for the attempt that used the nonce first, and the condition
    ///   that the attempt may use it.
    func nonce(_ hash: Parameter<Input>) -> (expression: SQL<Input>, isFirst: SQL<Input>) {
        (
            """
            nonce as (
                insert into \(schema).single_use as s (kind, hash, owner, used, expires)
                select 'nonce', \(hash), \(owner), now(), now() + make_interval(secs => \(seconds))
                where \(hash) is not null
                on conflict (kind, hash) do update set owner = s.owner where s.owner = excluded.owner
                returning true
            )
            """,
            "(\(hash) is null or exists (select from nonce))"
        )
    }

    /// The SQL condition that the credential was never used before, not even by the same attempt.
    static var isFresh: SQL<Input> { "exists (select from seen where seen.created = now())" }

    // A missing hash has no default, since the credential must not count as one that was never used.
    private var hash: Parameter<Input> {
        let once = once
        return Parameter(LoginStatement.credentialHashParameter, of: { once($0)?.hash })
    }
    var seconds: Parameter<Input> {
        let once = once
        return Parameter("credential_seconds") { .int64(once($0)?.seconds ?? 0) }
    }
    var owner: Parameter<Input> {
        let once = once
        return Parameter("attempt", of: { once($0)?.owner })
    }
}

/// A kind of single-use value that is not stored before its use.
package enum SingleUseKind: String, Sendable {
    /// The state of a login dialog. Before its use, it is only in the dialog's URL.
    case state
    /// An authorization code of a provider.
    case code
    /// A credential that a provider has signed or this service has encrypted.
    case credential = "idToken"
    /// A pending login.
    case pendingLogin = "pendingSignIn"
}

extension Store {
    /// Uses up a single-use credential and its nonce for the login attempt `once.owner`.
    ///
    /// - Returns: True if both were unused, or if the same attempt used them less than a minute ago.
    /// - Throws: `store_unavailable` and similar failures.
    package func use(_ once: SingleUse, of application: Application) async throws(Failure) -> Bool {
        let step = SingleUseStep<SingleUse>(schema: "\(identifier: application.schema)", kind: .credential) { $0 }
        let nonce = step.nonce(Parameter("nonce_hash", as: "bytea", of: \.nonceHash))
        let text: SQL<SingleUse> = """
            with \(step.expression), \(nonce.expression) select from seen where \(nonce.isFirst)
            """
        return try await query(text.bound(to: once), of: application).count == 1
    }

    /// Returns the id of the login attempt that used up a value (``SingleUse/owner``).
    ///
    /// - Returns: The id; nil when the value was not used, or its use has been purged.
    /// - Throws: `store_unavailable` and similar failures.
    package func owner(
        of kind: SingleUseKind,
        hash: [UInt8],
        in application: Application
    ) async throws(Failure) -> [UInt8]? {
        let result = try await query(
            """
            select owner from \(identifier: application.schema).single_use
            where kind = \(kind.rawValue) and hash = \(hash)
            """,
            of: application
        )
        return try result.first([UInt8]?.self) ?? nil
    }

    /// Returns whether a single-use value has been used.
    package func isUsed(
        _ kind: SingleUseKind,
        hash: [UInt8],
        in application: Application
    ) async throws(Failure) -> Bool {
        let result = try await query(
            """
            select from \(identifier: application.schema).single_use
            where kind = \(kind.rawValue) and hash = \(hash)
            """,
            of: application
        )
        return result.count == 1
    }

    /// Uses up a single-use value.
    ///
    /// Of simultaneous calls, on any number of instances, one succeeds.
    ///
    /// - Parameters:
    ///   - kind: The kind of the value.
    ///   - hash: SHA-256 of the bytes that identify the value.
    ///   - seconds: Seconds until the expiry of the value.
    ///   - application: The application of the value.
    /// - Returns: Whether this call is the first.
    /// - Throws: `store_unavailable` and similar failures.
    package func use(
        _ kind: SingleUseKind,
        hash: [UInt8],
        seconds: Int64,
        of application: Application
    ) async throws(Failure) -> Bool {
        let result = try await query(
            """
            insert into \(identifier: application.schema).single_use (kind, hash, used, expires)
            values (\(kind.rawValue), \(hash), now(), now() + make_interval(secs => \(seconds)))
            on conflict (kind, hash) do nothing
            returning true
            """,
            of: application
        )
        return result.count == 1
    }
}

/// The login codes. A login by redirects ends with a login code, which is stored until a client exchanges it or it
/// expires.
extension Store {
    /// Stores a login code.
    ///
    /// - Parameters:
    ///   - hash: SHA-256 of the code's text, which must be random.
    ///   - payload: The encrypted result of the login with the provider.
    ///   - identity: The identity in the payload. If the app's access to the identity is revoked, the code becomes
    ///     invalid.
    ///   - seconds: Seconds until the expiry of the code.
    ///   - application: The application of the code.
    /// - Throws: `store_unavailable` and similar failures.
    package func keepLoginCode(
        hash: [UInt8],
        payload: EncryptedSecret,
        identity: IdentityKey,
        seconds: Int64,
        of application: Application
    ) async throws(Failure) {
        _ = try await query(
            """
            insert into \(identifier: application.schema).single_use (kind, hash, owner, payload, payload_key_id, expires)
            values ('loginCode', \(hash),
                federation.identity_hash(\(identity.provider.text), \(identity.app.text), \(identity.subject.text)),
                \(payload.bytes), \(payload.keyID), now() + make_interval(secs => \(seconds)))
            """,
            of: application
        )
    }

    /// Uses up a login code.
    ///
    /// Of simultaneous calls, one gets the payload.
    ///
    /// The time of a revocation may be in whole seconds. Therefore a code stored within a second after a revocation is
    /// refused, too.
    ///
    /// - Returns: The payload; nil when the code is unknown, used or expired, or the app's access has been revoked
    ///   since.
    package func takeLoginCode(hash: [UInt8], of application: Application) async throws(Failure) -> EncryptedSecret? {
        let result = try await query(
            """
            delete from \(identifier: application.schema).single_use c
            where c.kind = 'loginCode' and c.hash = \(hash) and c.expires > now() and (
                select true from \(identifier: application.schema).single_use e
                where e.kind = 'ended' and e.hash = c.owner and e.created > c.created - interval '1 second'
            ) is null
            returning payload, payload_key_id
            """,
            of: application
        )
        return try result.first(EncryptedSecret.self)
    }
}

/// Records apps whose login dialogs open without a PKCE challenge (`code_challenge`) for a while.
///
/// The provider of such an app has lost the challenge of an earlier dialog.
extension Store {
    /// Records that the provider has lost the PKCE challenge of a login dialog of an app.
    ///
    /// - Parameters:
    ///   - app: SHA-256 of the values that identify the app.
    ///   - seconds: Seconds for which the app's dialogs open without a challenge.
    ///   - application: The application of the app.
    /// - Throws: `store_unavailable` and similar failures.
    package func noteLostChallenge(
        of app: [UInt8],
        seconds: Int64,
        in application: Application
    ) async throws(Failure) {
        _ = try await query(
            """
            insert into \(identifier: application.schema).single_use (kind, hash, expires)
            values ('noChallenge', \(app), now() + make_interval(secs => \(seconds)))
            on conflict (kind, hash) do update set expires = excluded.expires
            """,
            of: application
        )
    }

    /// Returns the time until which an app's dialogs open without a PKCE challenge, because the provider lost one.
    ///
    /// - Parameters:
    ///   - app: SHA-256 of the values that identify the app.
    ///   - application: The application of the app.
    /// - Returns: Milliseconds since 1970; nil when no loss is on record.
    /// - Throws: `store_unavailable` and similar failures.
    package func lostChallenge(of app: [UInt8], in application: ApplicationPlace) async throws(Failure) -> Int64? {
        let result = try await query(
            """
            select expires from \(identifier: application.schema).single_use
            where kind = 'noChallenge' and hash = \(app) and expires > now()
            """,
            in: tables(of: application)
        )
        return try result.first(Timestamp.self)?.milliseconds
    }
}
