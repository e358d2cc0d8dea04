import Vocabulary

/// An object as rows of name and value; an object inside it is rows of its own, under both names.
struct Details {
    private(set) var rows: [(name: String, value: String)] = []

    /// The members of our resources that are milliseconds since 1970; no property can have such a name.
    private static let moments = [
        "created", "updated", "lastLogin", "user.created", "user.updated", "user.lastLogin", "password.changed",
        "webhookVerifyToken.changed",
    ]

    /// Takes an object apart.
    ///
    /// - Parameters:
    ///   - value: The object.
    ///   - members: Names of members that are shown elsewhere.
    init(_ value: JSONValue, without members: [String] = []) {
        for member in value.object?.members ?? [] where !members.contains(where: { $0.hasSameBytes(as: member.key) }) {
            guard let inner = member.value.object, !inner.members.isEmpty else {
                add(member.key, member.value)
                continue
            }
            for part in inner.members { add(member.key + "." + part.key, part.value) }
        }
    }

    private mutating func add(_ name: String, _ value: JSONValue) {
        let isMoment = Self.moments.contains { $0.hasSameBytes(as: name) }
        rows.append((TerminalText.escaped(name), Cell.text(value, isMoment: isMoment)))
    }
}
