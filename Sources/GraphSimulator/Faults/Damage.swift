import Encodings

extension Fault.Damage {
    /// Applies this kind of damage to a JSON response, and returns the damaged text.
    func apply(to json: JSON) -> [UInt8] {
        switch self {
        case .truncated:
            let text = json.graphBytes
            return Array(text.prefix(text.count / 2))
        case .wrongTypes: return JSON(json.value.withWrongTypes).graphBytes
        case .dataNull: return Array(#"{"data":null}"#.utf8)
        case .duplicateKeys: return JSON(json.value.withDuplicateKeys).graphBytes
        case .idMissing:
            var json = json
            if json["id"] != nil { json["id"] = nil }
            if json["data"]?["user_id"] != nil { json["data"]?["user_id"] = nil }
            return json.graphBytes
        case .extraKeys(let count):
            let extra = (0..<max(count, 0)).map { ("extra_\($0)", .integer($0)) as JSON.Member }
            return json.withFirstMembers(extra).graphBytes
        case .deep(let depth): return Self.deepText(max(depth, 1), before: json)
        case .merged(let patch): return json.merging(patch).graphBytes
        }
    }

    /// Adds a deeply nested array to a JSON response as its first member, and returns the text of the response.
    ///
    /// The array is written as text, since a ``JSON`` value of this depth would overflow the simulator's stack.
    private static func deepText(_ depth: Int, before json: JSON) -> [UInt8] {
        var text = Array(#"{"deep":"#.utf8)
        text.append(contentsOf: repeatElement(UInt8(ascii: "["), count: depth))
        text.append(contentsOf: repeatElement(UInt8(ascii: "]"), count: depth))
        let rest = json.graphBytes.dropFirst()
        if rest.first != UInt8(ascii: "}") { text.append(UInt8(ascii: ",")) }
        return text + rest
    }
}

extension JSON {
    /// Inserts members at the beginning of `data` or, if `data` is not an object, at the beginning of the response.
    fileprivate func withFirstMembers(_ extra: [Member]) -> JSON {
        guard let data = self["data"]?.members else { return .object(extra + (members ?? [])) }
        var json = self
        json["data"] = .object(extra + data)
        return json
    }
}

extension JSONValue {
    fileprivate var withWrongTypes: JSONValue {
        switch self {
        case .null: .bool(false)
        case .bool(let value): .integer(value ? 1 : 0)
        case .number(let number): .string(number.literal)
        case .string(let text): .integer(Int64(text) ?? Int64(text.utf8.count))
        case .array(let elements):
            .object(JSONObject(elements.enumerated().map { .init(String($0.offset), $0.element.withWrongTypes) }))
        case .object(let object):
            .object(JSONObject(object.members.map { .init($0.key, $0.value.withWrongTypes) }))
        }
    }

    fileprivate var withDuplicateKeys: JSONValue {
        guard let object else { return self }
        return .object(
            JSONObject(
                object.members.flatMap { member in
                    let value = member.value.withDuplicateKeys
                    return [value, value.another].map { JSONObject.Member(member.key, $0) }
                }
            )
        )
    }

    /// A different value of the same type.
    ///
    /// `null` and objects have none: for them, this is the value itself.
    private var another: JSONValue {
        switch self {
        case .null, .object: self
        case .bool(let value): .bool(!value)
        case .number(let number): .integer((number.integer ?? 0) &+ 1)
        case .string(let text): .string(text + "0")
        case .array: .array([])
        }
    }
}
