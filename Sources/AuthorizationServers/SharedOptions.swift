package import Description
import Domain
package import Encodings
package import Providers

/// The options that all kinds of authorization servers have.
package enum SharedOptions {
    /// The displayed name of the provider.
    ///
    /// - Parameters:
    ///   - path: The property with the name.
    ///   - otherwise: The name of a provider without the option, within a sentence.
    /// - Returns: The field.
    package static func title<Owner>(
        _ path: any WritableKeyPath<Owner, String?> & Sendable,
        otherwise: String
    ) -> Field<Owner> {
        Field(
            "title",
            path,
            Codec<String>.text(.line(60, example: "Staff")).orNull,
            "Displayed name",
            "The name of the provider on pages and in messages. null: \(otherwise)."
        )
    }

    /// The scopes that the login dialog asks for.
    package static func scopes<Owner>(
        _ path: any WritableKeyPath<Owner, [String]?> & Sendable,
        _ meaning: String
    ) -> Field<Owner> {
        Field("scopes", path, Scopes.codec.orNull, "Scopes", meaning)
    }

    package static func keepTokens<Owner>(_ path: any WritableKeyPath<Owner, Bool> & Sendable) -> Field<Owner> {
        Field(
            "keepTokens",
            path,
            .flag,
            "Keep tokens",
            """
            Whether the service keeps the refresh token of a login, encrypted, checks it daily, and revokes it when the \
            user is deleted or the identity is unlinked.
            """
        )
    }

    package static func refreshHours<Owner>(_ path: any WritableKeyPath<Owner, Int64?> & Sendable) -> Field<Owner> {
        Field(
            "refreshHours",
            path,
            Codec<Int64>.integer(24...8760, "hours").orNull,
            "Hours until the profile is read again",
            """
            After how many hours the service reads the profile again by the kept token, and maps it. null: never. \
            Needs keepTokens.
            """
        )
    }

    /// Checks that the options are valid together.
    package static func check(
        keepTokens: Bool,
        _ refreshHours: Int64?,
        at place: JSONPointer,
        _ problems: inout DocumentProblems
    ) {
        if refreshHours != nil, !keepTokens { problems.add(place / "refreshHours", "needs keepTokens") }
    }
}

extension TextRule {
    /// The rule for a text of one line.
    static func line(_ max: Int, example: String? = nil) -> TextRule {
        TextRule(
            "must be a text of 1 to \(max) characters",
            pattern: "^[^\\u0000-\\u001F\\u007F]{1,\(max)}$",
            example: example
        ) { text in
            (1...max).contains(text.unicodeScalars.count)
                && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
        }
    }
}

extension AppTerms {
    /// The terms for a client of an authorization server.
    package static let client = AppTerms(
        id: ("clientId", "Client id", "The client id. Each id only once."),
        clientIDRule,
        secret: ("clientSecret", "Client secret", "The client secret."),
        called: "the client secret"
    )

    /// The rule for client ids.
    package static let clientIDRule = TextRule(
        "must be a text of 1 to 255 letters, digits and _-./:",
        pattern: "^[A-Za-z0-9_./:-]{1,255}$",
        example: "1234567890-abc.apps.googleusercontent.com"
    ) { ProviderAppID($0) != nil }
}
