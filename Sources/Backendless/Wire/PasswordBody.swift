import Domain
import Encodings
import HTTP

/// Reads the login name and the password from the bodies of requests.
enum PasswordBody {
    /// Returns the login name in a body; empty if the member is absent.
    ///
    /// The member is a text or a number. Client SDKs send a number if the user typed one.
    static func login(in body: JSONObject) throws(Failure) -> String {
        guard let value = body.present("login") else { return "" }
        guard let text = value.string ?? value.integer.map(String.init) else {
            throw Failure(.malformedRequest, "login must be a text or a whole number, it is \(value.kind).")
        }
        return text
    }

    /// Returns the password in a body; empty if the member is absent.
    static func password(_ key: String, in body: JSONObject) throws(Failure) -> Secret {
        Secret(try body.text(key) ?? "")
    }
}
