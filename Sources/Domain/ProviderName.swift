import Encodings

/// The name of an identity provider, in documents, tables and paths: `facebook`, `staff-sso`.
///
/// 1 to 32 bytes of `a-z 0-9 -`, beginning with a letter and not ending with `-`.
package struct ProviderName: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    /// Nil when the text does not follow the rule.
    package init?(_ text: some StringProtocol) {
        let bytes = text.utf8
        let dash = UInt8(ascii: "-")
        guard (1...32).contains(bytes.count), let first = bytes.first, first.isASCIILowercase,
            bytes.allSatisfy({ $0.isASCIILowercase || $0.isASCIIDigit || $0 == dash }), !text.hasSuffix("-")
        else { return nil }
        self.text = String(text)
    }

    /// A name in the service's source code.
    package init(known text: StaticString) {
        self.text = text.description
    }

    /// `password`, which stands for the login method in place of a provider's name.
    package static let password = ProviderName(known: "password")

    /// Whether the name follows the rule but no new provider may have it.
    ///
    /// Users of a provider `backendless` would count as users who registered themselves. The other names are, or may
    /// become, fixed parts of paths. The name is checked only when a provider is created, so an existing provider keeps
    /// its name.
    package var isReserved: Bool { Self.reserved.contains(text) }

    private static let reserved: Set<String> = ["app-config", "backendless", "defaults", "oauth"]

    /// The name that client SDKs give to the provider of a user's account.
    package var socialAccount: String { text.uppercased() }

    package var description: String { text }
}

extension Failure {
    /// The failure for a name that no provider has.
    package static let noSuchProvider = Failure(.notFound, "This login provider does not exist.")
}

/// How a provider's token is kept.
package enum TokenKeeping: Sendable {
    case asItIs
    /// The token is exchanged for one that lives longer.
    case exchanged
}

/// The id of an app at a provider, which is the client id in OpenID Connect.
///
/// 1 to 255 bytes of `a-z A-Z 0-9 _ - . / :`, compared as bytes.
package struct ProviderAppID: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    /// Nil when the text does not follow the rule; a provider may have a narrower one.
    package init?(_ text: String) {
        guard (1...255).contains(text.utf8.count),
            text.utf8.allSatisfy({ $0.isASCIIAlphanumeric || $0.isOne(of: "_-./:") })
        else { return nil }
        self.text = text
    }

    private init(known text: StaticString) {
        self.text = text.description
    }

    /// The app in identities of a provider whose subjects are the same in every app.
    package static let global = ProviderAppID(known: "global")

    package var description: String { text }

    /// The id with its slashes encoded, for texts in which a slash ends the id.
    fileprivate var segment: String {
        text.split(separator: "/", omittingEmptySubsequences: false).joined(separator: "%2F")
    }
}

/// An app at a provider, with its secret.
package struct ProviderApp: Sendable {
    package let id: ProviderAppID
    package let secret: Secret
    /// The id of the configuration that the provider applies to the login dialog; nil for none.
    package let configID: String?

    package init(id: ProviderAppID, secret: Secret, configID: String? = nil) {
        self.id = id
        self.secret = secret
        self.configID = configID
    }
}

/// The form of a provider kind's subjects.
package struct SubjectRule: Sendable {
    /// Whether subjects are decimal numbers.
    package let isDecimal: Bool
    /// Whether a subject stands for the same user in every app.
    package let isGlobal: Bool

    package init(isDecimal: Bool = false, isGlobal: Bool = false) {
        self.isDecimal = isDecimal
        self.isGlobal = isGlobal
    }

    /// Reads a text as a subject; nil when it cannot be one.
    package func subject(_ text: String) -> Subject? { isDecimal ? Subject(decimal: text) : Subject(text) }
}

/// The key of an identity, by which a user of an application is found (decision D1).
package struct IdentityKey: Sendable, Hashable {
    package let provider: ProviderName
    /// The app at the provider within which the subject is unique.
    package let app: ProviderAppID
    package let subject: Subject

    package init(provider: ProviderName, app: ProviderAppID, subject: Subject) {
        self.provider = provider
        self.app = app
        self.subject = subject
    }

    /// The three parts as one text that no other identity has.
    ///
    /// Slashes end the first two parts. A provider's name has no slash. Slashes of an app's id are encoded as `%2F`;
    /// the id itself cannot contain `%`.
    package var path: String { "\(provider)/\(app.segment)/\(subject)" }
}
