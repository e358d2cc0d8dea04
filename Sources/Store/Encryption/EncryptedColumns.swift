package import Domain

/// A kind of encrypted values, for counting them.
///
/// In responses of the API, the raw value names the member with the number of values of the kind. The command
/// `federation secrets status` prints a column for each kind, with the kind's title, in the order of the cases.
package enum EncryptedKind: String, Sendable, CaseIterable {
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
    /// The key for the hashes by which banned identities are recognized.
    case banKeys
    /// Short-lived values: login codes that wait to be exchanged, mails that wait to be sent, and records by which a
    /// merge of users can be undone.
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

/// A database column whose values are encrypted with master keys (decision D15).
///
/// The adjacent column `keyID` has the id of each value's master key.
///
/// This file lists all such columns, in the order in which a rotation of the master key processes them. The list
/// decides which values are counted, re-encrypted and bound to their rows. The only exceptions are secret options,
/// which are in the JSON of a provider's settings. `federation.master_keys_in_use` of schema.sql names those columns
/// that are in the schema `federation`.
package struct EncryptedColumn: Sendable {
    package let kind: EncryptedKind
    package let table: String
    package let name: String
    /// The columns that identify a row within the application.
    let key: [Key]
    var owner = Owner.service
    /// The SQL condition for the rows whose ciphertexts are counted and re-encrypted.
    var condition = "true"
    /// The audit log entry of each rotation step; nil if no entry is written.
    var entry: Entry?
    /// How a rotation treats a ciphertext that cannot be decrypted although its master key is available.
    ///
    /// Nil if a rotation skips the column. The values of such a column expire before the rotation ends.
    var unopened: Unopened?
    /// Returns the text that binds a ciphertext to its row, given the values of the columns in `key`.
    ///
    /// The text is unique within the table and the application.
    package var row: @Sendable ([String]) -> String = { $0.joined(separator: "/") }

    enum Key {
        case text(String)
        case id(String)
        /// A column of bytes; its values are written as base64url.
        case bytes(String)
    }

    /// The owner of a table's rows: the service, an application, an application's configuration, or its users.
    enum Owner {
        /// The service as a whole: the table is in the schema `federation`.
        case service
        /// The applications: the table is in the schema `federation`, and each row belongs to one application.
        case applications
        /// The configurations of applications: the table is in the schema `federation`, and each row belongs to one
        /// application.
        ///
        /// A rotation locks the application's row before its rows in this table, like every change of an application.
        /// Each application gets an audit log entry, and all instances are notified of the change.
        case configurations
        /// The users of one application: the table is in the application's schema.
        case users
    }

    /// The variable parts of an audit log entry `secrets.reencrypt`.
    ///
    /// They are the target, and the name of the member with the number of values.
    struct Entry {
        let target: String?
        let count: String?
    }

    enum Unopened {
        /// The rotation fails.
        ///
        /// The failure tells the operator what the value was and how to repair it.
        case refused(@Sendable (EncryptedValue) -> String, remedy: String)
        /// The rotation removes the value from its row by these SQL assignments, since the service can do without it.
        case forgotten(String)
        case removed
    }

    /// The name of the column with the ids of the master keys.
    var keyID: String { "\(name)_key_id" }

    /// Whether each application has its own table with this column.
    package var isOfUsers: Bool { owner == .users }

    /// Whether a rotation re-encrypts the column.
    package var isRotated: Bool { unopened != nil }

    /// Whether the column belongs to the configuration of applications.
    package var isConfiguration: Bool { owner == .configurations }
}

extension EncryptedColumn {
    package static let all = [
        appSecrets, tokenKeys, banKey, operatorFactors, providerTokens, passwordHashes, factors, merges, mails,
        loginCodes,
    ]

    package static let appSecrets = EncryptedColumn(
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

    package static let tokenKeys = EncryptedColumn(
        kind: .tokenKeys,
        table: "token_keys",
        name: "secret",
        key: [.text("id")],
        owner: .applications,
        entry: Entry(target: "token_keys", count: "tokenKeys"),
        unopened: .removed
    )

    package static let banKey = EncryptedColumn(
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

    package static let operatorFactors = EncryptedColumn(
        kind: .factors,
        table: "operator_factors",
        name: "secret",
        key: [.id("object_id"), .id("id")],
        entry: Entry(target: "factors", count: "factors"),
        unopened: .refused({ "The second factor \($0.key[1]) of an operator" }, remedy: removalOfFactors)
    )

    package static let providerTokens = EncryptedColumn(
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

    package static let passwordHashes = EncryptedColumn(
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

    /// The secrets of users' second factors, including those of removed factors that a reversal may restore.
    package static let factors = EncryptedColumn(
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

    /// The records by which merges of users can be undone.
    package static let merges = EncryptedColumn(
        kind: .passing,
        table: "merged_users",
        name: "record",
        key: [.id("object_id")],
        owner: .users,
        unopened: .forgotten("record = null, record_key_id = null")
    )

    /// The contents of mails that are waiting or being sent.
    ///
    /// An instance that is sending a mail has already read its content.
    package static let mails = EncryptedColumn(
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

    package static let loginCodes = EncryptedColumn(
        kind: .passing,
        table: "single_use",
        name: "payload",
        key: [.text("kind"), .bytes("hash")],
        owner: .users,
        condition: "expires > now()"
    )
}

/// A ciphertext with its location.
package struct EncryptedValue: Sendable {
    package let column: EncryptedColumn
    /// The application that the value belongs to; nil for a value of the service itself.
    package let application: ApplicationID?
    /// The values of the columns that identify the row (`EncryptedColumn.key`), as texts in their order.
    package let key: [String]
    package let secret: EncryptedSecret

    fileprivate var owner: String { application?.text ?? "" }

    /// A row with an encrypted column: the column, the application, and the values of the columns in `key`.
    package struct Row: Sendable {
        package let column: EncryptedColumn
        package let application: ApplicationID
        package let key: [String]
    }
}
