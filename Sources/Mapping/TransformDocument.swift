import Encodings

extension Transform {
    /// Parses a transform from a mapping document.
    ///
    /// - Throws: A sentence about the problem, which repeats nothing of the document.
    init(_ json: JSONValue) throws(DocumentError) {
        switch json {
        case .string(let name):
            guard let named = Self.named.first(where: { $0.name.hasSameBytes(as: name) }) else { throw Self.unknown }
            self = named.transform
        case .object(let object): self = try Self.read(object)
        case .null, .bool, .number, .array: throw Self.unknown
        }
    }

    private static let named: [(name: String, transform: Transform)] = [
        ("trim", .trim), ("lowercase", .lowercase), ("uppercase", .uppercase), ("first", .first),
    ]

    private static var unknown: DocumentError {
        DocumentError(
            #"a transform is "trim", "lowercase", "uppercase", "first", {"join": …}, {"lookup": …, "else": …} or {"date": …}"#
        )
    }

    private static func read(_ object: JSONObject) throws(DocumentError) -> Transform {
        let keys = object.members.map(\.key)
        func has(_ expected: String...) -> Bool {
            keys.count == expected.count && expected.allSatisfy { object[$0] != nil }
        }
        if has("join"), let separator = object["join"]?.string {
            try checkLength(separator)
            return .join(separator)
        }
        if has("date"), let pattern = object["date"]?.string {
            return .date(try DatePattern(pattern))
        }
        if has("lookup") || has("lookup", "else"), let rows = object["lookup"]?.object {
            return .lookup(try lookup(rows, otherwise: object.present("else")))
        }
        throw unknown
    }

    private static func lookup(_ rows: JSONObject, otherwise: JSONValue?) throws(DocumentError) -> Lookup {
        guard rows.members.count <= MappingLimits.lookupRows else {
            throw DocumentError("a lookup has at most \(MappingLimits.lookupRows) rows")
        }
        for row in rows.members { try checkLength(row.key) }
        for value in rows.members.map(\.value) + [otherwise ?? .null] {
            switch value {
            case .null, .bool, .number: continue
            case .string(let text): try checkLength(text)
            case .array, .object: throw DocumentError("a lookup gives texts, numbers, true, false or null")
            }
        }
        return Lookup(rows: rows, otherwise: otherwise)
    }

    private static func checkLength(_ text: String) throws(DocumentError) {
        guard text.utf8.count <= MappingLimits.textBytes else {
            throw DocumentError("a text in a transform has at most \(MappingLimits.textBytes) bytes")
        }
    }
}
