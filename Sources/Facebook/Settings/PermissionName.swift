import Encodings

/// The name of a permission at Facebook, such as `user_birthday`.
package enum PermissionName {
    /// The form of a permission's name in words, for messages.
    package static let form = "1 to 64 characters a to z, 0 to 9 and _, like user_birthday"

    /// Returns whether a text is a valid name: 1 to 64 bytes of `a-z 0-9 _`.
    package static func isValid(_ text: some StringProtocol) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                $0.isASCIIDigit || $0 == UInt8(ascii: "_") || $0.isASCIILowercase
            }
    }
}
