import Vocabulary

extension User {
    /// Hands over the members of the user object, in their order: flat, as client SDKs expect it
    /// (docs/protocols/backendless.md §3.1).
    ///
    /// A value that nobody asks for is not made.
    func forEachMember(_ take: (_ key: String, _ value: @autoclosure () -> JSONValue) -> Void) {
        take("___class", .string("Users"))
        take("objectId", .string(objectID.description))
        take("ownerId", .string(objectID.description))
        take("created", .integer(created))
        take("updated", updated.map(JSONValue.integer) ?? .null)
        take("lastLogin", lastLogin.map(JSONValue.integer) ?? .null)
        take("userStatus", .string(status.rawValue))
        take("socialAccount", socialAccount.map(JSONValue.string) ?? .null)
        take("accountType", socialAccount.map(JSONValue.string) ?? .null)
        take("blUserLocale", locale.map(JSONValue.string) ?? .null)
        for (name, value) in properties { take(name.text, value?.json ?? .null) }
        for member in dynamic.members { take(member.key, member.value) }
    }
}
