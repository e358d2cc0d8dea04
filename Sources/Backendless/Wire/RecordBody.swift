import Accounts
import Vocabulary

extension UserRecord {
    /// The user object that a client sends, in the spelling of client SDKs (docs/protocols/backendless.md §2.1).
    init(body: JSONObject) {
        self.init()
        for member in body.members {
            switch member.key {
            case "password": password = member.value.isNull ? nil : member.value
            case "currentPassword": currentPassword = member.value.isNull ? nil : member.value
            case "objectId": objectID = member.value.isNull ? nil : member.value
            case "blUserLocale": locale = member.value
            default: properties.append(member.key, member.value)
            }
        }
    }
}
