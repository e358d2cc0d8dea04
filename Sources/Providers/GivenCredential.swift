package import Domain

/// The only credential of a login request, by the member that holds it.
///
/// Which kind of credential the text is, the provider decides.
package enum GivenCredential: Sendable {
    case accessToken(String)
    case idToken(String)
    /// An authorization code, with the redirect URI of the dialog in which the provider issued it; nil for a code that
    /// an SDK got without a redirect.
    case code(Secret, redirectURI: String?)
    /// The single-use code that this service issued after a dialog.
    case loginCode(Secret)

    /// Selects the only credential of a request.
    ///
    /// - Throws: `credential_missing` without a credential, `credential_ambiguous` with several.
    package init(_ fields: CredentialFields) throws(Failure) {
        let given = (
            fields.filled(\.accessToken), fields.filled(\.idToken), fields.filled(\.code), fields.filled(\.loginCode)
        )
        switch given {
        case (nil, nil, nil, nil):
            throw Failure(
                .credentialMissing,
                "The request has no credential. Send one of accessToken, idToken, code and loginCode."
            )
        case (let token?, nil, nil, nil): self = .accessToken(token)
        case (nil, let token?, nil, nil): self = .idToken(token)
        case (nil, nil, let code?, nil): self = .code(Secret(code), redirectURI: fields.filled(\.redirectURI))
        case (nil, nil, nil, let code?): self = .loginCode(Secret(code))
        default:
            throw Failure(
                .credentialAmbiguous,
                """
                The request has more than one credential. Send exactly one of accessToken, idToken, code and loginCode.
                """
            )
        }
    }
}

extension CredentialFields {
    /// Returns a member; nil if it is absent or empty.
    package func filled(_ member: KeyPath<CredentialFields, String?>) -> String? {
        self[keyPath: member].flatMap { $0.utf8.isEmpty ? nil : $0 }
    }

    /// Returns a member as a secret; nil if it is absent or empty.
    package func secret(_ member: KeyPath<CredentialFields, String?>) -> Secret? { filled(member).map(Secret.init) }
}

extension Failure {
    /// The failure for an authorization code without the redirect URI of its dialog.
    package static let codeWithoutRedirectURI = Failure(
        .credentialMissing,
        "A code needs redirectUri. Send the redirect URI with which the login dialog was opened."
    )

    /// The failure for a login code of this service in a request without the dialog that issued it.
    package static let loginCodeElsewhere = Failure(
        .credentialInvalid,
        "A loginCode is only valid from a login through the server."
    )
}
