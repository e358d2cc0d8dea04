package import Domain
import FoundationEssentials
import Postgres

/// A stored factor of a user.
package struct StoredFactor: Sendable {
    package let id: ObjectID
    package let user: ObjectID
    package let kind: FactorKind
    package let label: String?
    package let secret: EncryptedSecret?
    /// The time step (RFC 6238) of the latest code that the user has presented; -1 for none.
    package var step: Int64
    /// The hashes of the unused recovery codes.
    package var codes: [String]
    package var passkey: StoredPasskey?
    /// The time of the enrolment, in milliseconds since 1970, like `lastUsed`.
    package let created: Int64
    package let lastUsed: Int64?
}

extension StoredFactor {
    /// The columns of a row `f` of `factors`, in the order in which `init(_:)` reads them.
    static let columns = """
        f.id, f.object_id, f.kind, f.label, f.secret, f.secret_key_id, f.step, f.codes, f.credential_id, f.public_key, \
        f.sign_count, f.backup_eligible, f.transports, f.created, f.used
        """

    /// Reads a factor from the last columns of a row.
    ///
    /// The result is nil if this version does not know the factor's kind, or if an outer join has found no factor.
    init?(_ row: inout Row) throws(PostgresError) {
        guard !row.isNullNext else {
            row.skipRest()
            return nil
        }
        id = try row.next()
        user = try row.next()
        let kind = FactorKind(rawValue: try row.next(String.self))
        label = try row.next()
        secret = try row.next()
        step = try row.next()
        codes = try row.next()
        let (credentialID, publicKey) = (try row.next([UInt8]?.self), try row.next([UInt8]?.self))
        let (signCount, isBackupEligible) = (try row.next(Int64.self), try row.next(Bool.self))
        let transports = try row.next([String].self)
        passkey = credentialID.flatMap { credentialID in
            publicKey.map { publicKey in
                StoredPasskey(
                    credentialID: credentialID,
                    publicKey: publicKey,
                    signCount: signCount,
                    isBackupEligible: isBackupEligible,
                    transports: transports
                )
            }
        }
        created = try row.next(Timestamp.self).milliseconds
        lastUsed = try row.next(Timestamp?.self)?.milliseconds
        guard let kind else { return nil }
        self.kind = kind
    }
}

/// The user who must present a second factor, with the user's factors.
package struct FactorHolder: Sendable {
    /// The user; nil if the login's user does not exist yet.
    package let user: ObjectID?
    /// The factors, the oldest first.
    package let factors: [StoredFactor]
    /// The database's time when the factors were read.
    package let now: StoreMoment
}

/// How to find the user of a login: by an identity, or by the user's id.
package enum FactorOwner: Sendable {
    case identity(IdentityKey)
    case user(ObjectID)
}

extension Store {
    /// Returns the factors of a user, the oldest first.
    package func factors(of user: ObjectID, in application: Application) async throws(Failure) -> [StoredFactor] {
        try await factorHolder(.user(user), in: application).factors
    }

    /// Returns the user of a login with the user's factors, the oldest first.
    package func factorHolder(
        _ owner: FactorOwner,
        in application: Application
    ) async throws(Failure) -> FactorHolder {
        let schema = application.schema
        let user: Statement =
            switch owner {
            case .user(let id): "select \(id.uuid)::uuid as object_id"
            case .identity(let identity):
                """
                select (select object_id from \(identifier: schema).identities where \(identity.condition)) as object_id
                """
            }
        let result = try await query(
            """
            with holder as (\(user))
            select now(), holder.object_id, \(unsafeRaw: StoredFactor.columns)
            from holder left join \(identifier: schema).factors f
                on f.object_id = (select holder.object_id from holder) and f.removed is null
            order by f.created, f.kind = 'recoveryCode', f.id
            """,
            of: application
        )
        let rows = try result.all { row throws(PostgresError) in
            (now: try row.next(Timestamp.self), user: try row.next(ObjectID?.self), factor: try StoredFactor(&row))
        }
        return FactorHolder(
            user: rows.first?.user,
            factors: rows.compactMap(\.factor),
            now: rows.first?.now.storeMoment ?? 0
        )
    }

    /// Returns the passkey with a credential id, whichever user has it; nil if there is none.
    package func passkey(
        ofCredential credentialID: [UInt8],
        in application: Application
    ) async throws(Failure) -> StoredFactor? {
        let result = try await query(
            """
            select \(unsafeRaw: StoredFactor.columns) from \(identifier: application.schema).factors f
            where f.credential_id = \(credentialID) and f.removed is null
            """,
            of: application
        )
        return try result.first(by: StoredFactor.init)
    }
}

extension Timestamp {
    var storeMoment: StoreMoment {
        let second = microseconds >= 0 ? microseconds / 1_000_000 : (microseconds - 999_999) / 1_000_000
        return StoreMoment(seconds: second, microseconds: microseconds - second * 1_000_000)
    }
}
