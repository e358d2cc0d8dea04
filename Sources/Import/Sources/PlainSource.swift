import Domain
import Encodings

/// A member of an import record that has a meaning for the service, such as a password hash, and is not a property.
///
/// The raw value is the member's name in the service's own export.
package enum SystemField: String, Sendable, CaseIterable {
    case objectID = "objectId"
    case created, updated, lastLogin, userStatus, blUserLocale, emailVerified, login, passwordHash, identities, roles
    case firebaseUID = "firebaseUid"
    case firebaseClaims
}

/// Users of any origin in CSV or lines of JSON, with the members of the service's own export.
///
/// `columns` has the names of members that differ in the file.
///
/// If a property has the name of a `SystemField`, the service's export puts the property into the object `properties`.
/// Clients write properties, and a client must not give itself a role or an identity in this way. Therefore every
/// member of that object is a property.
struct PlainSource: UserSource {
    let columns: [SystemField: String]

    func user(_ record: JSONObject) throws(RecordRefusal) -> ImportedUser {
        func name(_ field: SystemField) -> String { columns[field] ?? field.rawValue }
        let id = record.text(name(.objectID))
        // Without an id, the address identifies the user.
        var user = try ImportedUser(id: id ?? record.text("email")?.lowercased())
        user.keepsID = id.flatMap { ObjectID($0) } != nil
        user.status = try UserStatus(source: record.text(name(.userStatus)))
        user.emailVerified = record.isTrue(name(.emailVerified))
        user.locale = record.text(name(.blUserLocale)).flatMap(LanguageTag.letters)
        user.created = record.moment(name(.created))
        user.updated = record.moment(name(.updated))
        user.lastLogin = record.moment(name(.lastLogin))
        user.login = record.text(name(.login))
        user.password = record.text(name(.passwordHash)).map { .text(Secret($0)) }
        if let uid = record.text(name(.firebaseUID)) { try user.takeUID(uid) }
        try user.takeClaims(name(.firebaseClaims), of: record)
        for identity in try record.identities(name(.identities)) ?? [] {
            try user.takeIdentity(
                identity.text("provider"),
                app: identity.text("app"),
                subject: identity.text("subject"),
                created: identity.moment("created")
            )
        }
        let roles = record.array(name(.roles))
        if roles == nil, record.text(name(.roles)) != nil {
            throw RecordRefusal(.roleUnknown, "its roles are no list, as JSON")
        }
        for role in roles ?? [] {
            guard let role = role.string else { throw RecordRefusal(.roleUnknown, "a role is no text") }
            user.roles.append(role)
        }
        user.takeFields(of: record, without: Set(SystemField.allCases.map(name)).union(["user-token", "___class"]))
        if let aside = user.fields["properties"]?.object {
            let others = user.fields.without(Set(aside.members.map(\.key) + ["properties"]))
            user.fields = JSONObject(others.members + aside.members)
        }
        return user
    }
}
