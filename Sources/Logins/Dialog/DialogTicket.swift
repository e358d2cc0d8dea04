import Domain
import Encodings
import Providers
import Secrets

/// A client's ticket for a login dialog: the whole request, in the address of the page that leads to the dialog.
///
/// A ticket is not a state: each browser that opens the address gets a state of its own.
struct DialogTicket: SealedInTransit {
    static let keyName = "federation: tickets of login dialogs"

    let plan: DialogPlan
    let wishes: DialogWishes
    let endsAt: Int64

    /// Seconds between a client's request and the opening of the dialog.
    static let seconds: Int64 = 600

    private enum Key {
        static let (permissions, authType, configID, endsAt) = ("permissions", "authType", "configId", "endsAt")
    }

    init(plan: DialogPlan, wishes: DialogWishes, endsAt: Int64) {
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
        return Secret(JSONValue.object(object).text)
    }

    init?(_ object: JSONObject) {
        guard let plan = DialogPlan(object), let endsAt = object[Key.endsAt]?.integer else { return nil }
        self.plan = plan
        wishes = DialogWishes(
            permissions: object[Key.permissions]?.array?.compactMap(\.string),
            authType: object[Key.authType]?.string.flatMap(DialogAuthType.init),
            configID: object[Key.configID]?.string
        )
        self.endsAt = endsAt
    }
}
