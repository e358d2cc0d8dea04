import FoundationEssentials
import Postgres
package import Vocabulary

/// A factor of a user as it is stored.
package struct StoredFactor: Sendable {
    package let id: ObjectID
    package let user: ObjectID
    package let kind: FactorKind
    package let label: String?
    package let secret: SealedSecret?
    /// The newest time step whose code was shown; -1 for none.
    package var step: Int64
    /// Recovery codes that are left, in their stored form.
    package var codes: [String]
    package var passkey: StoredPasskey?
    /// Milliseconds since 1970, as the next one.
    package let created: Int64
    package let lastUsed: Int64?
}

extension StoredFactor {
    /// The columns of a row `f` of `factors`, in the order in which `init(_:from:)` reads them.
    static let columns = """
        f.id, f.object_id, f.kind, f.label, f.secret, f.secret_key_id, f.step, f.codes, f.credential_id, f.public_key, \
        f.sign_count, f.backup_eligible, f.transports, f.created, f.used
        """

    /// Nil for a factor of a kind that this version does not know.
    init?(_ row: Row, from first: Int = 0) throws(PostgresError) {
        guard let kind = FactorKind(rawValue: try row.decode(first + 2, as: String.self)) else { return nil }
        self.kind = kind
        id = ObjectID(try row.decode(first, as: UUID.self))
        user = ObjectID(try row.decode(first + 1, as: UUID.self))
        label = try row.decode(first + 3, as: String?.self)
        let bytes = try row.decode(first + 4, as: [UInt8]?.self)
        let keyID = try row.decode(first + 5, as: String?.self)
        secret = bytes.flatMap { bytes in keyID.map { SealedSecret(bytes: bytes, keyID: $0) } }
        step = try row.decode(first + 6, as: Int64.self)
        codes = try row.decode(first + 7, as: [String].self)
        if let credentialID = try row.decode(first + 8, as: [UInt8]?.self),
            let publicKey = try row.decode(first + 9, as: [UInt8]?.self)
        {
            passkey = StoredPasskey(
                credentialID: credentialID,
                publicKey: publicKey,
                signCount: try row.decode(first + 10, as: Int64.self),
                isBackupEligible: try row.decode(first + 11, as: Bool.self),
                transports: try row.decode(first + 12, as: [String].self)
            )
        } else {
            passkey = nil
        }
        created = try row.decode(first + 13, as: Timestamp.self).milliseconds
        lastUsed = try row.decode(first + 14, as: Timestamp?.self)?.milliseconds
    }
}

/// Who has to show a factor, and which there are.
package struct FactorHolder: Sendable {
    /// Nil while there is no such user.
    package let user: ObjectID?
    /// From the oldest on.
    package let factors: [StoredFactor]
    /// The database's time.
    package let now: StoreMoment
}

/// By what somebody who logs in is known.
package enum FactorOwner: Sendable {
    case identity(IdentityKey)
    case user(ObjectID)
}

extension Store {
    /// The factors of a user, from the oldest on.
    package func factors(of user: ObjectID, in application: Application) async throws(Failure) -> [StoredFactor] {
        try await factorHolder(.user(user), in: application).factors
    }

    /// The user whom a login is of, with the factors, from the oldest on.
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
        return try read { () throws(PostgresError) in
            var factors: [StoredFactor] = []
            for row in result.rows where try row.decode(2, as: UUID?.self) != nil {
                if let factor = try StoredFactor(row, from: 2) { factors.append(factor) }
            }
            return FactorHolder(
                user: try result.first?.decode(1, as: UUID?.self).map { ObjectID($0) },
                factors: factors,
                now: try result.first?.decode(0, as: Timestamp.self).storeMoment ?? 0
            )
        }
    }

    /// The passkey of a credential, whoever's it is; nil when it is nobody's.
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
        return try read { () throws(PostgresError) in
            try result.first.flatMap { row throws(PostgresError) in try StoredFactor(row) }
        }
    }
}

extension Timestamp {
    fileprivate var storeMoment: StoreMoment {
        let second = microseconds >= 0 ? microseconds / 1_000_000 : (microseconds - 999_999) / 1_000_000
        return StoreMoment(seconds: second, microseconds: microseconds - second * 1_000_000)
    }
}
