import Encodings

/// The name of an identity provider, in documents, tables and paths: `facebook`, `staff-sso`.
///
/// 1 to 32 bytes of `a-z 0-9 -`, beginning with a letter and not ending with `-`.
package struct ProviderName: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    /// Creates a provider's name; nil unless the text has the form of names such as `staff-sso`, with at most 32 bytes.
    package init?(_ text: some StringProtocol) {
        let bytes = text.utf8
        let dash = UInt8(ascii: "-")
        guard (1...32).contains(bytes.count), let first = bytes.first, first.isASCIILowercase,
            bytes.allSatisfy({ $0.isASCIILowercase || $0.isASCIIDigit || $0 == dash }), !text.hasSuffix("-")
        else { return nil }
        self.text = String(text)
    }

    /// Creates a name from a literal in the service's source code that is known to follow the rule.
    package init(known text: StaticString) {
        self.text = text.description
    }

    /// The name `password`, which stands in place of a provider's name for a login by password.
    package static let password = ProviderName(known: "password")

    /// Whether the name follows the rule but no new provider may have it.
    ///
    /// Users of a provider `backendless` would count as users who registered themselves. The other names are, or may
    /// become, fixed parts of paths. The name is checked only when a provider is created, so an existing provider keeps
    /// its name.
    package var isReserved: Bool { Self.reserved.contains(text) }

    private static let reserved: Set<String> = ["app-config", "backendless", "defaults", "oauth"]

    /// The provider as client SDKs write it in the user object, such as `FACEBOOK`.
    package var socialAccount: String { text.uppercased() }

    package var description: String { text }
}

extension Failure {
    /// The failure for a name that no provider has.
    package static let noSuchProvider = Failure(.notFound, "This login provider does not exist.")
}

/// How the service keeps a provider's access token.
package enum TokenKeeping: Sendable {
    case asItIs
    /// The service exchanges the token at the provider for a token that lives longer.
    case exchanged
}

/// The id of an app at a provider, which is the client id in OpenID Connect.
///
/// 1 to 255 bytes of `a-z A-Z 0-9 _ - . / :`, compared as bytes.
package struct ProviderAppID: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    /// Creates an app's id; nil unless the text has 1 to 255 of the allowed characters.
    ///
    /// A provider may have a narrower rule.
    package init?(_ text: String) {
        guard (1...255).contains(text.utf8.count),
            text.utf8.allSatisfy({ $0.isASCIIAlphanumeric || $0.isOne(of: "_-./:") })
        else { return nil }
        self.text = text
    }

    private init(known text: StaticString) {
        self.text = text.description
    }

    /// The placeholder for the app in identities of a provider whose subjects are the same in every app.
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

/// The rule for the ids of users (subjects) at providers of one kind.
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

    /// The provider, the app and the subject as one text, which differs for each identity.
    ///
    /// One slash follows the provider, another the app. A provider's name has no slash. Slashes of an app's id are
    /// encoded as `%2F`; the id itself cannot contain `%`.
    package var path: String { "\(provider)/\(app.segment)/\(subject)" }
}
