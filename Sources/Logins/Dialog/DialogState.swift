import Domain
import Encodings
import Secrets

/// The content of the `state` of a login dialog: the plan of the login, and the browser that may return with the state.
struct DialogState: EncryptedInTransit {
    static let keyName = "federation: states of login dialogs"

    let plan: DialogPlan
    /// The PKCE verifier of this service for the dialog; nil if the dialog has no challenge.
    let codeVerifier: Secret?
    /// The SHA-256 of the cookie of the browser that opened the dialog; nil if the client sent a challenge instead.
    let browser: [UInt8]?
    /// The expiry of the state, in Unix seconds.
    let endsAt: Int64

    /// The seconds that a user may spend in the provider's dialog.
    static let seconds: Int64 = 600

    private enum Key {
        static let (codeVerifier, browser, endsAt) = ("codeVerifier", "browser", "endsAt")
    }

    init(plan: DialogPlan, codeVerifier: Secret?, browser: [UInt8]?, endsAt: Int64) {
        self.plan = plan
        self.codeVerifier = codeVerifier
        self.browser = browser
        self.endsAt = endsAt
    }

    var text: Secret {
        var object = JSONObject(plan.members + [JSONObject.Member(Key.endsAt, .integer(endsAt))])
        if let codeVerifier { object.append(Key.codeVerifier, .string(codeVerifier.reveal())) }
        if let browser { object.append(Key.browser, .string(Base64URL.encode(browser))) }
        return Secret(JSONValue.object(object).text)
    }

    init?(_ object: JSONObject) {
        guard let plan = DialogPlan(object), let endsAt = object[Key.endsAt]?.integer else { return nil }
        self.plan = plan
        codeVerifier = object[Key.codeVerifier]?.string.map(Secret.init)
        browser = object[Key.browser]?.string.flatMap { Base64URL.decode($0.utf8) }
        self.endsAt = endsAt
    }
}
