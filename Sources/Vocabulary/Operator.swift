/// What an operator may do; each role includes the ones before it.
package enum OperatorRole: String, Sendable, CaseIterable, Comparable {
    /// Reads everything but secrets.
    case viewer
    /// Changes mappings and properties, disables users and ends sessions.
    case editor
    /// Changes applications, keys, providers, secrets and operators, and erases users.
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

    /// Nil when the text does not follow the rule.
    package init?(_ text: some StringProtocol) {
        let bytes = text.utf8
        guard (1...64).contains(bytes.count), let first = bytes.first, first.isASCIIAlphanumeric,
            bytes.allSatisfy({ $0.isASCIIAlphanumeric || $0.isOne(of: ".-_@+") })
        else { return nil }
        self.text = String(text)
    }

    package var description: String { text }
}

/// Who changes something, for the audit log.
package struct Actor: Sendable {
    /// An operator's name, or `cli:` and the name of the system's user.
    package let name: String
    /// Where the change comes from: an IP address, or the name of the host on which the command ran.
    package let source: String

    package init(name: String, source: String) {
        self.name = name
        self.source = source
    }
}

/// The bearer token of an operator: `fedop_` and 256 random bits as 43 characters of base64url.
///
/// The prefix lets scanners for leaked secrets find it.
package struct OperatorToken: Sendable {
    package static let prefix = "fedop_"

    package let secret: Secret

    /// Takes 32 random bytes.
    package init(random bytes: [UInt8]) {
        secret = Secret(Self.prefix + Base64URL.encode(bytes))
    }

    /// A token that somebody sent; nil when it cannot be one of ours, which saves asking the database.
    package init?(received text: some StringProtocol) {
        guard text.utf8.count == Self.prefix.utf8.count + 43, text.utf8.starts(with: Self.prefix.utf8),
            text.utf8.dropFirst(Self.prefix.utf8.count).allSatisfy(Base64URL.isCharacter)
        else { return nil }
        secret = Secret(String(text))
    }
}
