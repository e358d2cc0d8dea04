import Encodings

/// The role of an operator; each role includes the ones before it.
package enum OperatorRole: String, Sendable, CaseIterable, Comparable {
    /// May read everything except secrets.
    case viewer
    /// May change mappings and properties, disable users and revoke sessions.
    case editor
    /// May change applications, keys, providers, secrets and operators, and erase users.
    case owner

    package static func < (left: OperatorRole, right: OperatorRole) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .viewer: 0
        case .editor: 1
        case .owner: 2
        }
    }
}

/// The name of an operator: 1 to 64 bytes of ASCII letters, digits and `.-_@+`, beginning with a letter or digit.
package struct OperatorName: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    /// Creates an operator's name; nil unless the text has 1 to 64 of the allowed characters and begins with a letter
    /// or digit.
    package init?(_ text: some StringProtocol) {
        let bytes = text.utf8
        guard (1...64).contains(bytes.count), let first = bytes.first, first.isASCIIAlphanumeric,
            bytes.allSatisfy({ $0.isASCIIAlphanumeric || $0.isOne(of: ".-_@+") })
        else { return nil }
        self.text = String(text)
    }

    package var description: String { text }
}

/// The author of a change, for the audit log.
package struct ChangeAuthor: Sendable {
    /// The name of an operator; or a kind and a name, such as `cli:` and the name of the operating system's user.
    package let name: String
    /// The source of the change: an IP address, or the name of the host on which the command ran.
    package let source: String

    package init(name: String, source: String) {
        self.name = name
        self.source = source
    }
}

/// The bearer token of an operator: `fedop_` and 256 random bits as 43 characters of base64url.
///
/// The prefix lets scanners for leaked secrets find such tokens.
package struct OperatorToken: Sendable {
    package static let prefix = "fedop_"

    package let secret: Secret

    /// Creates a token from 32 random bytes.
    package init(random bytes: [UInt8]) {
        secret = Secret(Self.prefix + Base64URL.encode(bytes))
    }

    /// Reads a received token; nil when the form is wrong.
    ///
    /// The service then need not query the database.
    package init?(received text: some StringProtocol) {
        guard text.utf8.count == Self.prefix.utf8.count + 43, text.utf8.starts(with: Self.prefix.utf8),
            text.utf8.dropFirst(Self.prefix.utf8.count).allSatisfy(Base64URL.isCharacter)
        else { return nil }
        secret = Secret(String(text))
    }
}

/// The operator who calls the administration API, with a valid token.
package struct CallingOperator: Sendable {
    package let name: OperatorName
    package let role: OperatorRole
    package let id: ObjectID
    /// SHA-256 of the token.
    package let tokenHash: [UInt8]
    package let purpose: OperatorTokenPurpose
    /// Whether the token belongs to a program.
    package let isMachine: Bool
    /// Whether the operator has a second factor.
    package let hasFactor: Bool
    /// Seconds since the operator last used a second factor with this token; nil if the operator has used none.
    package let factorShownAgo: Int64?

    package init(
        name: OperatorName,
        role: OperatorRole,
        id: ObjectID,
        tokenHash: [UInt8],
        purpose: OperatorTokenPurpose,
        isMachine: Bool,
        hasFactor: Bool,
        factorShownAgo: Int64?
    ) {
        self.name = name
        self.role = role
        self.id = id
        self.tokenHash = tokenHash
        self.purpose = purpose
        self.isMachine = isMachine
        self.hasFactor = hasFactor
        self.factorShownAgo = factorShownAgo
    }

    /// Returns whether the operator meets a demand for a second factor.
    ///
    /// Programs, and operators who have no second factor, always meet it.
    package func satisfies(_ demand: OperatorFactorDemand) -> Bool {
        guard let seconds = demand.seconds, hasFactor, !isMachine else { return true }
        return factorShownAgo.map { $0 <= seconds } ?? false
    }
}

/// The purpose of an operator's token, by its name in the database.
package enum OperatorTokenPurpose: String, Sendable, CaseIterable {
    /// For calls of the administration API.
    case calls
    /// For a link that opens one session of the console; single-use.
    case link
    /// For a session of the console in a browser.
    case session

    /// How many tokens for this purpose an operator may have; the limit keeps lists short.
    package var max: Int {
        switch self {
        case .calls: 100
        case .link, .session: 20
        }
    }
}

/// How recently an operator who has a second factor must have used it.
///
/// The raw value is the name in the OpenAPI document.
package enum OperatorFactorDemand: String, Sendable, CaseIterable {
    /// No second factor is needed, as in the calls by which an operator uses one.
    case none
    case within12Hours
    /// For changes that cannot be undone, and for changes that create a way to log in.
    case within5Minutes

    /// The maximum number of seconds since the operator last used a second factor; nil if none is needed.
    package var seconds: Int64? {
        switch self {
        case .none: nil
        case .within12Hours: 12 * 3600
        case .within5Minutes: 300
        }
    }
}

extension Failure {
    /// The failure of a request that only a human may make, such as the creation of a token for a human.
    ///
    /// The request was sent with the token of a program.
    package static let personRequired = Failure(
        .operatorForbidden,
        """
        This request is not allowed with a program's token. Create a token for a human with federation set \
        operators/NAME/tokens, or with POST /admin/v1/operators/{name}/tokens.
        """
    )
}
