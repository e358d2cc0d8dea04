import Description
import Domain
package import Encodings
import Store

/// Writes an operator as JSON for responses, and computes the entity tag.
extension StoredOperator {
    /// The operator as a JSON object.
    ///
    /// Its shape is `{"name", "role", "created", "tokens": [{"id", "created", "expires", "machine", "purpose",
    /// "lastUsed"}]}`.
    package var json: JSONObject {
        object { token, json in json.append("lastUsed", token.lastUsed.map(JSONValue.integer) ?? .null) }
    }

    /// The entity tag of the operator.
    ///
    /// A use of a token changes the `lastUsed` of the token, but not the tag.
    package var tag: String { EntityTag.of(.object(object { _, _ in })) }

    package var resource: Resource { Resource(.object(json), tag: tag) }

    private func object(_ complete: (Token, inout JSONObject) -> Void) -> JSONObject {
        [
            "name": .string(name.text),
            "role": .string(role.rawValue),
            "created": .integer(created),
            "tokens": .array(
                tokens.map { token in
                    var json = token.json
                    complete(token, &json)
                    return .object(json)
                }
            ),
        ]
    }
}

extension StoredOperator.Token {
    /// The token as `{"id", "created", "expires", "machine", "purpose"}`.
    package var json: JSONObject {
        [
            "id": .string(id), "created": .integer(created), "expires": expires.map(JSONValue.integer) ?? .null,
            "machine": .bool(isMachine), "purpose": .string(purpose.rawValue),
        ]
    }
}

/// A reader of requests about operators.
///
/// It collects the problems of a request.
struct OperatorDocument {
    private let object: JSONObject
    private(set) var problems = DocumentProblems()

    /// The allowed lifetimes of an operator token in seconds: from a minute to 366 days.
    ///
    /// A token that is valid for more than a year is a permanent credential.
    private static let lifetimes: ClosedRange<Int64> = 60...31_622_400

    /// Reads a JSON object, and adds each member that is not `known` to the problems.
    ///
    /// - Throws: `document_invalid` for a value that is not an object.
    init(_ document: JSONValue, known: [String]) throws(Failure) {
        guard let object = document.object else {
            throw DocumentProblems(JSONPointer(), "must be an object").failure
        }
        self.object = object
        for member in object.members where !known.contains(where: { $0.hasSameBytes(as: member.key) }) {
            problems.add(unknown: member.key, at: JSONPointer() / member.key, among: known)
        }
    }

    mutating func name() -> OperatorName? {
        let rule = "must be 1 to 64 ASCII letters, digits or .-_@+, beginning with a letter or digit"
        return required("name", object["name"]?.string.flatMap { OperatorName($0) }, rule)
    }

    mutating func role() -> OperatorRole? {
        let role = object["role"]?.string.flatMap { text in
            OperatorRole.allCases.first { $0.rawValue.hasSameBytes(as: text) }
        }
        return required("role", role, "must be one of viewer, editor, owner")
    }

    /// Returns the lifetime of a token in seconds; nil for a token that never expires.
    mutating func lifetime() -> Int64? {
        guard let value = object.present("expiresInSeconds") else { return nil }
        let rule = "must be whole seconds from \(Self.lifetimes.lowerBound) to \(Self.lifetimes.upperBound)"
        return required("expiresInSeconds", value.integer.flatMap { Self.lifetimes.contains($0) ? $0 : nil }, rule)
    }

    /// Returns whether the token is for a program.
    mutating func isMachine() -> Bool {
        guard let value = object.present("machine") else { return false }
        return required("machine", value.bool, "must be true or false") ?? false
    }

    private mutating func required<Value>(_ key: String, _ value: Value?, _ rule: String) -> Value? {
        if value == nil { problems.add(JSONPointer() / key, rule) }
        return value
    }
}
