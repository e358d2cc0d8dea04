import Crypto

/// Facebook's proof that a call comes from somebody who knows the app secret.
enum AppSecretProof {
    /// Seconds for which a timed proof counts.
    static let window = 300

    /// `hex(HMAC-SHA256(secret, token))`, or over `token|time` in the timed form.
    static func make(token: String, time: Int? = nil, secret: String) -> String {
        let message = time.map { "\(token)|\($0)" } ?? token
        let key = SymmetricKey(data: Array(secret.utf8))
        return Hexadecimal.encode(HMAC<SHA256>.authenticationCode(for: Array(message.utf8), using: key))
    }

    /// Checks the proof that a request carries, or the lack of one, against the settings of the token's app.
    static func check(_ request: GraphRequest, token: String, app: App, now: Int) throws(GraphError) {
        if app.ignoreProof { return }
        guard let proof = request.parameter("appsecret_proof"), !proof.isEmpty else {
            if app.requireProof { throw .proofRequired }
            return
        }
        var time: Int?
        if let text = request.parameter("appsecret_time") {
            guard let given = Int(text), (now - window...now + window).contains(given) else { throw .proofInvalid }
            time = given
        }
        guard proof.utf8.elementsEqual(make(token: token, time: time, secret: app.secret).utf8) else {
            throw .proofInvalid
        }
    }
}
