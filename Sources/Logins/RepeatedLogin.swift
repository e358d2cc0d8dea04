import Applications
import Secrets
import Crypto
import Vocabulary
import Store

// A credential that counts once would leave a client without its session when the reply is lost. So the client may give a login a
// key of its own (`Idempotency-Key`): the same request under the same key, within a minute, is the same login, and is answered with
// the same session. Nothing is kept for that but hashes: the session's token is derived, not stored.

extension LoginAttempt {
    /// Who uses a credential that counts once: this attempt alone, or every repetition of it that the client marks as one.
    ///
    /// - Parameters:
    ///   - credential: The credential.
    ///   - nonce: What came with it.
    ///   - random: For bytes that nobody else has.
    /// - Returns: Bytes that are the same for the same request of the same `Idempotency-Key`, and random without a key.
    package func owner(of credential: Secret, nonce: Secret?, _ random: RandomSource) -> [UInt8] {
        guard let key = request.idempotencyKey else { return random.bytes(16) }
        var hash = SHA256()
        let parts = [
            key, credential.reveal(), nonce?.reveal(), request.appID, request.mapping?.text,
            request.guest?.id.description,
        ]
        for part in parts {
            // The length in front keeps two parts from passing for others.
            let bytes = Array((part ?? "").utf8)
            hash.update(data: withUnsafeBytes(of: UInt64(bytes.count).bigEndian, Array.init))
            hash.update(data: bytes)
        }
        return Array(hash.finalize())
    }
}

extension SignInWriter {
    /// The token of the session that a login opens: a random one, and for a login that may come again one that nobody without the
    /// master key can tell from it.
    func sessionToken(for login: AuthenticatedLogin, in attempt: LoginAttempt) -> SessionToken {
        guard attempt.request.idempotencyKey != nil, let owner = login.once?.owner else {
            return random.sessionToken()
        }
        let key = masterKeys.current.derivedKey(for: "federation: sessions of repeated logins")
        let application = Array(attempt.loaded.application.id.text.utf8)
        return SessionToken(random: Array(HMAC<SHA256>.authenticationCode(for: owner + application, using: key)))
    }
}
