import HTTP
import Vocabulary

/// The members of bodies that carry a login or a password.
enum PasswordBody {
    /// What the person logs in with: a text, or a number, which client SDKs send as it was typed; empty when it is
    /// absent.
    static func login(in body: JSONObject) throws(Failure) -> String {
        guard let value = body.present("login") else { return "" }
        guard let text = value.string ?? value.integer.map(String.init) else {
            throw Failure(.malformedRequest, "login must be a text or a whole number, it is \(value.kind).")
        }
        return text
    }

    /// A password; empty when it is absent.
    static func password(_ key: String, in body: JSONObject) throws(Failure) -> Secret {
        Secret(try body.text(key) ?? "")
    }
}
