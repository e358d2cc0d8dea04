package import Description
import Encodings

/// The names of the key by which Apple's client secrets are signed; the key itself is a secret option.
package struct SigningKeyOptions: Sendable, Equatable {
    /// The id of the operator's team at Apple.
    package var teamID = ""
    /// The id of the key.
    package var keyID = ""

    package init() {}

    /// Describes the members.
    package static let description = ObjectDescription(
        SigningKeyOptions(),
        unknown: "is not a member of a signing key",
        [
            Field("teamId", \.teamID, .text(rule), "Team id", "The team's id in Apple's account.", isRequired: true),
            Field("keyId", \.keyID, .text(rule), "Key id", "The id of the key.", isRequired: true),
        ]
    )

    private static let rule = TextRule(
        "must be an id of 10 upper-case letters and digits, like AB12CD34EF",
        pattern: "^[A-Z0-9]{10}$",
        example: "AB12CD34EF"
    ) { text in
        text.utf8.count == 10
            && text.utf8.allSatisfy { $0.isASCIIDigit || ($0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z")) }
    }
}
