import Mapping
import Vocabulary

// What the values of sources mean: in CSV everything is a text.

extension JSONObject {
    /// The text under a name; nil where there is none, or an empty one.
    func text(_ name: String) -> String? {
        switch present(name) {
        case .string(let text)?: text.isEmpty ? nil : text
        case .number(let number)?: number.literal
        default: nil
        }
    }

    /// Whether `true` stands there, as JSON, PostgreSQL, or people write it.
    func isTrue(_ name: String) -> Bool {
        switch present(name) {
        case .bool(let value)?: value
        case .string(let text)?: SourceValue.bool(text) == true
        default: false
        }
    }

    /// The moment under a name; nil where there is none.
    func moment(_ name: String) -> Int64? { present(name).flatMap(SourceValue.moment) }

    /// The object under a name, or the one that a text there is the JSON of.
    func object(_ name: String) -> JSONObject? { present(name).flatMap(SourceValue.json)?.object }

    /// The list under a name, or the one that a text there is the JSON of.
    func array(_ name: String) -> [JSONValue]? { present(name).flatMap(SourceValue.json)?.array }

    /// The objects of a list of identities; nil where there is none.
    ///
    /// - Throws: `identityNotTaken` for anything else under the name: it may be identities, so it is not passed over.
    func identities(_ name: String) throws(RecordRefusal) -> [JSONObject]? {
        guard let value = present(name), value.string?.isEmpty != true else { return nil }
        guard let elements = array(name) else { throw .noList(name) }
        var objects: [JSONObject] = []
        for element in elements {
            guard let object = element.object else { throw .noList(name) }
            objects.append(object)
        }
        return objects
    }

    /// The members that have other names and a value.
    func without(_ names: Set<String>) -> JSONObject {
        JSONObject(members.filter { !$0.value.isNull && !names.contains($0.key) })
    }
}

extension RecordRefusal {
    fileprivate static func noList(_ name: String) -> RecordRefusal {
        RecordRefusal(.identityNotTaken, "its member \(name) is no list of objects, as JSON")
    }
}

enum SourceValue {
    /// The truth value that a text names; nil for every other text.
    static func bool(_ text: String) -> Bool? {
        guard text.utf8.count <= 5 else { return nil }
        return switch text.lowercased() {
        case "true", "t", "1", "yes": true
        case "false", "f", "0", "no": false
        default: nil
        }
    }

    /// Milliseconds since 1970 of a moment in any form of the sources: milliseconds, RFC 3339, PostgreSQL's form of it
    /// (`2026-01-02 03:04:05.678+00`), HTTP's dates, and the objects of Parse (`iso`) and
    /// MongoDB (`$date`, `$numberLong`).
    static func moment(_ value: JSONValue) -> Int64? {
        switch value {
        case .number(let number): number.integer.flatMap(moment)
        case .string(let text): Int64(text).flatMap(moment) ?? moment(text)
        case .object(let object): ["iso", "$date", "$numberLong"].lazy.compactMap { object[$0] }.first.flatMap(moment)
        case .null, .bool, .array: nil
        }
    }

    /// Without an offset it is UTC, as such sources write it.
    private static func moment(_ text: String) -> Int64? {
        guard text.utf8.count <= 64 else { return nil }
        if let moment = moment(ofHTTP: text) { return moment }
        var bytes = Array(text.utf8)
        if bytes.count > 10, bytes[10] == UInt8(ascii: " ") { bytes[10] = UInt8(ascii: "T") }
        // Hours alone are an offset to PostgreSQL.
        if bytes.count > 19, [UInt8(ascii: "+"), UInt8(ascii: "-")].contains(bytes[bytes.count - 3]) {
            bytes += Array(":00".utf8)
        }
        let written = String(decoding: bytes, as: UTF8.self)
        return MomentText.read(written) ?? MomentText.read(written + "Z")
    }

    /// Of `Wed, 16 Nov 2022 15:45:51 GMT`, as HTTP and JavaScript write it.
    private static func moment(ofHTTP text: String) -> Int64? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", let month = months.firstIndex(of: String(parts[2])) else {
            return nil
        }
        return MomentText.read("\(parts[3])-\(month < 9 ? "0" : "")\(month + 1)-\(parts[1])T\(parts[4])Z")
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func moment(_ milliseconds: Int64) -> Int64? {
        MomentText.isMoment(milliseconds) ? milliseconds : nil
    }

    /// A value, or what a text is the JSON of; nil for a text that is no JSON.
    static func json(_ value: JSONValue) -> JSONValue? {
        guard case .string(let text) = value else { return value }
        return try? JSONParser.parse(text, limits: SourceRecord.limits)
    }

    /// The bytes of base64 in either alphabet, with or without padding.
    static func base64(_ text: String) -> [UInt8]? {
        let plain = text.utf8.filter { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: "\n") }.map { byte in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: byte
            }
        }
        return Base64URL.decode(plain)
    }
}

extension SourceValue {
    /// A value as a client would give it to a property of that type.
    ///
    /// Moments are milliseconds, days `YYYY-MM-DD`, and what CSV has as text is what it says. What cannot be read stays
    /// as it is, for the conversion to refuse.
    static func value(_ value: JSONValue, for type: PropertyType) -> JSONValue {
        switch type {
        case .dateTime: moment(value).map(JSONValue.integer) ?? value
        case .date: day(value) ?? value
        case .boolean: value.string.flatMap(bool).map(JSONValue.bool) ?? value
        case .json: json(value) ?? value
        case .string, .text, .int, .double: value
        }
    }

    /// The day of a moment in UTC; nil for what is no moment, as a day itself is none.
    private static func day(_ value: JSONValue) -> JSONValue? {
        moment(value).flatMap(CalendarDate.init(ofMoment:)).map { .string($0.description) }
    }
}
