package import Domain

/// A kind of encrypted values, as counted in the members of the API and the columns of tables, in their order.
package enum SealedKind: String, Sendable, CaseIterable {
    /// App secrets and secret options.
    case secrets = "count"
    /// Stored provider tokens of identities.
    case tokens
    /// Hashes of passwords.
    case passwords
    /// Secrets of second factors.
    case factors
    /// Keys that sign tokens.
    case tokenKeys
    /// The key of bans.
    case banKeys
    /// Short-lived values: login codes that wait to be exchanged, and mails that wait to be sent.
    case passing

    package var title: String {
        switch self {
        case .secrets: "SECRETS"
        case .tokens: "KEPT TOKENS"
        case .passwords: "PASSWORDS"
        case .factors: "FACTORS"
        case .tokenKeys: "TOKEN KEYS"
        case .banKeys: "BAN KEYS"
        case .passing: "PASSING"
        }
    }
}

/// A column of ciphertexts under master keys (decision D15); the adjacent column has the id of the key.
///
/// The columns in this file are all that exist, in the order of a rotation: they decide what is counted, re-encrypted
/// and bound to its place. The only exceptions are secret options, which are in the JSON of a provider's settings.
/// `federation.master_keys_in_use` of schema.sql names those columns that are in the schema `federation`.
package struct SealedColumn: Sendable {
    package let kind: SealedKind
    package let table: String
    package let name: String
    /// The columns that identify a row within the application.
    let key: [Key]
    var owner = Owner.service
    /// The SQL condition of the rows to consider.
    var condition = "true"
    /// The audit log entry of each rotation step.
    var entry: Entry?
    /// How a rotation treats a ciphertext that cannot be decrypted although its master key is available.
    ///
    /// Nil where a rotation skips the column, since its values expire before the rotation ends.
    var unopened: Unopened?
    /// Returns the place within the table and application that a ciphertext is bound to, from the values of the key.
    package var row: @Sendable ([String]) -> String = { $0.joined(separator: "/") }

    enum Key {
        case text(String)
        case id(String)
        /// Bytes; as text they are base64url.
        case bytes(String)
    }

    /// The owner of a table.
    enum Owner {
        /// The service as a whole: a table in the schema `federation`.
        case service
        /// Applications: a table in the schema `federation` whose rows belong to them.
        case applications
        /// The configurations of applications: a table in the schema `federation` whose rows belong to them.
        ///
        /// As in every change of an application, the application is locked before its rows. Each application gets an
        /// audit log entry, and all instances are notified of the change.
        case configurations
        /// The users of one application: a table in its schema.
        case users
    }

    /// An audit log entry `secrets.reseal`: its target, and the member that contains the number.
    struct Entry {
        let target: String?
        let count: String?
    }

    enum Unopened {
        /// The rotation fails; the operator reads what the value was and how to repair it.
        case refused(@Sendable (SealedValue) -> String, remedy: String)
        /// The row is updated to do without the value.
        case forgotten(String)
        case removed
    }

    /// The column with the id of the master key.
    var keyID: String { "\(name)_key_id" }

    /// Whether each application has its own table with this column.
    package var isOfUsers: Bool { owner == .users }

    /// Whether a rotation re-encrypts the column.
    package var isRotated: Bool { unopened != nil }

    /// Whether the column belongs to the configuration of applications.
    package var isConfiguration: Bool { owner == .configurations }
}

extension SealedColumn {
    package static let all = [
        appSecrets, tokenKeys, banKey, operatorFactors, providerTokens, passwordHashes, factors, mails, loginCodes,
    ]

    package static let appSecrets = SealedColumn(
        kind: .secrets,
        table: "provider_apps",
        name: "secret",
        key: [.text("provider"), .text("app_id")],
        owner: .configurations,
        entry: Entry(target: nil, count: "secrets"),
        unopened: .refused(
            { "The secret of the app \($0.key[1]) at \($0.key[0]) of \($0.owner)" },
            remedy: "Set it anew"
        )
    )

    package static let tokenKeys = SealedColumn(
        kind: .tokenKeys,
        table: "token_keys",
        name: "secret",
        key: [.text("id")],
        owner: .applications,
        entry: Entry(target: "token_keys", count: "tokenKeys"),
        unopened: .removed
    )

    package static let banKey = SealedColumn(
        kind: .banKeys,
        table: "ban_key",
        name: "secret",
        key: [],
        entry: Entry(target: "ban_key", count: nil),
        unopened: .refused(
            { _ in "The key of bans" },
            remedy: "Remove it from the table federation.ban_key, which ends all bans, restart the instances"
        )
    )

    package static let operatorFactors = SealedColumn(
        kind: .factors,
        table: "operator_factors",
        name: "secret",
        key: [.id("object_id"), .id("id")],
        entry: Entry(target: "factors", count: "factors"),
        unopened: .refused({ "The second factor \($0.key[1]) of an operator" }, remedy: removalOfFactors)
    )

    package static let providerTokens = SealedColumn(
        kind: .tokens,
        table: "identities",
        name: "token",
        key: [.text("provider"), .text("provider_app"), .text("subject")],
        owner: .users,
        entry: Entry(target: "identities", count: "tokens"),
        // The next login brings a new token.
        unopened: .forgotten(Store.noToken),
        row: { IdentityKey(provider: $0[0], app: $0[1], subject: $0[2])?.path ?? $0.joined(separator: "/") }
    )

    package static let passwordHashes = SealedColumn(
        kind: .passwords,
        table: "passwords",
        name: "hash",
        key: [.id("object_id")],
        owner: .users,
        entry: Entry(target: "passwords", count: "passwords"),
        unopened: .refused(
            { "The password of the user \($0.key[0]) of \($0.owner)" },
            remedy: "Remove it from the table passwords, so that the user can set another"
        )
    )

    /// Includes removed factors that a reversal may restore.
    package static let factors = SealedColumn(
        kind: .factors,
        table: "factors",
        name: "secret",
        key: [.id("object_id"), .id("id")],
        owner: .users,
        entry: Entry(target: "factors", count: "factors"),
        unopened: .refused(
            { "The second factor \($0.key[1]) of the user \($0.key[0]) of \($0.owner)" },
            remedy: removalOfFactors
        )
    )

    private static let removalOfFactors = """
        Take it away (federation delete applications/APP/users/ID/factors, federation delete operators/NAME/factors)
        """

    /// Mails that are waiting or being sent; an instance that is sending one has already read it.
    package static let mails = SealedColumn(
        kind: .passing,
        table: "mails",
        name: "content",
        key: [.id("id")],
        owner: .users,
        condition: "state in ('waiting', 'sending')",
        unopened: .forgotten(
            "state = 'failed', done = now(), content = '', problem = 'it does not open under its master key'"
        )
    )

    package static let loginCodes = SealedColumn(
        kind: .passing,
        table: "single_use",
        name: "payload",
        key: [.text("kind"), .bytes("hash")],
        owner: .users,
        condition: "expires > now()"
    )
}

/// A ciphertext with its location.
package struct SealedValue: Sendable {
    package let column: SealedColumn
    /// Nil for a value of the service itself.
    package let application: ApplicationID?
    /// The values of the columns in the column's `key`.
    package let key: [String]
    package let secret: SealedSecret

    fileprivate var owner: String { application?.text ?? "" }
}
