import Crypto
import Vocabulary

/// The proof that whoever sends a token also knows the secret of the app that the token was made for
/// (docs/protocols/facebook.md §1.8).
struct AppSecretProof {
    /// Lower-case hex of an HMAC-SHA256 under the app secret.
    let value: String
    /// The Unix time inside a timed proof, which travels beside it.
    let time: Int64?

    /// Computes the proof of a token; of an app token it is over the whole `id|secret`.
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
