import Secrets
import Vocabulary

/// How a login through the server ends: decided when it begins, by what the operator allows.
enum DialogEnd: Sendable {
    /// The browser is sent to one of the application's return URLs, with a login code. The challenge is the client's
    /// own.
    case redirect(to: String, codeChallenge: String?)
    /// A page hands the user object to the page that opened it, if that is of this origin.
    case popup(origin: String)

    /// Chooses the end.
    ///
    /// Every address is compared as bytes with what the operator listed, and nothing is tried in its place (T-72). A
    /// client that sends a challenge wants a code, so its login ends by a redirect.
    ///
    /// - Throws: `malformed_request` for an address that is not listed, `provider_not_configured` when nothing is.
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

    /// Whether the login ends in the browser that began it and in no other.
    ///
    /// The code at the end of one with a challenge is worth nothing in another browser: the verifier is not there.
    var belongsToBrowser: Bool {
        switch self {
        case .redirect(_, let codeChallenge): codeChallenge == nil
        case .popup: true
        }
    }

    /// Whether a browser may end the login: the one that began it (RFC 9700 §4.7), or any where the login code at the
    /// end is worth nothing without the client's verifier.
    ///
    /// - Parameters:
    ///   - kept: What the browser keeps of ours; nil for nothing.
    ///   - hash: SHA-256 of what the one keeps that began it.
    /// - Returns: False for a browser that keeps nothing, where one is asked for.
    func isOf(_ kept: String?, keptBy hash: [UInt8]?) -> Bool {
        guard belongsToBrowser else { return true }
        guard let hash, let kept = kept.flatMap(OneTimeToken.init(received:))?.secret else { return false }
        return Digest.sha256(kept.reveal()).isEqualInConstantTime(to: hash)
    }

    /// Where the browser goes when the login fails.
    func failed(_ failure: Failure) -> DialogOutcome {
        switch self {
        case .redirect(let url, _): .redirect(to: url, .failure(failure))
        case .popup(let origin): .popup(origin: origin, .failure(failure))
        }
    }

    /// Whether the operator still lists the address or the origin.
    func isListed(returnURLs: [String], allowedOrigins: [String]) -> Bool {
        switch self {
        case .redirect(let url, _): returnURLs.contains { $0.hasSameBytes(as: url) }
        case .popup(let origin): allowedOrigins.contains { $0.hasSameBytes(as: origin) }
        }
    }

    /// An end at an address.
    ///
    /// Any app of a device may claim a scheme of its own and so get hold of the code (RFC 8252 §8.1); with a challenge
    /// it is worth nothing to others.
    ///
    /// - Throws: `malformed_request` without a challenge for an address of an app.
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
