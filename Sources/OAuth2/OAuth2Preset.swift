import AuthorizationServers
package import Description
import Domain
import Encodings
import Providers

/// The addresses and the habits of a known server, as a document.
///
/// A document is a JSON object:
///
///     {"name": "discord", "title": "Discord", "authorizationUrl": "https://discord.com/oauth2/authorize",
///      "tokenUrl": "https://discord.com/api/oauth2/token", "profileUrl": "https://discord.com/api/users/@me",
///      "subject": "id", "scopes": ["identify", "email"],
///      "tokenCheck": {"form": "bearer", "url": "https://discord.com/api/oauth2/@me", "clients": ["application.id"]}}
package struct OAuth2Preset: PresetDocument {
    package var name = ""
    package var title: String?
    var authorizationURL = ""
    var tokenURL = ""
    var profileURL = ""
    /// The member of the profile with the user's id, a text or a whole number.
    var subject = "id"
    var scopes: [String] = []
    var authentication = ClientAuthentication.form
    /// Whether the server accepts a PKCE challenge (RFC 7636).
    var pkce = true
    /// The server's own names of errors, each with the name of RFC 6749 §5.2, as `own=name`.
    var errors: [String] = []
    /// How the server shows for which client an access token was issued; nil if it does not.
    ///
    /// Then only codes count.
    var tokenCheck: TokenClientCheck?
    /// How the server ends a grant; nil if it cannot.
    var revocation: TokenRevocation?
    /// What an operator does at the provider and here, step by step.
    package var setup: [String] = []
    /// A profile with a sample of each field.
    var sample = JSONObject()

    package init() {}

    /// Describes the document.
    package static let description = ObjectDescription(
        OAuth2Preset(),
        unknown: "is not a member of a preset",
        [
            Field("name", \.name, .text(PresetName.rule), "Name", "The name of the preset.", isRequired: true),
            Field(
                "title",
                \.title,
                Codec<String>.text(ProviderTitle.rule).orNull,
                "Title",
                "The displayed name of the provider."
            ),
            address("authorizationUrl", \.authorizationURL, "The login dialog."),
            address("tokenUrl", \.tokenURL, "Where codes are exchanged."),
            address("profileUrl", \.profileURL, "Where the service reads the profile."),
            Field("subject", \.subject, .text(MemberPath.rule), "Subject", "The member with the user's id."),
            Field("scopes", \.scopes, .list(of: .text(Scopes.rule), max: 50), "Scopes", "The scopes of the dialog."),
            Field("authentication", \.authentication, .word, "Authentication", "How clients authenticate."),
            Field("pkce", \.pkce, .flag, "PKCE", "Whether the server accepts a PKCE challenge."),
            Field("errors", \.errors, .list(of: .text(error), max: 20), "Errors", "The server's own names of errors."),
            Field(
                "tokenCheck",
                \.tokenCheck,
                Codec<TokenClientCheck>.object(TokenClientCheck.description).orNull,
                "Check of access tokens",
                "How the server shows for which client an access token was issued. null: codes only."
            ),
            Field(
                "revocation",
                \.revocation,
                Codec<TokenRevocation>.object(TokenRevocation.description).orNull,
                "Revocation",
                "How the server ends a grant. null: not at all."
            ),
            PresetGuide.field(\.setup),
            Field("sample", \.sample, .members, "Sample", "A profile with a sample of each field."),
        ]
    )

    private static func address(
        _ name: String,
        _ path: any WritableKeyPath<OAuth2Preset, String> & Sendable,
        _ meaning: String
    ) -> Field<OAuth2Preset> {
        Field(name, path, .text(ServerAddress.rule), name, meaning, isRequired: true)
    }

    private static let error = TextRule(
        "must be a name and the name of RFC 6749, like bad_verification_code=invalid_grant",
        pattern: "^[a-z_]{1,64}=[a-z_]{1,64}$",
        example: "bad_verification_code=invalid_grant"
    ) { text in
        let names = text.split(separator: "=", omittingEmptySubsequences: false)
        return names.count == 2
            && names.allSatisfy { name in
                (1...64).contains(name.utf8.count)
                    && name.utf8.allSatisfy { $0.isASCIILowercase || $0 == UInt8(ascii: "_") }
            }
    }

    /// The names of RFC 6749 §5.2 for the server's own.
    var errorNames: [String: String] {
        Dictionary(errors.map { $0.split(separator: "=") }.map { (String($0[0]), String($0[1])) }) { $1 }
    }
}

extension Presets<OAuth2Preset> {
    /// The presets that the service ships, in the order of docs/providers/README.md.
    static var shipped: Presets { ShippedPresets.all }
}

private enum ShippedPresets {
    static let all = Presets<OAuth2Preset>(shipped: PackageResources.oauth2_presets_json)
}
