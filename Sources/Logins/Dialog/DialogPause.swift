import Domain
import Encodings
import Secrets

/// A login that waits for a second factor at the end of a dialog.
///
/// The page that asks for the factor contains this state, encrypted.
///
/// The member `pending` is encrypted together with the other members. Otherwise, a client that reads the page could
/// finish the pending login without the verifier for the client's PKCE challenge.
struct DialogPause: EncryptedInTransit {
    static let keyName = "federation: ends of login dialogs"

    let plan: DialogPlan
    /// The SHA-256 of the cookie of the browser that opened the dialog; nil if the client sent a challenge instead.
    let browser: [UInt8]?
    let pending: String
    /// The factor that the user has just enrolled.
    ///
    /// It is present while the page shows the recovery codes.
    var factor: VerifiedFactor?
    let endsAt: Int64

    private enum Key {
        static let (browser, pending, factor, end) = ("browser", "pending", "factor", "endsAt")
    }

    init(plan: DialogPlan, browser: [UInt8]?, pending: String, endsAt: Int64) {
        self.plan = plan
        self.browser = browser
        self.pending = pending
        self.endsAt = endsAt
    }

    var text: Secret {
        var object = JSONObject(plan.members)
        object.append(Key.pending, .string(pending))
        object.append(Key.end, .integer(endsAt))
        if let browser { object.append(Key.browser, .string(Base64URL.encode(browser))) }
        if let factor { object.append(Key.factor, .object(factor.object)) }
        return Secret(JSONValue.object(object).text)
    }

    init?(_ object: JSONObject) {
        guard let plan = DialogPlan(object), let pending = object[Key.pending]?.string,
            let end = object[Key.end]?.integer
        else { return nil }
        self.init(
            plan: plan,
            browser: object[Key.browser]?.string.flatMap { Base64URL.decode($0.utf8) },
            pending: pending,
            endsAt: end
        )
        factor = object[Key.factor]?.object.flatMap { VerifiedFactor($0) }
    }
}
