import Encodings

/// A login name: the value of the application's identity property by which a user logs in with a password.
package struct Login: Sendable, CustomStringConvertible {
    /// The login name as it was written, which is the property's value.
    package let text: String
    /// The normalized login name by which login names are compared, at most 255 bytes.
    package let key: String

    /// The login name as an e-mail address, to which mails go; nil unless the identity property is `email`.
    package let email: EmailAddress?

    private init(text: String, key: String, email: EmailAddress?) {
        self.text = text
        self.key = key
        self.email = email
    }

    package init(_ email: EmailAddress) {
        self.init(text: email.text, key: email.login, email: email)
    }

    /// Creates a login name; nil when the text cannot be one.
    ///
    /// For `email`, the text must be an e-mail address. For another property, the text must have 1 to 255 bytes, no
    /// invisible character, and no white space at its ends.
    ///
    /// Login names are compared in lower case and in Unicode's form NFC. Two texts that are equal in this form are one
    /// login name, which only one user can have (T-38).
    package init?(_ text: some StringProtocol, of property: PropertyName) {
        guard property != .email else {
            guard let email = EmailAddress(text) else { return nil }
            self.init(email)
            return
        }
        guard (1...Self.maxBytes).contains(text.utf8.count) else { return nil }
        let text = String(text)
        let scalars = text.unicodeScalars
        guard scalars.allSatisfy(Self.isShown), let first = scalars.first, let last = scalars.last,
            !first.properties.isWhitespace, !last.properties.isWhitespace
        else { return nil }
        let key = text.normalized.lowercased().normalized
        guard key.utf8.count <= Self.maxBytes else { return nil }
        self.init(text: text, key: key, email: nil)
    }

    /// A placeholder, since the login name is personal; code that needs the login name uses `text` or `key`.
    package var description: String { "•••" }

    /// The maximum number of bytes of a login name, which is the limit of the database column and of its index.
    private static let maxBytes = 255

    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}

extension Application {
    /// Reads a text as a login name of this application; nil when it cannot be one.
    package func login(_ text: some StringProtocol) -> Login? { Login(text, of: settings.identityProperty) }

    /// Returns the login name of a user, which is the identity property's value; nil when it cannot be a login name.
    package func login(of user: User) -> Login? { user.text(of: settings.identityProperty).flatMap { login($0) } }
}
