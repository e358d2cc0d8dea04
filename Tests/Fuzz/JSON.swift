import Encodings
import FoundationEssentials

extension FuzzTarget {
    /// The target of the JSON parser.
    ///
    /// An accepted text is JSON with the same meaning for another parser, too. Written again it is one line, and read
    /// again it is the same value.
    static let json = FuzzTarget("json") { input in
        let gates: [JSONLimits] = [.request, .record, .request(withRecord: "user"), .reply, .document, .stored]
        let taken = gates.compactMap { try? JSONParser.parse(input, limits: $0) }
        guard let value = taken.first else { return false }
        try promise("all gates read a text alike", taken.allSatisfy { $0 == value })
        let text = value.text
        try promise("what is written is one line", text.unicodeScalars.allSatisfy { $0.properties.isOneLine })
        try promise(
            "what is written is read as the same",
            (try? JSONParser.parse(Array(text.utf8), limits: .stored)) == value
        )
        // Foundation refuses 0e1, which RFC 8259 allows.
        guard !zip(input, input.dropFirst()).contains(where: { $0 == 0x30 && $1 | 0x20 == 0x65 }) else { return true }
        let other = try? JSONDecoder().decode(OtherJSON.self, from: Data(input)).value
        try promise("another reader reads the same", other.map { value.means($0) } == true)
        return true
    }
}

extension Unicode.Scalar.Properties {
    fileprivate var isOneLine: Bool {
        generalCategory != .control && generalCategory != .lineSeparator && generalCategory != .paragraphSeparator
    }
}

extension JSONValue {
    /// Returns whether another parser, which rounds each number to the nearest Double, has read the same value.
    fileprivate func means(_ other: JSONValue) -> Bool {
        switch (self, other) {
        case (.number(let number), .number(let other)): number.double == other.double
        case (.array(let elements), .array(let others)):
            elements.count == others.count && zip(elements, others).allSatisfy { $0.means($1) }
        case (.object(let object), .object(let other)):
            // Foundation keeps only one of several canonically equivalent keys.
            Set(object.members.map(\.key)).count < object.members.count
                || object.members.count == other.members.count
                    && object.members.allSatisfy { member in other[member.key].map(member.value.means) == true }
        default: self == other
        }
    }
}

/// A JSON value read by Foundation.
private struct OtherJSON: Decodable {
    let value: JSONValue

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        if let members = try? decoder.container(keyedBy: Key.self) {
            value = .object(
                JSONObject(
                    try members.allKeys.map { key in
                        JSONObject.Member(key.stringValue, try members.decode(OtherJSON.self, forKey: key).value)
                    }
                )
            )
        } else if var elements = try? decoder.unkeyedContainer() {
            var values: [JSONValue] = []
            while !elements.isAtEnd { values.append(try elements.decode(OtherJSON.self).value) }
            value = .array(values)
        } else {
            let single = try decoder.singleValueContainer()
            if single.decodeNil() {
                value = .null
            } else if let truth = try? single.decode(Bool.self) {
                value = .bool(truth)
            } else if let text = try? single.decode(String.self) {
                value = .string(text)
            } else {
                value = JSONNumber(try single.decode(Double.self)).map(JSONValue.number) ?? .null
            }
        }
    }
}
