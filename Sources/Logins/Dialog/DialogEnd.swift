import Domain
import Encodings
import Secrets

/// The end of a login through the server, decided at its beginning by the addresses that the operator allows.
enum DialogEnd: Sendable {
    /// The browser is redirected to one of the application's return URLs, with a login code.
    ///
    /// The challenge is the client's own.
    case redirect(to: String, codeChallenge: String?)
    /// A page hands the user object to its opener, if the opener has this origin.
    case popup(origin: String)

    /// Chooses the end of a login.
    ///
    /// Every address is compared as bytes with the operator's list, without a fallback (T-72). A client that sends a
    /// challenge expects a code, so its login ends by a redirect.
    ///
    /// - Throws: `malformed_request` for an unlisted address; `provider_not_configured` if the lists are empty.
    init(_ request: DialogRequest, returnURLs: [String], allowedOrigins: [String]) throws(Failure) {
        if let page = request.accountPage {
            self = .redirect(to: page, codeChallenge: nil)
        } else if let wanted = request.redirectAfterLoginURL {
            guard let listed = returnURLs.first(where: { $0.hasSameBytes(as: wanted) }) else {
                throw Failure(
                    .malformedRequest,
                    """
                    redirectAfterLoginUrl is none of the addresses that the operator allows, to the byte. The operator adds it to \
                    returnUrls of the provider.
                    """
                )
            }
            self = try .redirect(to: listed, by: request)
        } else if let origin = request.origin, request.codeChallenge == nil,
            let listed = allowedOrigins.first(where: { $0.hasSameBytes(as: origin) })
        {
            self = .popup(origin: listed)
        } else if let first = returnURLs.first {
            self = try .redirect(to: first, by: request)
        } else {
            throw Failure(
                .providerNotConfigured,
                """
                There is nowhere for this login to end. The operator has to list an address in returnUrls of the provider, or, for \
                a page that opens the dialog in a popup, the page's origin in the setting allowedOrigins.
                """
            )
        }
    }

    /// Whether only the browser that began the login may end it.
    ///
    /// With a challenge, any browser may: its login code is worthless without the client's verifier.
    var belongsToBrowser: Bool {
        switch self {
        case .redirect(_, let codeChallenge): codeChallenge == nil
        case .popup: true
        }
    }

    /// Returns whether a browser may end the login.
    ///
    /// That is the browser that began the login (RFC 9700 §4.7), or any browser if the login code is worthless without
    /// the client's verifier.
    ///
    /// - Parameters:
    ///   - kept: The cookie of the browser; nil for none.
    ///   - hash: SHA-256 of the cookie of the browser that began the login.
    /// - Returns: False for a browser without the cookie, if the cookie is required.
    func isOf(_ kept: String?, keptBy hash: [UInt8]?) -> Bool {
        guard belongsToBrowser else { return true }
        guard let hash, let kept = kept.flatMap(OneTimeToken.init(received:))?.secret else { return false }
        return Digest.sha256(kept.reveal()).isEqualInConstantTime(to: hash)
    }

    /// Returns where the browser goes after a failed login.
    func failed(_ failure: Failure) -> DialogOutcome {
        switch self {
        case .redirect(let url, _): .redirect(to: url, .failure(failure))
        case .popup(let origin): .popup(origin: origin, .failure(failure))
        }
    }

    /// Returns whether the operator still lists the address or the origin.
    func isListed(returnURLs: [String], allowedOrigins: [String]) -> Bool {
        switch self {
        case .redirect(let url, _): returnURLs.contains { $0.hasSameBytes(as: url) }
        case .popup(let origin): allowedOrigins.contains { $0.hasSameBytes(as: origin) }
        }
    }

    /// Returns the end at an address.
    ///
    /// Any app on a device may claim the custom scheme of another app and so receive the code (RFC 8252 §8.1). With a
    /// challenge, that code is worthless to the other app.
    ///
    /// - Throws: `malformed_request` for the address of an app without a challenge.
    private static func redirect(to url: String, by request: DialogRequest) throws(Failure) -> DialogEnd {
        let isWeb = ["https://", "http://"].contains { url.utf8.starts(with: $0.utf8) }
        guard isWeb || request.codeChallenge != nil else {
            throw Failure(
                .malformedRequest,
                """
                A login that ends at an address of an app's own scheme needs a codeChallenge: the SHA-256, as base64url, of a text \
                that the app keeps and sends as codeVerifier with the login code.
                """
            )
        }
        return .redirect(to: url, codeChallenge: request.codeChallenge)
    }
}
