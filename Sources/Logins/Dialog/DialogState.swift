import Domain
import Encodings
import Secrets

/// The content of the `state` of a login dialog: the login's plan, and the browser that may return with it.
struct DialogState: SealedInTransit {
    static let keyName = "federation: states of login dialogs"

    let plan: DialogPlan
    /// The PKCE verifier of this service, for the dialog's challenge; nil for a dialog without a challenge.
    let codeVerifier: Secret?
    /// SHA-256 of the cookie of the browser that opened the dialog; nil if the client's own challenge guards the end.
    let browser: [UInt8]?
    /// Unix seconds until which the browser may return.
    let endsAt: Int64

    /// Seconds that a user may spend at the provider.
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
