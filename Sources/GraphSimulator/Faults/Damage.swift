extension Fault.Damage {
    /// The text of the reply after the damage.
    func apply(to json: JSON) -> [UInt8] {
        switch self {
        case .truncated:
            let text = json.graphBytes
            return Array(text.prefix(text.count / 2))
        case .wrongTypes: return json.withWrongTypes.graphBytes
        case .dataNull: return Array(#"{"data":null}"#.utf8)
        case .duplicateKeys: return json.withDuplicateKeys.graphBytes
        case .idMissing:
            var json = json
            if json["id"] != nil { json["id"] = nil }
            if json["data"]?["user_id"] != nil { json["data"]?["user_id"] = nil }
            return json.graphBytes
        case .extraKeys(let count):
            let extra = (0..<max(count, 0)).map { JSON.Member("extra_\($0)", .integer($0)) }
            return json.withFirstMembers(extra).graphBytes
        case .deep(let depth): return Self.deepText(max(depth, 1), before: json)
        case .merged(let patch): return json.merging(patch).graphBytes
        }
    }

    /// Written as text: a value of that depth would overflow the stack of whoever walks it, including us.
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
    fileprivate var withWrongTypes: JSON {
        switch self {
        case .null: false
        case .bool(let value): .integer(value ? 1 : 0)
        case .integer(let number): .string(String(number))
        case .double(let number): .string(String(number))
        case .string(let text): .integer(Int(text) ?? text.utf8.count)
        case .array(let elements):
            .object(elements.enumerated().map { Member(String($0.offset), $0.element.withWrongTypes) })
        case .object(let members): .object(members.map { Member($0.name, $0.value.withWrongTypes) })
        }
    }

    fileprivate var withDuplicateKeys: JSON {
        guard case .object(let members) = self else { return self }
        return .object(
            members.flatMap { member in
                let value = member.value.withDuplicateKeys
                return [Member(member.name, value), Member(member.name, value.another)]
            }
        )
    }

    /// A value of the same type that differs.
    private var another: JSON {
        switch self {
        case .null: .null
        case .bool(let value): .bool(!value)
        case .integer(let number): .integer(number &+ 1)
        case .double(let number): .double(number + 1)
        case .string(let text): .string(text + "0")
        case .array: .array([])
        case .object: self
        }
    }

    /// The members go where the reply's own are: into `data` if that is an object.
    fileprivate func withFirstMembers(_ extra: [Member]) -> JSON {
        if let data = self["data"]?.members {
            var json = self
            json["data"] = .object(extra + data)
            return json
        }
        return .object(extra + (members ?? []))
    }
}
