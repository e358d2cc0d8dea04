import Postgres
package import Vocabulary

/// What others give out and we take once: nothing is known of it here before it comes.
package enum TakenOnce: String, Sendable {
    /// The state of a login dialog, which is nowhere but in the dialog's address until then.
    case state
    /// An authorization code of a provider's.
    case code
    /// A credential that a provider has signed, or that we have sealed.
    case credential = "idToken"
    /// Something that waited for a second factor.
    case pendingSignIn
}

extension Store {
    /// Uses a credential up that counts once, for the attempt that names it.
    ///
    /// - Returns: Whether no other attempt has used it.
    /// - Throws: `store_unavailable` and its like.
    package func use(_ once: SingleUse, of application: Application) async throws(Failure) -> Bool {
        let step = SingleUseStep<SingleUse>(schema: "\(identifier: application.schema)", kind: .credential) { $0 }
        let text: SQL<SingleUse> = "with \(step.expression) select from seen"
        return try await query(text.bound(to: once), of: application).count == 1
    }

    /// The owner for whom something was used up (``SingleUse/owner``).
    ///
    /// - Returns: Nil when it was not used up, or when that has been forgotten.
    /// - Throws: `store_unavailable` and its like.
    package func owner(
        of kind: TakenOnce,
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
        return try read { () throws(PostgresError) in try result.first?.decode(0, as: [UInt8]?.self) ?? nil }
    }

    /// Uses something up: of any number of simultaneous calls, on any number of instances, one succeeds.
    ///
    /// - Parameters:
    ///   - kind: What it is.
    ///   - hash: SHA-256 of what it is by.
    ///   - seconds: How long it would be good otherwise.
    ///   - application: Whose it is.
    /// - Returns: Whether this call is the first.
    /// - Throws: `store_unavailable` and its like.
    package func use(
        _ kind: TakenOnce,
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
        return result.first != nil
    }
}
