import Accounts
import Applications
import Description
import Domain
import Encodings
import HTTP

extension UserRecord {
    /// Reads the user object that a client sends, in the spelling of client SDKs (docs/protocols/backendless.md §2.1).
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
    /// Removes the member `invitation` from the record of a registration, and returns its value; nil if there is none.
    ///
    /// If the application has declared a property `invitation`, the member is a value of this property. It then stays
    /// in the record, and the result is nil.
    ///
    /// - Throws: `malformed_request` for an invitation that is not a text.
    mutating func takeInvitation(to application: Application) throws(Failure) -> InvitationToken? {
        let name = "invitation"
        guard !application.properties.contains(where: { $0.name.text.hasSameBytes(as: name) }),
            let text = try text(name)
        else { return nil }
        self = JSONObject(members.filter { !$0.key.hasSameBytes(as: name) })
        return InvitationToken(text)
    }
}

extension Schema {
    static let userRecord = object(optional: [
        "email": .string.nullable.length(upTo: 254),
        "password": .string.nullable.length(upTo: 256),
        "currentPassword": .string.nullable.described("In updates: the current password, for reauthentication."),
        "objectId": .string.nullable.described(
            """
            At a registration: the guest who becomes the user. If the path does not name a record: the session's own \
            user.
            """
        ),
        "invitation": .invitation,
        "blUserLocale": .string.nullable.described("The language of e-mails. The first two letters count."),
        "name": .string.nullable,
    ]).open.described(
        """
        A user as a client writes it. Further members are properties that clients may write. Members that a client \
        cannot write are ignored. Undeclared ones are refused, stored or dropped, as configured (undeclaredProperties).
        """
    ).named("UserRecord")
}

extension Content {
    static let userRecord = Content(
        .userRecord,
        examples: ["plain": #"{"email": "ann@example.com", "password": "four words of a song", "name": "Ann"}"#],
        named: "UserRecord"
    )
}
