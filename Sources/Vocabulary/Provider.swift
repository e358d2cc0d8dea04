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

    /// A name in a source of ours.
    package init(known text: StaticString) {
        self.text = text.description
    }

    /// No provider, but a login method as those are.
    package static let password = ProviderName(known: "password")

    /// Whether no provider gets the name, although it follows the rule: users of one called `backendless` would count
    /// as those who registered themselves, and the others are, or may become, fixed parts of paths.
    ///
    /// Asked when a provider is made; one that is there already goes on.
    package var isReserved: Bool { Self.reserved.contains(text) }

    private static let reserved: Set<String> = ["app-config", "backendless", "defaults", "oauth"]

    /// As client SDKs name the account that a user came by.
    package var socialAccount: String { text.uppercased() }

    package var description: String { text }
}

extension Failure {
    /// The answer to a name that is no provider's.
    package static let noSuchProvider = Failure(.notFound, "There is no such login provider.")
}

/// What becomes of a kept token.
package enum TokenKeeping: Sendable {
    case asItIs
    /// It is exchanged for one that lives longer.
    case exchanged
}

/// The id of an application's app at a provider, in OpenID Connect the client id.
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

    /// Stands in identities of a provider whose subjects are the same for every app.
    package static let global = ProviderAppID(known: "global")

    package var description: String { text }

    /// The id without a slash, for texts whose parts end with one.
    fileprivate var segment: String {
        text.split(separator: "/", omittingEmptySubsequences: false).joined(separator: "%2F")
    }
}

/// An app at a provider whose secret we hold.
package struct ProviderApp: Sendable {
    package let id: ProviderAppID
    package let secret: Secret
    /// Which of the configurations that the operator made at the provider its login dialog follows; nil for none.
    package let configID: String?

    package init(id: ProviderAppID, secret: Secret, configID: String? = nil) {
        self.id = id
        self.secret = secret
        self.configID = configID
    }
}

/// How a kind of provider tells people apart.
package struct SubjectRule: Sendable {
    /// Whether subjects are numbers.
    package let isDecimal: Bool
    /// Whether a subject stands for the same person in every app.
    package let isGlobal: Bool

    package init(isDecimal: Bool = false, isGlobal: Bool = false) {
        self.isDecimal = isDecimal
        self.isGlobal = isGlobal
    }

    /// The subject that a text is; nil for none.
    package func subject(_ text: String) -> Subject? { isDecimal ? Subject(decimal: text) : Subject(text) }
}

/// What makes a person one of an application's (decision D1).
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
    /// Two slashes end the first two parts: a provider's name has none, and those of an app's id stand as `%2F`, whose
    /// `%` it cannot have.
    package var path: String { "\(provider)/\(app.segment)/\(subject)" }
}
