package import AuthorizationServers
package import Description
import Domain
package import Encodings
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
    package var tokenCheck: TokenClientCheck?
    /// How the server ends a grant; nil if it cannot.
    package var revocation: TokenRevocation?
    package var setup: [String] = []
    /// A profile with a sample of each field.
    package var sample = JSONObject()

    package init() {}

    /// Describes the document.
    package static let description = describe([
        address("authorizationUrl", \.authorizationURL, "The login dialog."),
        address("tokenUrl", \.tokenURL, "Where codes are exchanged."),
        address("profileUrl", \.profileURL, "Where the service reads the profile."),
        Field("subject", \.subject, .text(MemberPath.rule), "Subject", "The member with the user's id."),
        Field("scopes", \.scopes, Scopes.codec, "Scopes", "The scopes of the dialog."),
        Field("authentication", \.authentication, .word, "Authentication", "How clients authenticate."),
        Field("pkce", \.pkce, .flag, "PKCE", "Whether the server accepts a PKCE challenge."),
        Field("errors", \.errors, .list(of: .text(error), max: 20), "Errors", "The server's own names of errors."),
    ])

    package static let shipped = Presets<OAuth2Preset>(shipped: PackageResources.oauth2_presets_json)

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
    ) { text in text.isJoined(2...2, by: "=") { $0.isASCIILowercase || $0 == UInt8(ascii: "_") } }

    /// The names of RFC 6749 §5.2 for the server's own.
    var errorNames: [String: String] {
        Dictionary(errors.map { $0.split(separator: "=") }.map { (String($0[0]), String($0[1])) }) { $1 }
    }
}
