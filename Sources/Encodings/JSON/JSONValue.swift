/// A JSON value as received.
///
/// It keeps the order of members and the text of numbers. Two texts are equal only if their bytes are. A comparison
/// takes linear time in the size of the value.
package enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)
}

extension JSONValue: Equatable {
    package static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }
}

extension JSONValue {
    /// The text of a JSON string; nil for every other kind.
    package var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The members of a JSON object; nil for every other kind.
    package var object: JSONObject? {
        guard case .object(let object) = self else { return nil }
        return object
    }

    /// The elements of a JSON array; nil for every other kind.
    package var array: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The value of a JSON boolean; nil for every other kind.
    package var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The value of a JSON number as a 64-bit integer.
    ///
    /// Nil if the value is no number, does not fit, or is written with a fraction or an exponent.
    package var integer: Int64? {
        guard case .number(let number) = self else { return nil }
        return number.integer
    }

    /// The names of an object's members in their order; empty for every other kind.
    package var memberNames: [String] { object?.members.map(\.key) ?? [] }

    package var isNull: Bool {
        guard case .null = self else { return false }
        return true
    }

    /// The kind of the value in the words of RFC 8259, for messages.
    package var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// The same value, with the members of each object in the order of their keys' bytes.
    ///
    /// Equal values then have equal texts.
    package var ordered: JSONValue {
        switch self {
        case .null, .bool, .number, .string: self
        case .array(let elements): .array(elements.map(\.ordered))
        case .object(let object):
            .object(
                JSONObject(
                    object.members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
                        .map { JSONObject.Member($0.key, $0.value.ordered) }
                )
            )
        }
    }

    /// Returns a JSON integer.
    package static func integer(_ value: Int64) -> JSONValue { .number(JSONNumber(value)) }
}

/// The members of a JSON object in the order of the document, without duplicate keys.
///
/// A lookup compares the bytes of one key after the other. Objects are small, so this is fast. It also hashes no
/// untrusted text.
package struct JSONObject: Sendable {
    /// One key and its value.
    package struct Member: Sendable {
        package let key: String
        package let value: JSONValue

        package init(_ key: String, _ value: JSONValue) {
            self.key = key
            self.value = value
        }
    }

    package private(set) var members: [Member]

    /// Creates an object of the given members.
    ///
    /// If several members have the same key, lookups find the first one.
    package init(_ members: [Member] = []) {
        self.members = members
    }

    /// The value under a key, compared as bytes.
    package subscript(key: String) -> JSONValue? {
        members.first { $0.key.hasSameBytes(as: key) }?.value
    }

    /// The value under a key; nil also for `null`, which counts in requests like an absent member.
    package func present(_ key: String) -> JSONValue? {
        guard let value = self[key], !value.isNull else { return nil }
        return value
    }

    /// Appends a member.
    package mutating func append(_ key: String, _ value: JSONValue) {
        members.append(Member(key, value))
    }
}

extension JSONObject: Equatable {
    /// Compares the members of two objects, whatever their order.
    ///
    /// If the order differs, the keys are hashed as bytes. So the comparison takes linear time, whatever the keys are
    /// (decision D5).
    package static func == (left: JSONObject, right: JSONObject) -> Bool {
        guard left.members.count == right.members.count else { return false }
        let pairs = zip(left.members, right.members)
        guard !pairs.allSatisfy({ $0.key.hasSameBytes(as: $1.key) }) else {
            return pairs.allSatisfy { $0.value == $1.value }
        }
        let values = Dictionary(right.members.map { (Array($0.key.utf8), $0.value) }) { first, _ in first }
        return left.members.allSatisfy { values[Array($0.key.utf8)] == $0.value }
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements.map { Member($0.0, $0.1) })
    }
}

extension JSONValue {
    /// The value as an id: a text, or a whole number in decimal digits; nil for any other value.
    package var identifier: String? { string ?? integer.map { String($0) } }
}
