import Domain
import Encodings
import Providers
import Secrets

/// A client's whole request for a login dialog, encrypted in the address of the page that leads to the dialog.
///
/// A ticket is not the `state` of OAuth. Each browser that opens the address gets its own state.
struct DialogTicket: EncryptedInTransit {
    static let keyName = "federation: tickets of login dialogs"

    let plan: DialogPlan
    let wishes: DialogParameters
    let endsAt: Int64

    /// The seconds that may pass between the client's request and the opening of the dialog.
    static let seconds: Int64 = 600

    private enum Key {
        static let (permissions, authType, configID, endsAt) = ("permissions", "authType", "configId", "endsAt")
        static let loginHint = "loginHint"
    }

    init(plan: DialogPlan, wishes: DialogParameters, endsAt: Int64) {
        self.plan = plan
        self.wishes = wishes
        self.endsAt = endsAt
    }

    var text: Secret {
        var object = JSONObject(plan.members + [JSONObject.Member(Key.endsAt, .integer(endsAt))])
        if let permissions = wishes.permissions {
            object.append(Key.permissions, .array(permissions.map(JSONValue.string)))
        }
        if let authType = wishes.authType { object.append(Key.authType, .string(authType.rawValue)) }
        if let configID = wishes.configID { object.append(Key.configID, .string(configID)) }
        if let hint = wishes.loginHint { object.append(Key.loginHint, .string(hint)) }
        return Secret(JSONValue.object(object).text)
    }

    init?(_ object: JSONObject) {
        guard let plan = DialogPlan(object), let endsAt = object[Key.endsAt]?.integer else { return nil }
        self.plan = plan
        wishes = DialogParameters(
            permissions: object[Key.permissions]?.array?.compactMap(\.string),
            authType: object[Key.authType]?.string.flatMap(DialogAuthType.init),
            configID: object[Key.configID]?.string,
            loginHint: object[Key.loginHint]?.string
        )
        self.endsAt = endsAt
    }
}
