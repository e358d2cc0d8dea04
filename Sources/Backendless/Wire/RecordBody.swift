import Accounts
import Applications
import HTTP
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

extension JSONObject {
    /// Takes the member `invitation` out of the record of a registration; where the application has declared a property
    /// of that name it is the property.
    ///
    /// - Throws: `malformed_request` for one that is no text.
    mutating func takeInvitation(to application: Application) throws(Failure) -> InvitationToken? {
        let name = "invitation"
        guard !application.properties.contains(where: { $0.name.text.hasSameBytes(as: name) }),
            let text = try text(name)
        else { return nil }
        self = JSONObject(members.filter { !$0.key.hasSameBytes(as: name) })
        return InvitationToken(text)
    }
}
