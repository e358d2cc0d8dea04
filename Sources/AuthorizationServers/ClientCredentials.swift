package import Domain
import Encodings
import FoundationEssentials
import Providers

/// How a client shows an authorization server that it has its secret (RFC 6749 §2.3.1).
package enum ClientAuthentication: String, Sendable, CaseIterable {
    /// The header `Authorization` has the client's id and secret.
    case basic = "client_secret_basic"
    /// The form has them.
    case form = "client_secret_post"
}

/// The credentials by which the service authenticates as a client of an authorization server.
package struct ClientCredentials: Sendable {
    package let id: ProviderAppID
    /// The secret; nil for a public client, which has none (RFC 6749 §2.1).
    let secret: Secret?
    let method: ClientAuthentication

    package init(id: ProviderAppID, secret: Secret?, by method: ClientAuthentication) {
        (self.id, self.secret, self.method) = (id, secret, method)
    }

    package var hasSecret: Bool { secret != nil }

    /// Adds the credentials to a form.
    ///
    /// - Returns: The value of the header `Authorization`; nil for a request without the header.
    func authenticate(_ form: inout Parameters) -> String? {
        if let secret, method == .basic { return basic(secret) }
        form.add("client_id", id.text)
        if let secret { form.add("client_secret", secret.reveal()) }
        return nil
    }

    /// The value of the header `Authorization`; nil for a public client.
    var authorization: String? { secret.map(basic) }

    /// Returns the id and the secret in the form of RFC 6749 §2.3.1: each percent-encoded, joined by a colon, in
    /// Base64.
    private func basic(_ secret: Secret) -> String {
        let pair = "\(PercentEncoding.encode(id.text)):\(PercentEncoding.encode(secret.reveal()))"
        return "Basic \(Data(pair.utf8).base64EncodedString())"
    }
}
