import Encodings

/// Formats a JSON object as rows of name and value.
///
/// A row for a member of an inner object has the name `object.member`.
struct Details {
    private(set) var rows: [(name: String, value: String)] = []

    /// Creates the rows of an object.
    ///
    /// - Parameters:
    ///   - value: The object.
    ///   - members: Names of members that get no row, since the output shows them in another way.
    ///   - moments: Names of rows that are milliseconds since 1970.
    init(_ value: JSONValue, without members: [String] = [], moments: [String] = []) {
        for member in value.object?.members ?? [] where !members.contains(where: { $0.hasSameBytes(as: member.key) }) {
            guard let inner = member.value.object, !inner.members.isEmpty else {
                add(member.key, member.value, moments)
                continue
            }
            for part in inner.members { add(member.key + "." + part.key, part.value, moments) }
        }
    }

    private mutating func add(_ name: String, _ value: JSONValue, _ moments: [String]) {
        let isMoment = moments.contains { $0.hasSameBytes(as: name) }
        rows.append((TerminalText.escaped(name), Cell.text(value, isMoment: isMoment)))
    }
}
