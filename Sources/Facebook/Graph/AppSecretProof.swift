import Crypto
import Domain
import Encodings

/// The proof that the sender of a token knows the secret of the token's app.
///
/// See docs/protocols/facebook.md §1.8.
struct AppSecretProof {
    /// Lower-case hex of an HMAC-SHA256 under the app secret.
    let value: String
    /// The Unix time of a timed proof, which is sent with the proof.
    let time: Int64?

    /// Computes the proof of a token; for an app token, over the whole `id|secret`.
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
