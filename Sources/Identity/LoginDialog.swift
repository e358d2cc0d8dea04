/// What the login dialog is to ask of a person who has logged in before: Facebook's `auth_type`.
package enum DialogAuthType: String, Sendable, CaseIterable {
    /// Ask again for permissions that were declined.
    case rerequest
    /// Ask for the password again.
    case reauthenticate
    /// Renew the access to the person's data.
    case reauthorize
}

/// The name of a permission at Facebook, such as `user_birthday`.
package enum PermissionName {
    /// Whether a text can be one: 1 to 64 bytes of `a-z 0-9 _`.
    package static func isValid(_ text: some StringProtocol) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                $0.isASCIIDigit || $0 == UInt8(ascii: "_") || ($0.isASCIILetter && $0 >= UInt8(ascii: "a"))
            }
    }
}
