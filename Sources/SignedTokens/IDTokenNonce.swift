import Crypto
import Vocabulary

extension IDTokenCheck {
    /// Step 11: the nonce, by the application's policy.
    ///
    /// An empty claim counts as none, since Facebook, for one, writes it where no nonce was asked for.
    ///
    /// - Returns: What must turn out to be a nonce that we gave out.
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
            // A client that hashes its nonces on the way to the provider sends the one that we know in the request.
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

    /// A nonce that the request names must be the token's.
    ///
    /// Without one the token counts by itself, once, as always; unless it is bound to a key of the device: whoever has
    /// no proof of that key shows by the nonce that the login is theirs.
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

    /// Whether the claim is the nonce, or its SHA-256 in hex as Firebase's clients send it.
    ///
    /// Both are compared, whatever the first comes to: how long it takes says nothing about either.
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
