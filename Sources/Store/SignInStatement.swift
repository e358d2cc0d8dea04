package import Vocabulary
package import Postgres

/// The sign-in write of one application and one mapping plan as SQL: identity, user and session in one statement, one
/// round trip.
///
/// How it reads, CTE by CTE:
/// - `known`: the identity as it was when the statement began, for the values that the mapping wrote last;
/// - `before`: the user as it is now, locked, and what the mapping makes of it: what follows decides by these values
///   alone, so a user who is disabled or edited meanwhile is seen by all parts or by none. `identity` waits for the
///   lock: whoever deletes a user locks it first and its identities after that, and who locks in another order ends in
///   a deadlock;
/// - `identity`: inserts the identity or touches it. The row that wins the unique key decides who the person is: a
///   fresh `object_id` comes back only from the insert that won. An identity of a disabled user is not touched and does
///   not come back, nor is one that was revoked since a credential that counts once was issued, nor one that is not the
///   locked user's: somebody has linked it to another since the statement began. One that is banned is not inserted,
///   and neither is one that was erased while the statement waited for its user: the next run sees whether that was a
///   ban;
/// - `created`: the user, only when the identity was inserted; `changed`: else the update by the sync rules;
/// - `seen`, `nonce`: for a credential that counts once (`.once`): the first attempt that names it owns it, and only
///   the owner's statement goes on; see `SingleUse`;
/// - `session`: only for a user of the two above; when it is there already, the same login came again, or the user of a
///   session has shown once more who they are;
/// - `previous`, `surplus`: end the sessions that the login takes the place of, and the oldest of too many; see
///   `SessionEnding`.
///
/// Each part finds its rows by a key that it has as a value, from a parameter or a scalar subquery, and joins no table:
/// so the index of the key serves it whatever the statistics say. A join would be planned by them, and where they are
/// from a table of one row, reading the whole of another costs no more than looking a row up.
///
/// A statement sees the snapshot of its own start. A login that lost the race for a new person therefore finds the
/// winner's identity but not yet the winner's user, and `person` is empty although nobody is disabled: `SignInWrite`
/// runs it once more.
package struct SignInStatement: Sendable {
    /// A property that the plan writes, with the type of its column.
    package struct Target: Sendable {
        package let name: PropertyName
        package let type: PropertyType
        package let sync: SyncMode
        /// Whether a write may empty it.
        package let mayBeCleared: Bool

        package init(name: PropertyName, type: PropertyType, sync: SyncMode, mayBeCleared: Bool = false) {
            self.name = name
            self.type = type
            self.sync = sync
            self.mayBeCleared = mayBeCleared
        }
    }

    /// How often the credential of a login may be used.
    package enum Use: Sendable {
        /// Facebook says at each use whether it stands.
        case repeated
        /// It counts once, and using it is part of the write.
        case once
    }

    package let targets: [Target]
    package let use: Use
    let application: Application
    let provider: ProviderName
    /// How the provider's token is stored with the identity.
    let tokens: TokenKeeping?
    let columns: UserColumns
    private let template: StatementTemplate<SignInWrite>

    /// The text with its placeholders.
    package var sql: String { template.sql }
    /// The names of the placeholders' values, in their order.
    package var parameters: [String] { template.parameters }

    /// Names of parameters that differ from login to login of the same person; the last one is there only where `use`
    /// is `once`.
    package static let freshIDParameter = "fresh_id"
    package static let tokenHashParameter = "token_hash"
    package static let credentialHashParameter = "credential_hash"

    /// Generates the statement.
    ///
    /// - Parameters:
    ///   - application: gives the schema and the columns that come back.
    ///   - provider: whose credential it is.
    ///   - tokens: how the provider's token is stored with the identity; nil where it is not.
    ///   - targets: what the mapping plan writes, each a declared property, none twice.
    ///   - use: of which kind of credential the login is.
    package init(
        application: Application,
        provider: ProviderName,
        tokens: TokenKeeping?,
        targets: [Target],
        use: Use = .repeated
    ) {
        self.application = application
        self.provider = provider
        self.tokens = tokens
        self.targets = targets
        self.use = use
        columns = UserColumns(application: application)
        let text = SignInText(
            application: application,
            provider: provider,
            tokens: tokens,
            targets: targets,
            use: use
        )
        template = StatementTemplate(text.statement)
    }

    /// The statement with the values of a login.
    package func filled(with write: SignInWrite) -> Statement { template.filled(with: write) }

    /// Why the statement wrote no user, in its first column; without one, and without a user, it has to run again.
    enum Refusal: String {
        case disabled
        case replayed
        case nonceUnusable
        /// The provider issued it before it ended our access.
        case ended
    }
}

/// Quotes an identifier, which comes from declared names only.
func quoted(_ identifier: String) -> String { Statement.quoted(identifier: identifier) }

/// Quotes a text of the configuration as a text literal.
func literal(_ text: String) -> String { Statement.quoted(literal: text) }

/// Quotes a declared name as a text literal.
func literal(_ name: PropertyName) -> String { literal(name.text) }
