import Crypto
import Domain
import Encodings
import Secrets

/// The `sessionId` of a login by a provider's dialog (docs/protocols/firebase.md §11).
///
/// The `sessionId` is the verifier of the login code: the code is worthless without it. The first part names the
/// provider, since some clients name the provider nowhere else.
struct DialogSession {
    let id: String

    /// Makes a random session, which the client keeps.
    init(of providerID: String, random: RandomSource) {
        id = providerID + "." + OneTimeToken(random).secret.reveal()
    }

    /// Derives the session of one login from the cookie of the browser in which it began.
    ///
    /// Another browser cannot derive the session from the address at which the login ends.
    init(of providerID: String, in browser: OneTimeToken, flow: String) {
        let text = "session \(flow) \(browser.secret.reveal())"
        id = providerID + "." + Base64URL.encode(Array(SHA256.hash(data: Array(text.utf8))))
    }

    /// The challenge of the verifier (RFC 7636 §4.2).
    var challenge: String { Base64URL.encode(Array(SHA256.hash(data: Array(id.utf8)))) }

    /// Returns the provider that a session names; nil if it names none.
    static func providerID(in session: String) -> String? {
        session.lastIndex(of: ".").map { String(session[..<$0]) }
    }
}
