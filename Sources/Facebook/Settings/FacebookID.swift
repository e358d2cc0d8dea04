import Encodings

/// The form of Facebook's numeric ids: of apps, and of configurations of Facebook Login for Business.
package enum FacebookID {
    /// The form of an id in words, for messages.
    package static let form = "1 to 32 digits"

    package static func isValid(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count) && text.utf8.allSatisfy(\.isASCIIDigit)
    }
}
