import Domain
import Encodings
import Mapping

// The meaning of values in sources. In CSV, every value is a text.

extension JSONObject {
    /// Returns the text of a member; nil when it is absent or empty.
    func text(_ name: String) -> String? {
        switch present(name) {
        case .string(let text)?: text.isEmpty ? nil : text
        case .number(let number)?: number.literal
        default: nil
        }
    }

    /// Returns whether the member is `true`, in the form of JSON, of PostgreSQL or of a hand-written file.
    func isTrue(_ name: String) -> Bool {
        switch present(name) {
        case .bool(let value)?: value
        case .string(let text)?: SourceValue.bool(text) == true
        default: false
        }
    }

    /// Returns the time of a member in milliseconds since 1970; nil when it is absent or not a time.
    func moment(_ name: String) -> Int64? { present(name).flatMap(SourceValue.moment) }

    /// Returns the JSON object of a member; nil when it is absent or has another value.
    ///
    /// The value may also be a text that contains the object as JSON.
    func object(_ name: String) -> JSONObject? { present(name).flatMap(SourceValue.json)?.object }

    /// Returns the JSON list of a member; nil when it is absent or has another value.
    ///
    /// The value may also be a text that contains the list as JSON.
    func array(_ name: String) -> [JSONValue]? { present(name).flatMap(SourceValue.json)?.array }

    /// Returns the objects of a list of identities; nil when the member is absent.
    ///
    /// - Throws: `identityNotTaken` for any other value. It may contain identities, and so must not be ignored.
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

    /// Returns the members of the object that are not null and whose names are not among `names`.
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
    /// Returns the truth value that a text such as `true`, `f`, `1` or `no` stands for; nil for any other text.
    static func bool(_ text: String) -> Bool? {
        guard text.utf8.count <= 5 else { return nil }
        return switch text.lowercased() {
        case "true", "t", "1", "yes": true
        case "false", "f", "0", "no": false
        default: nil
        }
    }

    /// Reads a time in any of the forms that exporting systems write, and returns it in milliseconds since 1970.
    ///
    /// The forms are milliseconds, RFC 3339, PostgreSQL's form of it (`2026-01-02 03:04:05.678+00`), HTTP's dates, and
    /// the objects of Parse (`iso`) and MongoDB (`$date`, `$numberLong`).
    static func moment(_ value: JSONValue) -> Int64? {
        switch value {
        case .number(let number): number.integer.flatMap(moment)
        case .string(let text): Int64(text).flatMap(moment) ?? moment(text)
        case .object(let object): ["iso", "$date", "$numberLong"].lazy.compactMap { object[$0] }.first.flatMap(moment)
        case .null, .bool, .array: nil
        }
    }

    /// Reads a time from a text.
    ///
    /// A time without an offset is in UTC, as the exporting systems write it.
    private static func moment(_ text: String) -> Int64? {
        guard text.utf8.count <= 64 else { return nil }
        if let moment = moment(ofHTTP: text) { return moment }
        var bytes = Array(text.utf8)
        if bytes.count > 10, bytes[10] == UInt8(ascii: " ") { bytes[10] = UInt8(ascii: "T") }
        // PostgreSQL omits the minutes of an offset of whole hours.
        if bytes.count > 19, [UInt8(ascii: "+"), UInt8(ascii: "-")].contains(bytes[bytes.count - 3]) {
            bytes += Array(":00".utf8)
        }
        let written = String(decoding: bytes, as: UTF8.self)
        return MomentText.read(written) ?? MomentText.read(written + "Z")
    }

    /// Reads `Wed, 16 Nov 2022 15:45:51 GMT`, the form of HTTP and JavaScript.
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

    /// Returns the value, or the parsed JSON of a text; nil for a text that is not JSON.
    static func json(_ value: JSONValue) -> JSONValue? {
        guard case .string(let text) = value else { return value }
        return try? JSONParser.parse(text, limits: SourceRecord.limits)
    }

    /// Decodes base64 in either alphabet, with or without padding.
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
    /// Returns a value in the form in which a client would send it for a property of the type.
    ///
    /// Times become milliseconds, days `YYYY-MM-DD`, and texts of a CSV file are parsed. A value that cannot be read
    /// stays unchanged. A later step refuses it.
    static func value(_ value: JSONValue, for type: PropertyType) -> JSONValue {
        switch type {
        case .dateTime: moment(value).map(JSONValue.integer) ?? value
        case .date: day(value) ?? value
        case .boolean: value.string.flatMap(bool).map(JSONValue.bool) ?? value
        case .json: json(value) ?? value
        case .string, .text, .int, .double: value
        }
    }

    /// Returns the day, in UTC, of a time; nil for other values, such as a day.
    private static func day(_ value: JSONValue) -> JSONValue? {
        moment(value).flatMap(CalendarDate.init(ofMoment:)).map { .string($0.description) }
    }
}
