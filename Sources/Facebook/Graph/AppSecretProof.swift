import Crypto
import Domain
import Encodings

/// The `appsecret_proof`: the proof that the sender of a token knows the secret of the token's app.
///
/// See docs/protocols/facebook.md §1.8.
struct AppSecretProof {
    /// The HMAC-SHA256 under the app secret, in lower-case hex.
    let value: String
    /// The Unix time in a timed proof; nil for a classic proof.
    ///
    /// A request has the time in a parameter of its own, next to the proof.
    let time: Int64?

    /// Computes the proof for a token.
    ///
    /// For an app token, `token` is the whole text `id|secret`.
    init(of token: String, secret: Secret, form: ProofForm, now: Int64) {
        var code = HMAC<SHA256>(key: SymmetricKey(data: Array(secret.reveal().utf8)))
        code.update(data: Array(token.utf8))
        switch form {
        case .classic:
            time = nil
        case .timed:
            time = now
            code.update(data: Array("|\(now)".utf8))
        }
        value = Hexadecimal.encode(code.finalize())
    }
}
