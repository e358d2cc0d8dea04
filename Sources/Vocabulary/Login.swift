/// What a person logs in by with a password: a value of the application's identity property.
package struct Login: Sendable, CustomStringConvertible {
    /// As it was written; the property has this value.
    package let text: String
    /// The one spelling by which logins are compared, of at most 255 bytes.
    package let key: String

    /// The address where the property is `email`, to which mails go then.
    package let email: EmailAddress?

    private init(text: String, key: String, email: EmailAddress?) {
        self.text = text
        self.key = key
        self.email = email
    }

    package init(_ email: EmailAddress) {
        self.init(text: email.text, key: email.login, email: email)
    }

    /// Nil when nobody can log in by the text: of `email` what is no address; of another property what is empty or
    /// longer than 255 bytes, holds a character that shows nothing, or has white space around it.
    ///
    /// Letters count the same in either case, in Unicode's form NFC. Two texts that fold into one are one login, so
    /// nobody gets a second one that looks to the database like another's (T-38).
    package init?(_ text: some StringProtocol, of property: PropertyName) {
        guard property != .email else {
            guard let email = EmailAddress(text) else { return nil }
            self.init(email)
            return
        }
        guard (1...Self.mostBytes).contains(text.utf8.count) else { return nil }
        let text = String(text)
        let scalars = text.unicodeScalars
        guard scalars.allSatisfy(Self.isShown), let first = scalars.first, let last = scalars.last,
            !first.properties.isWhitespace, !last.properties.isWhitespace
        else { return nil }
        let key = text.normalized.lowercased().normalized
        guard key.utf8.count <= Self.mostBytes else { return nil }
        self.init(text: text, key: key, email: nil)
    }

    /// The login is personal: it is asked for by `text` or `key` where it belongs.
    package var description: String { "•••" }

    /// What the column takes, and an index.
    private static let mostBytes = 255

    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}

extension Application {
    /// What a text stands for as a login of this application; nil when nobody can log in by it.
    package func login(_ text: some StringProtocol) -> Login? { Login(text, of: settings.identityProperty) }

    /// What the value of the identity property of a user stands for; nil where there is none that could be one.
    package func login(of user: User) -> Login? { user.text(of: settings.identityProperty).flatMap { login($0) } }
}
