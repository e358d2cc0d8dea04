import Crypto
import Domain
import Encodings

extension IDTokenCheck {
    /// Checks step 11: the nonce, by the application's policy.
    ///
    /// An empty claim counts as absent, since Facebook, for one, writes an empty claim when no nonce was sent.
    ///
    /// - Returns: The nonce that must be one that the service issued; nil when the policy requires none.
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
                    "This ID token has no nonce. Get one from users/oauth/{provider}/nonce and log in with \(provider) again, with that nonce.",
                    check: 11,
                    "no nonce where the service gives them out"
                )
            }
            // A client that sends hashes of its nonces to the provider sends the original nonce in the request.
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

    /// Checks that a nonce in the request is the token's.
    ///
    /// Without a nonce in the request, a single-use token is accepted by itself, except when the token is bound to a
    /// key of the device: without a proof of that key, the nonce must show that the login is the client's own.
    private func checkClientMade(_ claim: Secret?, given: Secret?, isBound: Bool) throws(Failure) {
        guard let given else {
            guard !isBound else {
                throw .untrusted(
                    """
                    This ID token is bound to a key of the device, so it counts only together with its nonce. Send the nonce of the \
                    login as nonce; for tokens that the SDK refreshed, the operator can switch the policy off.
                    """,
                    check: 11,
                    "cnf without a nonce in the request"
                )
            }
            return
        }
        guard let claim, Self.isMade(claim, of: given) else { throw otherNonce }
    }

    /// Returns whether the claim is the nonce, or its SHA-256 in hex as Firebase's clients send it.
    ///
    /// Both are always compared, so that the time reveals nothing about either.
    private static func isMade(_ claim: Secret, of nonce: Secret) -> Bool {
        let (claim, nonce) = (Array(claim.reveal().utf8), Array(nonce.reveal().utf8))
        let isRaw = claim.isEqualInConstantTime(to: nonce)
        let isHashed = claim.isEqualInConstantTime(to: Hexadecimal.encode(SHA256.hash(data: nonce)).utf8)
        return isRaw || isHashed
    }

    private var otherNonce: Failure {
        .untrusted(
            "The nonce does not belong to this ID token. Send the one that the login with \(provider) was begun with.",
            check: 11,
            "the nonce of the request is not the claim's"
        )
    }
}
