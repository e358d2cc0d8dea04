import Domain
import Encodings
import Secrets

/// The way in which a login dialog returns its result to the client: by a redirect, or to a popup's opener.
///
/// The service chooses it when the login begins, from the addresses that the operator allows.
enum DialogEnd: Sendable {
    /// The browser is redirected to one of the application's return URLs, with a login code.
    ///
    /// `codeChallenge` is the client's PKCE challenge for the login code; nil if the client sent none. `relaysTo` is
    /// the origin of the application's page if the URL is a page of this service that hands the code to it.
    case redirect(to: String, codeChallenge: String?, relaysTo: String? = nil)
    /// A page passes the user object to the window that opened the page, if that window has this origin.
    case popup(origin: String)

    /// Chooses how a login returns its result to the client: by a redirect, or to a popup's opener.
    ///
    /// Each address in the request must equal an address in the operator's list byte for byte. An unlisted return URL
    /// is refused; no listed URL takes its place (T-72). A client that sends a challenge expects a login code, so its
    /// login ends with a redirect.
    ///
    /// - Throws: `malformed_request` for an unlisted return URL; `provider_not_configured` if the lists are empty.
    init(_ request: DialogRequest, returnURLs: [String], allowedOrigins: [String]) throws(Failure) {
        if let page = request.accountPage {
            self = .redirect(to: page, codeChallenge: nil)
        } else if let relay = request.relay {
            guard let challenge = request.codeChallenge,
                let origin = allowedOrigins.first(where: { $0.hasSameBytes(as: relay.origin) })
            else {
                throw Failure(
                    .malformedRequest,
                    "No login may return to this origin. The operator can add it to the setting allowedOrigins."
                )
            }
            self = .redirect(to: relay.address, codeChallenge: challenge, relaysTo: origin)
        } else if let wanted = request.redirectAfterLoginURL {
            guard let listed = returnURLs.first(where: { $0.hasSameBytes(as: wanted) }) else {
                throw Failure(
                    .malformedRequest,
                    """
                    redirectAfterLoginUrl is not allowed. It must match an allowed URL byte for byte. The operator can \
                    add it to the option returnUrls of the provider.
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
                This login has no return URL. The operator must add a URL to the option returnUrls of the provider. \
                For a page that opens the dialog in a popup, add its origin to the setting allowedOrigins.
                """
            )
        }
    }

    /// Whether only the browser that began a login may end it.
    ///
    /// If the client sent a challenge, any browser may end the login: the login code is worthless without the client's
    /// verifier. A page of this service has the verifier only in the browser that began the login.
    var belongsToBrowser: Bool {
        switch self {
        case .redirect(_, let codeChallenge, let origin): codeChallenge == nil || origin != nil
        case .popup: true
        }
    }

    /// Returns whether a browser may end the login.
    ///
    /// If `belongsToBrowser` is true, only the browser that began the login may end it (RFC 9700 §4.7).
    ///
    /// - Parameters:
    ///   - kept: The cookie that the browser sent; nil for none.
    ///   - hash: The SHA-256 of the cookie of the browser that began the login.
    /// - Returns: Whether the browser has the cookie with this hash, or needs no cookie.
    func isOf(_ kept: String?, keptBy hash: [UInt8]?) -> Bool {
        guard belongsToBrowser else { return true }
        guard let hash, let kept = kept.flatMap(OneTimeToken.init(received:))?.secret else { return false }
        return Digest.sha256(kept.reveal()).isEqualInConstantTime(to: hash)
    }

    /// Returns the outcome that takes a failure of the login to the client.
    func failed(_ failure: Failure) -> DialogOutcome {
        switch self {
        case .redirect(let url, _, _): .redirect(to: url, .failure(failure))
        case .popup(let origin): .popup(origin: origin, .failure(failure))
        }
    }

    /// Returns whether the operator's lists still have the return URL, or the popup's origin, of a login.
    func isListed(returnURLs: [String], allowedOrigins: [String]) -> Bool {
        switch self {
        case .redirect(_, _, let origin?): allowedOrigins.contains { $0.hasSameBytes(as: origin) }
        case .redirect(let url, _, nil): returnURLs.contains { $0.hasSameBytes(as: url) }
        case .popup(let origin): allowedOrigins.contains { $0.hasSameBytes(as: origin) }
        }
    }

    /// Returns how the login ends: by a redirect to the given address.
    ///
    /// Any app on a device may claim the custom URL scheme of another app, and so receive the login code (RFC 8252
    /// §8.1). So a custom scheme requires a PKCE challenge, with which the code is worthless to the other app.
    ///
    /// - Throws: `malformed_request` if the address has a custom scheme and the client sent no challenge.
    private static func redirect(to url: String, by request: DialogRequest) throws(Failure) -> DialogEnd {
        let isWeb = ["https://", "http://"].contains { url.utf8.starts(with: $0.utf8) }
        guard isWeb || request.codeChallenge != nil else {
            throw Failure(
                .malformedRequest,
                """
                A login that returns to an app's own scheme needs a codeChallenge: the SHA-256, in base64url, of a \
                random text. Send that text as codeVerifier with the login code.
                """
            )
        }
        return .redirect(to: url, codeChallenge: request.codeChallenge)
    }
}
