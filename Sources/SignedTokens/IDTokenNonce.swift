import Crypto
import Domain
import Encodings

extension IDTokenCheck {
    /// Checks step 11: the token's claim `nonce` must meet the policy of the application.
    ///
    /// An empty claim counts as absent. For example, Facebook writes an empty claim if no nonce was sent.
    ///
    /// - Returns: The nonce, which the caller must check, if the policy accepts only nonces that this service issued;
    ///   nil otherwise.
    func checkNonce(_ claims: JSONObject, given: Secret?) throws(Failure) -> Secret? {
        let claim = try nonce(in: claims)
        let isBound = claims["cnf"] != nil
        switch noncePolicy {
        case .off where isBound:
            return nil
        case .clientMade, .off:
            try checkClientMade(claim, given: given, isBound: isBound)
            return nil
        case .serverIssued:
            guard let claim else {
                throw .untrusted(
                    """
                    This ID token has no nonce. Get a nonce from users/oauth/{provider}/nonce, and log in with \
                    \(provider) again with that nonce.
                    """,
                    check: 11,
                    "no nonce where the service gives them out"
                )
            }
            // A client may send the hash of a nonce to the provider. It then sends the nonce itself in the request.
            guard let given else { return claim }
            guard Self.isMade(claim, of: given) else { throw otherNonce }
            return given
        }
    }

    private func nonce(in claims: JSONObject) throws(Failure) -> Secret? {
        guard let value = claims["nonce"] else { return nil }
        guard let text = value.string else {
            throw .untrusted("The nonce of this ID token is not a text.", check: 11, "nonce is not a text")
        }
        return text.utf8.isEmpty ? nil : Secret(text)
    }

    /// Checks that the nonce in the request is the nonce in the token.
    ///
    /// If the request has no nonce, the token is accepted, since it is single-use. But a token that is bound to a key
    /// of the device (`cnf`) requires a nonce: the service cannot check that key, so only the nonce shows that the
    /// client itself began the login.
    private func checkClientMade(_ claim: Secret?, given: Secret?, isBound: Bool) throws(Failure) {
        guard let given else {
            guard !isBound else {
                throw .untrusted(
                    """
                    This ID token is bound to a key of the device and needs its nonce. Send the nonce of the login as \
                    nonce. For tokens that the SDK refreshed, the operator can set the option nonce to off.
                    """,
                    check: 11,
                    "cnf without a nonce in the request"
                )
            }
            return
        }
        guard let claim, Self.isMade(claim, of: given) else { throw otherNonce }
    }

    /// Returns whether the token's claim is the nonce, or the SHA-256 of the nonce in hex, which Firebase's clients
    /// send.
    ///
    /// Both comparisons are always made, so that the duration reveals nothing.
    private static func isMade(_ claim: Secret, of nonce: Secret) -> Bool {
        let (claim, nonce) = (Array(claim.reveal().utf8), Array(nonce.reveal().utf8))
        let isRaw = claim.isEqualInConstantTime(to: nonce)
        let isHashed = claim.isEqualInConstantTime(to: Hexadecimal.encode(SHA256.hash(data: nonce)).utf8)
        return isRaw || isHashed
    }

    private var otherNonce: Failure {
        .untrusted(
            "The nonce does not match this ID token. Send the nonce with which the login with \(provider) began.",
            check: 11,
            "the nonce of the request is not the claim's"
        )
    }
}
