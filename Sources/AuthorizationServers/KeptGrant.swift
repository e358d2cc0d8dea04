package import Domain
import Encodings
import Providers

/// A token that the service keeps for an identity, and the client for which the server issued it.
///
/// The identities of these providers do not name the client, since most subjects are the same for all clients.
package struct KeptGrant: Sendable {
    package let client: ProviderAppID
    /// A refresh token; or an access token, if the server issues no refresh tokens.
    package let token: ProviderToken

    package init(_ token: ProviderToken, of client: ProviderAppID) { (self.token, self.client) = (token, client) }

    /// Selects the token of a response that is worth keeping.
    ///
    /// A refresh token outlives the access token. Nil if the response has no token that is worth keeping.
    package init?(_ response: TokenResponse, of client: ProviderAppID, keepsAccessTokens: Bool, now: Int64) {
        self.client = client
        if let refreshToken = response.refreshToken {
            token = ProviderToken(kind: .refresh, text: refreshToken, expiresAt: nil)
        } else if keepsAccessTokens, let accessToken = response.accessToken {
            let end = response.seconds.map { now + $0 }
            token = ProviderToken(kind: .access, text: accessToken, expiresAt: end)
        } else {
            return nil
        }
    }

    /// Reads a kept token.
    ///
    /// - Throws: `provider_misconfigured` if the text has another form.
    package init(_ kept: ProviderToken) throws(Failure) {
        let text = kept.text.reveal()
        guard let space = text.utf8.firstIndex(of: UInt8(ascii: " ")),
            let client = ProviderAppID(String(text[..<space]))
        else { throw .unusableConfiguration(cause: "a kept token does not name its client") }
        self.client = client
        token = kept.with(Secret(String(text[text.index(after: space)...])))
    }

    /// The token with its client, as the service keeps it.
    package var kept: ProviderToken { token.with(Secret("\(client) \(token.text.reveal())")) }

    /// The token that the service keeps in place of this one.
    package func replaced(by refreshToken: Secret) -> Secret { Secret("\(client) \(refreshToken.reveal())") }
}

extension ProviderToken {
    fileprivate func with(_ text: Secret) -> ProviderToken {
        ProviderToken(kind: kind, text: text, expiresAt: expiresAt)
    }
}
